"""PatchTST against NumPy, its size, reversible normalisation, and patches without observations."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.config import PatchTSTConfig
from fimjax.models import count_params
from fimjax.models.patchtst import PatchTST, ReversibleNorm, cut_patches
from fimjax.nn.grid import lay_on_grid
from tests.examples import LEVELS, query_times, random_windows

SMALL = PatchTSTConfig(
    context=23, horizon=5, patch=6, stride=4, width=8, heads=2, layers=3, feedforward=12, quantile_levels=LEVELS
)
EMPTY_STEPS = 14
"""Leading steps that `empty_start` leaves without an observation: the first three of six patches."""


def random_grid(config, empty_start=False):
    """A grid with gaps; its first series has no observation in the first steps, and its last step is a gap."""
    grid = lay_on_grid(random_windows(), config.context, config.horizon, config.season_harmonics)
    mask = grid.mask.at[0, -1].set(False).at[1:, -1].set(True)
    mask = mask.at[0, : config.patch + 1].set(False)
    mask = mask.at[:, :EMPTY_STEPS].set(False) if empty_start else mask
    return grid.replace(values=jnp.where(mask, grid.values, 0.0), mask=mask)


@functools.cache
def moved_params(model, seed=0):
    """Parameters away from their initial zeros and ones."""
    windows = random_windows()
    params = jax.jit(model.init)(jax.random.key(seed), windows, query_times(windows))["params"]
    leaves, tree = jax.tree.flatten(params)
    keys = jax.random.split(jax.random.key(seed + 1), len(leaves))
    return jax.tree.unflatten(tree, [x + 0.1 * jax.random.normal(k, x.shape) for x, k in zip(leaves, keys)])


@functools.partial(jax.jit, static_argnums=0)
def tell(model, params, grid):
    return model.apply({"params": params}, grid, method="tell")


def layer_norm(x, p):
    return (x - x.mean()) / np.sqrt(x.var() + 1e-5) * p["scale"] + p["bias"]


def linear(x, p):
    return x @ p["kernel"] + p["bias"]


def forecast_by_hand(config, p, values, mask, phases):
    """One series [C] in plain NumPy, loop by loop: [H, L]."""
    p = jax.tree.map(lambda x: np.asarray(x, np.float64), p)
    middle, deviation, scale, shift = 0.0, 1.0, 1.0, 0.0
    if config.revin:
        seen = values[mask]
        middle = 0.0 if config.from_last else seen.mean()
        deviation = np.sqrt(seen.var() + 1e-5)
        scale, shift = abs(p["revin"]["scale"][0]) + 1e-5, p["revin"]["shift"][0]
    filled = np.array([v if m else middle for v, m in zip(values, mask)])
    z = (filled - middle) / deviation * scale + shift

    extend = lambda x: np.concatenate([x, np.repeat(x[-1:], config.stride, axis=0)])
    z, mask, phases = extend(z), extend(mask), extend(phases)
    tokens, alive = [], []
    for start in range(0, len(z) - config.patch + 1, config.stride):
        steps = slice(start, start + config.patch)
        features = z[steps]
        if config.season_harmonics:
            features = np.concatenate([features, mask[steps], phases[steps][-1]])
        tokens.append(linear(features, p["embedding"]["Dense_0"]) + p["position"][len(tokens)])
        alive.append(mask[steps].any())
    x, alive = np.stack(tokens), np.array(alive)

    size = config.width // config.heads
    carried = np.zeros((config.heads, len(x), len(x)))
    for i in range(config.layers):
        layer = p["encoder"][f"layer_{i}"]
        query, key, value = np.split(linear(x, layer["projections"]), 3, axis=-1)
        heads = []
        for n in range(config.heads):
            part = slice(n * size, (n + 1) * size)
            scores = query[:, part] @ key[:, part].T / np.sqrt(size)
            if config.residual_attention:
                scores = carried[n] = scores + carried[n]
            weights = np.exp(scores - scores.max()) * alive
            heads.append(weights / weights.sum(-1, keepdims=True) @ value[:, part])
        x = x + linear(np.concatenate(heads, axis=-1), layer["out"])
        x = np.stack([layer_norm(row, layer["norm_attention"]) for row in x])
        x = x + linear(np.maximum(linear(x, layer["widen"]), 0), layer["narrow"])
        x = np.stack([layer_norm(row, layer["norm_feedforward"]) for row in x])

    raw = linear((x * alive[:, None]).reshape(-1), p["head"]).reshape(config.horizon, len(LEVELS))
    rise = np.log1p(np.exp(raw))
    lower, median, upper = rise[:, :2], raw[:, 2:3], rise[:, 3:]
    quantiles = [median - lower[:, ::-1].cumsum(1)[:, ::-1], median, median + upper.cumsum(1)]
    return (np.concatenate(quantiles, axis=1) - shift) / scale * deviation + middle


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"season_harmonics": 2},
        {"residual_attention": False},
        {"revin": False},
        {"from_last": True},
        {"season_harmonics": 2, "revin": False, "residual_attention": False},
    ],
    ids=str,
)
def test_against_numpy(options):
    config = dataclasses.replace(SMALL, **options)
    model, grid = PatchTST(config), random_grid(config)
    params = moved_params(model)
    out = tell(model, params, grid)
    for i in range(len(out)):
        values, mask, phases = (np.asarray(x[i]) for x in (grid.values, grid.mask, grid.phases))
        np.testing.assert_allclose(out[i], forecast_by_hand(config, params, values, mask, phases), rtol=1e-4, atol=1e-4)


def test_residual_attention_changes_the_answer_and_no_parameter():
    grid, models = random_grid(SMALL), [PatchTST(SMALL), PatchTST(dataclasses.replace(SMALL, residual_attention=False))]
    params = moved_params(models[0])
    assert jax.tree.map(jnp.shape, params) == jax.tree.map(jnp.shape, moved_params(models[1]))
    with_scores, without = (tell(model, params, grid) for model in models)
    assert np.abs(with_scores - without).max() > 1e-3


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
    def test_inverting_undoes_it_and_a_gap_lies_at_the_mean(self):
        grid = random_grid(SMALL)
        params = {"scale": jnp.array([-0.7]), "shift": jnp.array([0.4])}
        normalised, value_map = ReversibleNorm().apply({"params": params}, grid.values, grid.mask)
        mean = jnp.sum(grid.values, axis=1, keepdims=True) / jnp.sum(grid.mask, axis=1, keepdims=True)
        np.testing.assert_allclose(
            value_map.invert(normalised), jnp.where(grid.mask, grid.values, mean), rtol=1e-5, atol=1e-6
        )
        np.testing.assert_allclose(np.asarray(normalised)[~np.asarray(grid.mask)], 0.4, rtol=1e-5)

    def test_a_network_that_says_the_learned_shift_tells_the_mean(self):
        config = dataclasses.replace(SMALL, quantile_levels=())
        model, grid = PatchTST(config), random_grid(config)
        params = moved_params(model)
        shift = jnp.full_like(params["head"]["bias"], params["revin"]["shift"][0])
        params = params | {"head": {"kernel": jnp.zeros_like(params["head"]["kernel"]), "bias": shift}}
        means = np.asarray(grid.values).sum(1) / np.asarray(grid.mask).sum(1)
        np.testing.assert_allclose(tell(model, params, grid)[..., 0], np.tile(means[:, None], 5), rtol=1e-4, atol=1e-5)

    @pytest.mark.parametrize("scale, shift", [(30.0, 0.0), (1.0, 7.0), (20.0, -50.0)])
    def test_scaling_and_shifting_the_grid_does_just_that(self, scale, shift):
        model, grid = PatchTST(SMALL), random_grid(SMALL)
        params = moved_params(model)
        moved = grid.replace(values=jnp.where(grid.mask, scale * grid.values + shift, 0.0))
        out = tell(model, params, grid)
        np.testing.assert_allclose(tell(model, params, moved), scale * out + shift, rtol=1e-3, atol=1e-3 * scale)

    def test_a_negative_learned_scale_keeps_the_order_of_quantiles(self):
        model, grid = PatchTST(SMALL), random_grid(SMALL)
        params = moved_params(model) | {"revin": {"scale": jnp.array([-1.0]), "shift": jnp.array([0.3])}}
        assert np.all(np.diff(tell(model, params, grid), axis=-1) >= 0)


class TestPatchesWithoutObservations:
    def test_their_tokens_change_nothing(self):
        """Whatever stands in the steps, positions and rows of the head of patches that hold no observation."""
        model, grid = PatchTST(SMALL), random_grid(SMALL, empty_start=True)
        params = moved_params(model)
        expected = tell(model, params, grid)
        dirty_grid = grid.replace(values=grid.values.at[:, :EMPTY_STEPS].set(1e6))
        kernel = params["head"]["kernel"].at[: 3 * SMALL.width].set(50.0)
        dirty_params = params | {
            "position": params["position"].at[:3].set(jax.random.normal(jax.random.key(7), (3, SMALL.width))),
            "head": params["head"] | {"kernel": kernel},
        }
        np.testing.assert_array_equal(tell(model, dirty_params, dirty_grid), expected)
        seen_too = params | {"position": params["position"].at[3].add(1.0)}
        assert np.abs(tell(model, seen_too, grid) - expected).max() > 1e-3

    def test_no_observation_at_all_leaves_the_heads_bias(self):
        model, grid = PatchTST(dataclasses.replace(SMALL, revin=False, quantile_levels=())), random_grid(SMALL)
        params = moved_params(model)
        nothing = grid.replace(values=jnp.zeros_like(grid.values), mask=jnp.zeros_like(grid.mask))
        np.testing.assert_allclose(
            tell(model, params, nothing)[..., 0], np.tile(params["head"]["bias"], (3, 1)), rtol=1e-6
        )


def test_patches_overlap_and_repeat_the_last_step():
    patches = cut_patches(jnp.arange(8)[None], patch=4, stride=2)
    np.testing.assert_array_equal(patches[0], [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7], [6, 7, 7, 7]])
