"""FIM: masks, empty windows, equivariance, the frozen decoder, the two experiments."""

import dataclasses

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.config import FIMConfig
from fimjax.models import build_model, count_params, init_params
from fimjax.nn.season import SeasonPhase
from fimjax.nn.windows import Windows, split_windows
from tests.examples import (
    FORECASTER,
    LEVELS,
    QUERYING_FORECASTER,
    RICH_FORECASTER,
    apply,
    query_times,
    random_windows,
    with_params,
)

MODELS = pytest.mark.parametrize(
    "config", [FORECASTER, RICH_FORECASTER, QUERYING_FORECASTER], ids=["paper", "rich", "querying"]
)


@MODELS
def test_shape_and_type(config):
    model, variables = with_params(config)
    windows = random_windows()
    out = apply(model, variables, windows, query_times(windows))
    chex.assert_shape(out, (3, 5, 1 if config is FORECASTER else len(LEVELS)))
    chex.assert_type(out, jnp.float32)
    chex.assert_tree_all_finite(out)


@MODELS
def test_what_stands_in_unobserved_slots_changes_nothing(config):
    model, variables = with_params(config)
    windows = random_windows()
    times = query_times(windows)
    expected = apply(model, variables, windows, times)
    for rubbish in (1e9, jnp.nan, -jnp.inf):
        dirty = windows.replace(
            values=jnp.where(windows.mask, windows.values, rubbish),
            times=jnp.where(windows.mask, windows.times, rubbish),
        )
        chex.assert_trees_all_equal(apply(model, variables, dirty, times), expected)


@MODELS
def test_padding_slots_changes_nothing(config):
    model, variables = with_params(config)
    windows = random_windows()
    times = query_times(windows)
    pad = lambda x: jnp.pad(x, ((0, 0), (0, 0), (2, 3)))  # noqa: E731
    padded = windows.replace(values=pad(windows.values), times=pad(windows.times), mask=pad(windows.mask))
    expected = apply(model, variables, windows, times)
    chex.assert_trees_all_close(apply(model, variables, padded, times), expected, rtol=1e-4, atol=1e-4)


@MODELS
def test_order_of_observations_changes_nothing(config):
    model, variables = with_params(config)
    windows = random_windows()
    times = query_times(windows)
    order = jax.random.permutation(jax.random.key(5), 8)
    shuffled = windows.replace(
        values=windows.values[..., order], times=windows.times[..., order], mask=windows.mask[..., order]
    )
    expected = apply(model, variables, windows, times)
    chex.assert_trees_all_close(apply(model, variables, shuffled, times), expected, rtol=1e-4, atol=1e-4)


@MODELS
def test_an_empty_window_changes_nothing(config):
    """An empty oldest window, whatever stands in it, gives the answer of a series that has no such window."""
    model, variables = with_params(config)
    full = random_windows(windows=3)
    fewer = full.replace(values=full.values[:, 1:], times=full.times[:, 1:], mask=full.mask[:, 1:])
    times = query_times(full)
    expected = apply(model, variables, fewer, times)
    for rubbish in (0.0, 1e6, jnp.nan):
        empty = full.replace(values=full.values.at[:, 0].set(rubbish), mask=full.mask.at[:, 0].set(False))
        chex.assert_trees_all_close(apply(model, variables, empty, times), expected, rtol=1e-4, atol=1e-4)


@MODELS
def test_an_empty_window_in_the_middle_is_harmless(config):
    model, variables = with_params(config)
    windows = random_windows()
    times = query_times(windows)
    outs = [
        apply(
            model,
            variables,
            windows.replace(values=windows.values.at[:, 1].set(rubbish), mask=windows.mask.at[:, 1].set(False)),
            times,
        )
        for rubbish in (0.0, jnp.inf)
    ]
    chex.assert_tree_all_finite(outs)
    chex.assert_trees_all_equal(*outs)


@MODELS
def test_no_observation_at_all_is_finite(config):
    model, variables = with_params(config)
    windows = random_windows()
    out = apply(model, variables, windows.replace(mask=jnp.zeros_like(windows.mask)), query_times(windows))
    chex.assert_tree_all_finite(out)


