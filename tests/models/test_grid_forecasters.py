"""N-BEATS, MQCNN, PatchTST and Chronos-Bolt: what all networks on a regular grid must do, whatever is inside."""

import dataclasses

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from fimjax.config import ChronosBoltConfig, MQCNNConfig, NBEATSConfig, PatchTSTConfig, TrainingConfig
from fimjax.errors import ConfigError
from fimjax.models import build_model, forecasts, init_params, model_name
from fimjax.nn.compute import Compute
from fimjax.nn.grid import lay_on_grid
from fimjax.prior.sampler import sample_groups
from fimjax.training.losses import make_loss
from tests.examples import LEVELS, apply, query_times, random_windows, with_params
from tests.training.examples import PRIOR

SHARED = dict(context=24, horizon=8, quantile_levels=LEVELS)
PLAIN = {
    "nbeats": NBEATSConfig(**SHARED, stacks=("generic", "trend", "seasonality"), blocks=2, width=16),
    "mqcnn": MQCNNConfig(
        **SHARED, dilations=(1, 2, 4), channels=8, future_width=6, agnostic_width=10, specific_width=4
    ),
    "patchtst": PatchTSTConfig(**SHARED, patch=6, stride=3, width=16, heads=2, layers=2, feedforward=24),
    "chronos_bolt": ChronosBoltConfig(
        **SHARED, patch=5, width=16, heads=2, head_width=8, encoder_layers=2, decoder_layers=1, feedforward=24
    ),
}
TOLD = {f"{name} with seasons": dataclasses.replace(c, season_harmonics=2, from_last=True) for name, c in PLAIN.items()}
ALL = pytest.mark.parametrize("config", [*PLAIN.values(), *TOLD.values()], ids=[*PLAIN, *TOLD])
EACH = pytest.mark.parametrize("config", PLAIN.values(), ids=PLAIN)
SEASONED = pytest.mark.parametrize("config", TOLD.values(), ids=TOLD)

SILENT = ("self_attention/query", "self_attention/key", "decoder/relative_bias")
"""Parts of Chronos-Bolt's decoder that have no say, for its one token attends to nothing but itself."""


@ALL
def test_shape_type_and_order(config):
    model, variables = with_params(config)
    windows = random_windows()
    out = apply(model, variables, windows, query_times(windows))
    chex.assert_shape(out, (3, 5, len(LEVELS)))
    chex.assert_type(out, jnp.float32)
    chex.assert_tree_all_finite(out)
    assert (jnp.diff(out, axis=-1) >= 0).all() and (jnp.diff(out, axis=-1) > 0).any()


@EACH
def test_a_value_head_gives_one_value(config):
    model, variables = with_params(dataclasses.replace(config, quantile_levels=()))
    windows = random_windows()
    chex.assert_shape(apply(model, variables, windows, query_times(windows)), (3, 5, 1))


@ALL
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


@EACH
def test_padding_slots_changes_nothing(config):
    model, variables = with_params(config)
    windows = random_windows()
    times = query_times(windows)
    pad = lambda x: jnp.pad(x, ((0, 0), (2, 0), (1, 3)))  # noqa: E731
    padded = windows.replace(values=pad(windows.values), times=pad(windows.times), mask=pad(windows.mask))
    expected = apply(model, variables, windows, times)
    chex.assert_trees_all_close(apply(model, variables, padded, times), expected, rtol=1e-4, atol=1e-4)


@EACH
def test_a_gap_is_not_a_zero(config):
    """A network that took gaps for values would tell the same of both."""
    model, variables = with_params(config)
    grid = lay_on_grid(random_windows(share=1.0), config.context, config.horizon, config.season_harmonics)
    zero = grid.replace(values=grid.values.at[:, -3].set(0.0))
    gap = zero.replace(mask=zero.mask.at[:, -3].set(False))
    tell = jax.jit(lambda grid: model.apply(variables, grid, method="tell"))
    assert not jnp.allclose(tell(zero), tell(gap), atol=1e-3)


@ALL
def test_scaling_and_shifting_a_series_changes_the_answer_by_just_that(config):
    model, variables = with_params(config)
    windows = random_windows()
    times = query_times(windows)
    out = apply(model, variables, windows, times)
    moved = windows.replace(
        values=1000 + 50 * windows.values,
        times=7 + 3 * windows.times,
        origin=7 + 3 * windows.origin,
        duration=3 * windows.duration,
    )
    chex.assert_trees_all_close(apply(model, variables, moved, 7 + 3 * times), 1000 + 50 * out, rtol=2e-4, atol=0.05)


