"""PatchTST: against NumPy, its number of parameters, reversible normalisation, and patches without observations."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.config import PatchTSTConfig
from fimjax.models import count_params
from fimjax.models.patchtst import PatchTST, ReversibleNorm, overlapping_patches
from tests.examples import LEVELS, compiled_regular_grid, query_times, random_windows, with_params

SMALL = PatchTSTConfig(
    context=23, horizon=5, patch_size=6, stride=4, width=8, heads=2, layers=3, feedforward=12, quantile_levels=LEVELS
)
EMPTY_STEPS = 14
"""Leading steps that `empty_start` leaves without an observation: the first three of six patches."""


def random_grid(config, empty_start=False):
    """A grid with gaps; its first series has no observation in the first steps, and its last step is a gap."""
    grid = compiled_regular_grid(random_windows(), config.context, config.horizon, config.season_harmonics)
    mask = grid.mask.at[0, -1].set(False).at[1:, -1].set(True)
    mask = mask.at[0, : config.patch_size + 1].set(False)
    mask = mask.at[:, :EMPTY_STEPS].set(False) if empty_start else mask
    return grid.replace(values=jnp.where(mask, grid.values, 0.0), mask=mask)


def moved_params(config):
    """Parameters away from their initial zeros and ones."""
    return with_params(config)[1]["params"]


@functools.partial(jax.jit, static_argnums=0)
def predict_steps(model, params, grid):
    return model.apply({"params": params}, grid, method="predict_steps")


def layer_norm(x, p):
    return (x - x.mean()) / np.sqrt(x.var() + 1e-5) * p["scale"] + p["bias"]


def linear(x, p):
    return x @ p["kernel"] + p["bias"]


def numpy_forecast(config, p, values, mask, phases):
    """One series [C] in plain NumPy, loop by loop: [H, L]."""
    p = jax.tree.map(lambda x: np.asarray(x, np.float64), p)
    observed = values[mask]
    center = 0.0 if config.subtract_last_value else observed.mean()
    deviation = np.sqrt(observed.var() + 1e-5)
    scale, shift = abs(p["revin"]["scale"][0]) + 1e-5, p["revin"]["shift"][0]
    filled = np.array([v if m else center for v, m in zip(values, mask)])
    z = (filled - center) / deviation * scale + shift

    extend = lambda x: np.concatenate([x, np.repeat(x[-1:], config.stride, axis=0)])
    z, mask, phases = extend(z), extend(mask), extend(phases)
    tokens, visible = [], []
    for start in range(0, len(z) - config.patch_size + 1, config.stride):
        steps = slice(start, start + config.patch_size)
        features = z[steps]
        if config.season_harmonics:
            features = np.concatenate([features, mask[steps], phases[steps][-1]])
        tokens.append(linear(features, p["embedding"]["Dense_0"]) + p["position"][len(tokens)])
        visible.append(mask[steps].any())
    x, visible = np.stack(tokens), np.array(visible)

    size = config.width // config.heads
    carried = np.zeros((config.heads, len(x), len(x)))
    for i in range(config.layers):
        layer = p["encoder"][f"layer_{i}"]
        query, key, value = np.split(linear(x, layer["projections"]), 3, axis=-1)
        heads = []
        for n in range(config.heads):
            part = slice(n * size, (n + 1) * size)
            scores = query[:, part] @ key[:, part].T / np.sqrt(size)
            scores = carried[n] = scores + carried[n]
            weights = np.exp(scores - scores.max()) * visible
            heads.append(weights / weights.sum(-1, keepdims=True) @ value[:, part])
        x = x + linear(np.concatenate(heads, axis=-1), layer["out"])
        x = np.stack([layer_norm(row, layer["norm_attention"]) for row in x])
        x = x + linear(np.maximum(linear(x, layer["widen"]), 0), layer["narrow"])
        x = np.stack([layer_norm(row, layer["norm_feedforward"]) for row in x])

    raw = linear((x * visible[:, None]).reshape(-1), p["head"]).reshape(config.horizon, len(LEVELS))
    rise = np.log1p(np.exp(raw))
    lower, median, upper = rise[:, :2], raw[:, 2:3], rise[:, 3:]
    quantiles = [median - lower[:, ::-1].cumsum(1)[:, ::-1], median, median + upper.cumsum(1)]
    return (np.concatenate(quantiles, axis=1) - shift) / scale * deviation + center


@pytest.mark.parametrize(
    "options",
    [{}, {"season_harmonics": 2}, {"season_harmonics": 2, "subtract_last_value": True}, {"subtract_last_value": True}],
    ids=str,
)
def test_against_numpy(options):
    config = dataclasses.replace(SMALL, **options)
    model, grid = PatchTST(config), random_grid(config)
    params = moved_params(model.config)
    out = predict_steps(model, params, grid)
    for i in range(len(out)):
        values, mask, phases = (np.asarray(x[i]) for x in (grid.values, grid.mask, grid.phases))
        np.testing.assert_allclose(out[i], numpy_forecast(config, params, values, mask, phases), rtol=1e-4, atol=1e-4)


def test_number_of_parameters_at_the_papers_size():
    def parameters(config):
        windows = random_windows()
        shapes = jax.eval_shape(PatchTST(config).init, jax.random.key(0), windows, query_times(windows))
        return count_params(shapes["params"])

    width, feedforward, patches, outputs = 128, 256, (128 - 16) // 8 + 2, 24 * 9
    embedding = 16 * width + width + patches * width
    attention = 4 * (width * width + width)
    block = width * feedforward + feedforward + feedforward * width + width
    norms = 2 * 2 * width
    head = patches * width * outputs + outputs
    revin = 2
    expected = revin + embedding + 3 * (attention + block + norms) + head
    assert parameters(PatchTSTConfig()) == expected == 844_250
    # With the season, each patch brings its mask, and sines and cosines and the season's length.
    assert parameters(PatchTSTConfig(season_harmonics=2)) == expected + (16 + 2 * 2 + 1) * width


class TestReversibleNorm:
    def test_the_inverse_undoes_it_and_missing_values_are_at_the_mean(self):
        grid = random_grid(SMALL)
        params = {"scale": jnp.array([-0.7]), "shift": jnp.array([0.4])}
        normalised, value_map = ReversibleNorm().apply({"params": params}, grid.values, grid.mask)
        mean = jnp.sum(grid.values, axis=1, keepdims=True) / jnp.sum(grid.mask, axis=1, keepdims=True)
        np.testing.assert_allclose(
            value_map.invert(normalised), jnp.where(grid.mask, grid.values, mean), rtol=1e-5, atol=1e-6
        )
        np.testing.assert_allclose(np.asarray(normalised)[~np.asarray(grid.mask)], 0.4, rtol=1e-5)

    def test_a_network_that_outputs_the_learned_shift_forecasts_the_mean(self):
        config = dataclasses.replace(SMALL, quantile_levels=())
        model, grid = PatchTST(config), random_grid(config)
        params = moved_params(model.config)
        shift = jnp.full_like(params["head"]["bias"], params["revin"]["shift"][0])
        params = params | {"head": {"kernel": jnp.zeros_like(params["head"]["kernel"]), "bias": shift}}
        means = np.asarray(grid.values).sum(1) / np.asarray(grid.mask).sum(1)
        np.testing.assert_allclose(
            predict_steps(model, params, grid)[..., 0], np.tile(means[:, None], 5), rtol=1e-4, atol=1e-5
        )

    @pytest.mark.parametrize("scale, shift", [(30.0, 0.0), (1.0, 7.0), (20.0, -50.0)])
    def test_forecasts_scale_and_shift_with_the_grid(self, scale, shift):
        model, grid = PatchTST(SMALL), random_grid(SMALL)
        params = moved_params(model.config)
        moved = grid.replace(values=jnp.where(grid.mask, scale * grid.values + shift, 0.0))
        out = predict_steps(model, params, grid)
        np.testing.assert_allclose(
            predict_steps(model, params, moved), scale * out + shift, rtol=1e-3, atol=1e-3 * scale
        )

    def test_a_negative_learned_scale_keeps_the_order_of_quantiles(self):
        model, grid = PatchTST(SMALL), random_grid(SMALL)
        params = moved_params(model.config) | {"revin": {"scale": jnp.array([-1.0]), "shift": jnp.array([0.3])}}
        assert np.all(np.diff(predict_steps(model, params, grid), axis=-1) >= 0)


class TestPatchesWithoutObservations:
    def test_their_values_positions_and_rows_of_the_head_are_never_read(self):
        model, grid = PatchTST(SMALL), random_grid(SMALL, empty_start=True)
        params = moved_params(model.config)
        expected = predict_steps(model, params, grid)
        dirty_grid = grid.replace(values=grid.values.at[:, :EMPTY_STEPS].set(1e6))
        kernel = params["head"]["kernel"].at[: 3 * SMALL.width].set(50.0)
        dirty_params = params | {
            "position": params["position"].at[:3].set(jax.random.normal(jax.random.key(7), (3, SMALL.width))),
            "head": params["head"] | {"kernel": kernel},
        }
        np.testing.assert_array_equal(predict_steps(model, dirty_params, dirty_grid), expected)
        seen_too = params | {"position": params["position"].at[3].add(1.0)}
        assert np.abs(predict_steps(model, seen_too, grid) - expected).max() > 1e-3

    def test_without_any_observation_the_head_predicts_its_bias(self):
        config = dataclasses.replace(SMALL, quantile_levels=())
        model, grid = PatchTST(config), random_grid(config)
        params = moved_params(config)
        nothing = grid.replace(values=jnp.zeros_like(grid.values), mask=jnp.zeros_like(grid.mask))
        revin = params["revin"]
        bias = np.sqrt(1e-5) * (params["head"]["bias"] - revin["shift"]) / (jnp.abs(revin["scale"]) + 1e-5)
        np.testing.assert_allclose(predict_steps(model, params, nothing)[..., 0], np.tile(bias, (3, 1)), rtol=1e-4)


def test_patches_overlap_and_repeat_the_last_step():
    patches = overlapping_patches(jnp.arange(8)[None], size=4, stride=2)
    np.testing.assert_array_equal(patches[0], [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7], [6, 7, 7, 7]])