@MODELS
@pytest.mark.parametrize("scale, shift", [(3.0, 0.0), (1.0, 40.0), (1e-6, 2e-6), (1e6, -1e7)])
def test_scaling_and_shifting_values_does_just_that(config, scale, shift):
    model, variables = with_params(config)
    windows = random_windows()
    times = query_times(windows)
    expected = apply(model, variables, windows, times)
    moved = apply(model, variables, windows.replace(values=scale * windows.values + shift), times)
    chex.assert_trees_all_close((moved - shift) / scale, expected, rtol=5e-3, atol=5e-3)


@MODELS
@pytest.mark.parametrize("scale, shift", [(0.125, 0.0), (1.0, 64.0), (30.0, -900.0)])
def test_scaling_and_shifting_time_changes_nothing(config, scale, shift):
    model, variables = with_params(config)
    windows = random_windows()
    times = query_times(windows)
    expected = apply(model, variables, windows, times)
    moved = windows.replace(
        times=windows.times * scale + shift, origin=windows.origin * scale + shift, duration=windows.duration * scale
    )
    chex.assert_trees_all_close(apply(model, variables, moved, times * scale + shift), expected, rtol=5e-3, atol=5e-3)


@MODELS
def test_constant_series_are_answered_exactly(config):
    model, variables = with_params(config)
    windows = random_windows()
    for constant in (0.0, 0.1, -5.0, 1e9):
        out = apply(
            model, variables, windows.replace(values=jnp.full_like(windows.values, constant)), query_times(windows)
        )
        chex.assert_trees_all_equal(out, jnp.full_like(out, constant))


@pytest.mark.parametrize("config", [RICH_FORECASTER, QUERYING_FORECASTER])
def test_quantiles_never_cross(config):
    model, variables = with_params(config)
    for seed in range(10):
        windows = random_windows(seed)
        out = apply(model, variables, windows.replace(values=windows.values * 10.0 ** (seed - 5)), query_times(windows))
        assert np.all(np.diff(np.asarray(out), axis=-1) >= 0)


def test_the_decoder_is_fim_ls_own():
    """y(t) = phi_7(h*_K, trunk(t)), with FIM-l's trunk and projection, in the units of the series."""
    model, variables = with_params(FORECASTER)
    windows = random_windows()
    times = query_times(windows)
    forecast = model.apply(variables, windows, method="encode")
    chex.assert_shape(forecast.h, (3, FORECASTER.local.width))
    local = build_model(FORECASTER.local)
    unit = (times - windows.origin[:, None] - 1) / (windows.duration[:, None] - 1)  # first step 0, last step 1
    decoded = local.apply({"params": variables["params"]["local"]}, forecast.h, unit, method="decode")
    observed = [np.asarray(v)[np.asarray(m)] for v, m in zip(windows.values, windows.mask)]
    mean, std = (np.array([f(x) for x in observed])[:, None, None] for f in (np.mean, np.std))
    chex.assert_trees_all_close(apply(model, variables, windows, times), mean + std * decoded, rtol=1e-3, atol=1e-3)


def test_each_window_is_encoded_by_itself_in_its_own_unit_square():
    """h_j depends on a window's shape, neither on its level nor on the other windows."""
    model, variables = with_params(FORECASTER)
    windows = random_windows(share=1.0)
    unit_times = windows.time_map().normalise(windows.times)
    embed = lambda values: model.apply(variables, values, unit_times, windows.mask, windows.clock(), method="embed")[0]  # noqa: E731
    before, after = embed(windows.values), embed(windows.values.at[:, 0].multiply(7.0).at[:, 1].set(-3.0))
    chex.assert_trees_all_close(after[:, 0], before[:, 0], rtol=1e-3, atol=1e-3)
    chex.assert_trees_all_close(after[:, 2], before[:, 2], rtol=1e-6)
    assert jnp.abs(after[:, 1] - before[:, 1]).max() > 1e-2


def test_positional_encoding_tells_windows_apart():
    """Without it, exchanging two windows' places in the array changes nothing, for their times say where they are."""
    windows = random_windows()
    swapped = windows.replace(values=windows.values[:, ::-1], times=windows.times[:, ::-1], mask=windows.mask[:, ::-1])
    for encoding in (False, True):
        model, variables = with_params(dataclasses.replace(FORECASTER, positional_encoding=encoding))
        difference = apply(model, variables, swapped, query_times(windows)) - apply(
            model, variables, windows, query_times(windows)
        )
        assert (jnp.abs(difference).max() > 1e-3) == encoding
        if encoding:
            chex.assert_shape(variables["params"]["position"], (FORECASTER.windows - 1, 2 * FORECASTER.local.width))