@EACH
def test_nothing_observed_and_constants_stay_finite_with_their_gradients(config):
    model, variables = with_params(config)
    windows = random_windows()
    nothing = windows.replace(mask=jnp.zeros_like(windows.mask))
    constant = windows.replace(values=jnp.full_like(windows.values, 3.0))
    for case, level in ((nothing, 0.0), (constant, 3.0)):
        total = lambda v, case=case: jnp.sum(model.apply(v, case, query_times(case)) ** 2)
        value, gradient = jax.jit(jax.value_and_grad(total))(variables)
        chex.assert_tree_all_finite((value, gradient))
        np.testing.assert_allclose(apply(model, variables, case, query_times(case)), level, atol=1e-5)


@ALL
def test_gradients_reach_every_parameter(config):
    model, variables = with_params(config)
    windows = random_windows(batch=5)
    total = lambda v: jnp.sum(model.apply(v, windows, query_times(windows, count=20)) ** 2)
    gradient = jax.jit(jax.grad(total))(variables)
    name = lambda path: jax.tree_util.keystr(path[1:], simple=True, separator="/")
    still = {name(path) for path, g in jax.tree_util.tree_leaves_with_path(gradient) if not jnp.abs(g).max() > 0}
    said = {x for x in still if isinstance(config, ChronosBoltConfig) and x.startswith("decoder") and _is_silent(x)}
    assert still == said


def _is_silent(name: str) -> bool:
    return any(part in name for part in SILENT)


@EACH
def test_overfits_one_batch(config):
    """The trainer's own loss on one batch falls to a fraction of what it was."""
    config = dataclasses.replace(config, horizon=12)
    model, sample = build_model(config), jax.jit(lambda key: sample_groups(key, 0, 2, PRIOR))(jax.random.key(0))
    loss = jax.jit(make_loss(model, TrainingConfig()))
    params = jax.jit(lambda key: init_params(model, key))(jax.random.key(0))
    optimizer = optax.adam(1e-2)

    @jax.jit
    def descend(params):
        def step(_, state):
            params, moments = state
            updates, moments = optimizer.update(jax.grad(lambda p: loss(p, sample).value)(params), moments)
            return optax.apply_updates(params, updates), moments

        return jax.lax.fori_loop(0, 300, step, (params, optimizer.init(params)))[0]

    before, after = (float(loss(p, sample).value) for p in (params, descend(params)))
    assert after < 0.35 * before


@EACH
def test_answers_depend_on_the_past_and_on_no_other_series(config):
    model, variables = with_params(config)
    windows = random_windows()
    times = query_times(windows)
    told = lambda values: model.apply(variables, windows.replace(values=values), times)[0].sum()
    influence = jax.jit(jax.grad(told))(windows.values)
    assert jnp.abs(influence[0]).max() > 0
    assert not influence[1:].any()


@EACH
def test_between_two_steps_answers_lie_on_a_line(config):
    model, variables = with_params(config)
    windows = random_windows()
    at = lambda steps: apply(model, variables, windows, windows.origin[:, None] + jnp.array([steps]))  # noqa: E731
    whole, between = at([2.0, 3.0, 8.0]), at([2.25, 8.0, 9.5])
    np.testing.assert_allclose(between[:, 0], 0.75 * whole[:, 0] + 0.25 * whole[:, 1], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(between[:, 1:], whole[:, [2, 2]], rtol=1e-5)  # beyond the horizon: its last step


@SEASONED
def test_the_season_is_read(config):
    model, variables = with_params(config)
    windows = random_windows()
    times = query_times(windows)
    other = windows.replace(season=windows.season + 2)
    assert not jnp.allclose(apply(model, variables, windows, times), apply(model, variables, other, times), atol=1e-3)


@EACH
def test_bfloat16_stays_near(config):
    model, variables = with_params(config)
    windows = random_windows()
    times = query_times(windows)
    rough = build_model(config, Compute(jnp.bfloat16, remat=True))
    expected, found = apply(model, variables, windows, times), apply(rough, variables, windows, times)
    chex.assert_type(found, jnp.float32)
    spread = float(jnp.std(expected))
    np.testing.assert_allclose(found, expected, atol=0.15 * spread)
    assert not jnp.array_equal(found, expected)


@pytest.mark.parametrize(("name", "config"), PLAIN.items())
def test_names(name, config):
    assert model_name(config).lower() == name.replace("_", "")
    assert forecasts(config)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NBEATSConfig(context=0), "context: must be positive"),
        (lambda: NBEATSConfig(stacks=("wavy",)), "stacks: each must be one of generic"),
        (lambda: MQCNNConfig(dilations=()), "dilations"),
        (lambda: MQCNNConfig(channels=0), "channels: must be positive, not 0"),
        (lambda: PatchTSTConfig(heads=3), "heads: 3 does not divide width 128"),
        (lambda: PatchTSTConfig(context=8), "patch: 16 is longer than context 8"),
        (lambda: ChronosBoltConfig(buckets=2), "buckets"),
        (lambda: ChronosBoltConfig(quantile_levels=(0.5, 0.1)), "quantile_levels"),
    ],
)
def test_settings_that_cannot_work_are_named(make, message):
    with pytest.raises(ConfigError, match=message):
        make()