def test_with_query_layers_a_fim_holds_all_of_its_fim_l_whose_decoder_has_no_part_in_the_forecast():
    model, variables = with_params(QUERYING_FORECASTER)
    params = variables["params"]
    alone = jax.eval_shape(lambda key: init_params(build_model(QUERYING_FORECASTER.local), key), jax.random.key(0))
    chex.assert_trees_all_equal_shapes(params["local"], alone)
    assert not {"summary", "extractor", "rescale"} & set(params)
    windows = random_windows()
    none = jax.tree.map(jnp.zeros_like, params["local"]["query_decoder"])
    other = {**params, "local": {**params["local"], "query_decoder": none}}
    times = query_times(windows)
    chex.assert_trees_all_equal(
        apply(model, {"params": other}, windows, times), apply(model, variables, windows, times)
    )


@pytest.mark.parametrize("config", [RICH_FORECASTER, QUERYING_FORECASTER])
def test_what_fim_says_of_its_last_windows_is_what_fim_l_says_of_them(config):
    model, variables = with_params(config)
    windows = random_windows(share=1.0)
    times = windows.times[:, -2:] + 0.1
    forecast = model.apply(variables, windows, method="encode")
    found = model.apply(variables, forecast, windows, times, method="interpolate")
    local = build_model(config.local)
    clock = SeasonPhase(windows.origin, jnp.ones(3), windows.season).repeat(2)
    fold = lambda x: x[:, -2:].reshape(-1, x.shape[-1])  # noqa: E731
    inputs = (*map(fold, (windows.values, windows.times, windows.mask)), fold(times), clock)
    expected = local.apply({"params": variables["params"]["local"]}, *inputs)
    chex.assert_trees_all_close(found.reshape(expected.shape), expected, rtol=1e-3, atol=1e-3)


def test_each_query_time_is_answered_by_itself():
    model, variables = with_params(QUERYING_FORECASTER)
    windows = random_windows()
    times = query_times(windows)
    alone = jnp.concatenate([apply(model, variables, windows, times[:, [i]]) for i in range(times.shape[1])], axis=1)
    chex.assert_trees_all_close(alone, apply(model, variables, windows, times), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("config", [RICH_FORECASTER, QUERYING_FORECASTER])
def test_gradients_reach_every_parameter(config):
    model, variables = with_params(config)
    windows = random_windows()
    grads = jax.grad(lambda v: jnp.sum(apply(model, v, windows, query_times(windows)) ** 2))(variables)
    dead = [p for p, g in jax.tree_util.tree_leaves_with_path(grads) if not np.any(g)]
    if config is QUERYING_FORECASTER:  # FIM-l's decoder is not asked
        dead = [p for p in dead if [k.key for k in p][:3] != ["params", "local", "query_decoder"]]
    # The key projections' biases shift all logits alike, which softmax does not see.
    assert not [p for p in map(jax.tree_util.keystr, dead) if not p.endswith("['key']['bias']")], dead


@MODELS
def test_answers_can_be_differentiated_with_respect_to_the_past(config):
    """Sensitivities exist for gaps full of NaN, empty windows and constant series, and know only what was observed."""
    model, variables = with_params(config)
    windows = random_windows()
    windows = windows.replace(
        values=jnp.where(windows.mask, windows.values, jnp.nan).at[1].set(3.0).at[2, 1].set(jnp.nan),
        mask=windows.mask.at[2, 1].set(False),
    )
    total = lambda values: jnp.sum(apply(model, variables, windows.replace(values=values), query_times(windows)))  # noqa: E731
    gradient = jax.grad(total)(windows.values)
    chex.assert_tree_all_finite(gradient)
    assert not gradient[~windows.mask].any() and gradient[0][windows.mask[0]].all()


def test_paper_size():
    model = build_model(FIMConfig())
    shapes = jax.eval_shape(lambda key: init_params(model, key), jax.random.key(0))
    assert count_params(shapes["local"]) == 22_465_281
    assert count_params(shapes) - count_params(shapes["local"]) == 27_456_256
    assert count_params(shapes["window_encoder"]) == 8 * 3_152_384 + 1_024
    assert count_params(shapes["scale_embedding"]) == 9 * 256 + 256
    assert count_params(shapes["extractor"]) == 1_182_464


class TestSplitWindows:
    """A plain series becomes windows."""

    def split(self, times, values, mask, steps=4, step=1.0, windows=3, slots=4, season=1) -> Windows:
        batch = times.shape[0]
        full = lambda x, kind: jnp.full((batch,), x, kind)  # noqa: E731
        return split_windows(
            times, values, mask,
            steps=full(steps, jnp.int32), step=full(step, jnp.float32), season=full(season, jnp.int32),
            windows=windows, slots=slots,
        )  # fmt: skip

    def test_a_regular_series_fills_windows_from_its_end(self):
        times = jnp.arange(10.0)[None]
        windows = self.split(times, times * 10, jnp.ones((1, 10), bool))
        expected = [[0, 1, 0, 0], [2, 3, 4, 5], [6, 7, 8, 9]]
        chex.assert_trees_all_equal(windows.times[0], jnp.array(expected, jnp.float32))
        assert windows.mask.sum() == 10 and windows.origin[0] == 9 and windows.duration[0] == 4
        chex.assert_trees_all_equal(windows.values[windows.mask], windows.times[windows.mask] * 10)

    def test_points_older_than_the_windows_are_left_out(self):
        times = jnp.arange(30.0)[None]
        windows = self.split(times, times, jnp.ones((1, 30), bool))
        assert windows.mask.all() and windows.times.min() == 18

    @pytest.mark.parametrize("crowd", [2, 3, 5])
    def test_crowded_windows_are_thinned_evenly_and_keep_their_newest_point(self, crowd):
        count = 12 * crowd
        times = (jnp.arange(float(count)) / crowd)[None]
        windows = self.split(times, times, jnp.ones((1, count), bool), step=1.0)
        assert windows.mask.all() and windows.times[0, -1, -1] == times[0, -1]
        assert np.all(np.diff(np.asarray(windows.times), axis=-1) >= 0.5)

    def test_crowded_windows_take_turns_so_that_every_phase_is_seen(self):
        times = jnp.arange(24.0)[None]
        windows = self.split(times, times, jnp.ones((1, 24), bool), steps=8)
        phases = np.asarray(windows.times[0]) % 8
        assert set(phases[-1]) | set(phases[-2]) == set(range(8)) and not set(phases[-1]) & set(phases[-2])

    def test_missing_points_and_order_do_not_matter(self):
        times = jnp.arange(12.0)[None]
        mask = jnp.arange(12)[None] % 3 != 0
        expected = self.split(times, times, mask)
        order = jax.random.permutation(jax.random.key(0), 12)
        chex.assert_trees_all_equal(self.split(times[:, order], times[:, order], mask[:, order]), expected)
        assert expected.mask.sum() == 8

    def test_a_series_without_observations_gives_empty_windows(self):
        times = jnp.arange(12.0)[None]
        windows = self.split(times, times * jnp.nan, jnp.zeros((1, 12), bool))
        assert not windows.mask.any()
        chex.assert_tree_all_finite(windows.origin)


def test_a_floor_counts_where_it_is_known_and_moves_with_the_values():
    model, variables = with_params(QUERYING_FORECASTER)
    windows = random_windows()
    times = query_times(windows)
    floor = jnp.min(windows.values, axis=(1, 2)) - 1.0
    unknown, told = (apply(model, variables, w, times) for w in (windows, windows.replace(floor=floor)))
    nothing = apply(model, variables, windows.replace(floor=jnp.full_like(floor, -jnp.inf)), times)
    chex.assert_trees_all_close(nothing, unknown, rtol=1e-6)
    assert jnp.abs(told - unknown).max() > 1e-3
    moved = windows.replace(values=40.0 + 3.0 * windows.values, floor=40.0 + 3.0 * floor)
    chex.assert_trees_all_close((apply(model, variables, moved, times) - 40.0) / 3.0, told, rtol=5e-3, atol=5e-3)
