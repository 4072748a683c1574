"""Chronos-Bolt: against NumPy, T5's buckets of distances, its number of parameters, and hidden patches."""

import dataclasses
import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.config import ChronosBoltConfig
from fimjax.models import count_params
from fimjax.models.chronos_bolt import PAD, REG, ChronosBolt, distance_buckets
from fimjax.nn.compute import Compute
from tests.examples import LEVELS, compiled_regular_grid, query_times, random_windows

SMALL = ChronosBoltConfig(
    context=21,  # five patches of four and a step more
    horizon=5,
    quantile_levels=LEVELS,
    patch_size=4,
    width=12,
    heads=3,
    head_width=5,
    encoder_layers=2,
    decoder_layers=1,
    feedforward=10,
)
SEASONAL = dataclasses.replace(SMALL, season_harmonics=2)
UNSEEN = slice(9, 13)
"""Steps of one whole patch: the first patch holds a single step, the others four each."""


@functools.cache
def with_params(config):
    """A model and random parameters, with norms and biases near 1; their shapes need no compilation."""
    model, windows = ChronosBolt(config), random_windows()
    shapes = jax.eval_shape(model.init, jax.random.key(0), windows, query_times(windows))["params"]
    rng = np.random.default_rng(0)
    return model, jax.tree.map(lambda x: jnp.asarray(rng.normal(x.ndim == 1, 0.4, x.shape), jnp.float32), shapes)


def grid_with_an_empty_patch(config):
    grid = compiled_regular_grid(random_windows(), config.context, config.horizon, config.season_harmonics)
    mask = grid.mask.at[0, UNSEEN].set(False)
    return grid.replace(values=grid.values * mask, mask=mask)


@functools.partial(jax.jit, static_argnums=0)
def predict_steps(model, params, grid):
    return model.apply({"params": params}, grid, method="predict_steps")


def bucket(distance: int) -> int:
    """T5's rule in integers: the borders of the eight far buckets lie at 8 * 16 ** (k / 8)."""
    size, first = abs(distance), 16 if distance > 0 else 0
    return first + (size if size < 8 else 8 + sum(size**8 >= 8**8 * 16**k for k in range(1, 8)))


class NumpyChronosBolt:
    """The network in float64, one series, one head and one query after the other."""

    def __init__(self, config, params):
        self.config, self.params = config, jax.tree.map(lambda x: np.asarray(x, np.float64), params)

    def predict_steps(self, grid):
        values, mask, phases = (np.asarray(x) for x in (grid.values, grid.mask, grid.phases))
        return np.stack([self.one(*series) for series in zip(values.astype(np.float64), mask, phases)])

    def one(self, values, mask, phases):
        c, p = self.config, self.params
        mean, deviation = values[mask].mean(), values[mask].std()
        values = np.where(mask, (values - mean) / deviation, 0.0)
        tokens, seen = [], []
        for end in range(c.context, 0, -c.patch_size):  # from the newest patch to the oldest
            steps = range(end - c.patch_size, end)
            content = [values[i] if i >= 0 else 0.0 for i in steps]
            observed = [float(mask[i]) if i >= 0 else 0.0 for i in steps]
            tokens.insert(0, self.block(np.array([*content, *observed, *phases[end - 1]]), p["patch_embedding"]))
            seen.insert(0, any(observed))
        tokens, seen = np.array([*tokens, p["tokens"][1]]), np.array([*seen, True])
        memory = self.stack(tokens, seen, p["encoder"], c.encoder_layers)
        start = p["tokens"][:1]
        out = self.stack(start, np.array([True]), p["decoder"], c.decoder_layers, memory, seen)
        return mean + deviation * self.head(self.block(out[0], p["output"]).reshape(c.horizon, -1))

    def head(self, raw):
        if not self.config.quantile_levels:
            return raw
        middle, rises = raw[:, 2:3], np.log1p(np.exp(raw))
        below, above = np.cumsum(rises[:, 1::-1], axis=1)[:, ::-1], np.cumsum(rises[:, 3:], axis=1)
        return np.concatenate([middle - below, middle, middle + above], axis=1)

    def block(self, x, p):
        dense = lambda x, p: x @ p["kernel"] + p["bias"]
        return dense(np.maximum(dense(x, p["hidden"]), 0), p["output"]) + dense(x, p["skip"])

    def stack(self, x, seen, p, layers, memory=None, memory_seen=None):
        norm = lambda x, p: x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * p["scale"]

        def bias(head, query, token):
            return p["relative_bias"]["table"][bucket(token - query), head]

        for i in range(layers):
            layer = p[f"layer_{i}"]
            normed = norm(x, layer["norm_self_attention"])
            x = x + self.attend(normed, normed, seen, layer["self_attention"], bias)
            if memory is not None:
                normed = norm(x, layer["norm_cross_attention"])
                x = x + self.attend(normed, memory, memory_seen, layer["cross_attention"], lambda *positions: 0.0)
            hidden = np.maximum(norm(x, layer["norm_feedforward"]) @ layer["widen"]["kernel"], 0)
            x = x + hidden @ layer["narrow"]["kernel"]
        return norm(x, p["norm"])

    def attend(self, queries, tokens, seen, p, bias):
        c, out = self.config, []
        visible = np.flatnonzero(seen)
        for head in range(c.heads):
            part = slice(head * c.head_width, (head + 1) * c.head_width)
            query = queries @ p["query"]["kernel"][:, part]
            key, value = (tokens[visible] @ p[name]["kernel"][:, part] for name in ("key", "value"))
            scores = query @ key.T
            scores += [[bias(head, q, t) for t in visible] for q in range(len(queries))]
            weights = np.exp(scores)
            out.append(weights / weights.sum(-1, keepdims=True) @ value)
        return np.concatenate(out, axis=-1) @ p["out"]["kernel"]


@pytest.mark.parametrize(
    "change",
    [{}, {"season_harmonics": 2}, {"quantile_levels": (), "context": 20}, {"patch_size": 1}],
    ids=["original", "season", "value_of_whole_patches", "far_distances"],
)
def test_against_numpy(change):
    config = dataclasses.replace(SMALL, **change)
    model, params = with_params(config)
    grid = grid_with_an_empty_patch(config)
    np.testing.assert_allclose(
        predict_steps(model, params, grid), NumpyChronosBolt(config, params).predict_steps(grid), rtol=1e-4, atol=1e-4
    )


def test_buckets_of_distances_are_t5s():
    distances = np.arange(-300, 301)
    np.testing.assert_array_equal(distance_buckets(distances), [bucket(int(distance)) for distance in distances])
    # These come from the original implementation.
    distances = np.array([-200, -64, -63, -16, -8, -1, 0, 1, 8, 32, 127])
    np.testing.assert_array_equal(distance_buckets(distances), [15, 14, 13, 10, 8, 1, 0, 17, 24, 28, 31])


@pytest.mark.parametrize("harmonics", [0, 3])
def test_as_many_parameters_as_chronos_bolt_tiny(harmonics):
    windows = random_windows()
    model = ChronosBolt(ChronosBoltConfig(season_harmonics=harmonics))
    params = jax.eval_shape(model.init, jax.random.key(0), windows, query_times(windows))["params"]
    width, hidden, outputs = 256, 1024, 64 * 9
    block = lambda inputs, outputs: (inputs + 1) * hidden + (hidden + 1) * outputs + (inputs + 1) * outputs
    attention, feedforward, bias = width + 4 * width * width, width + 2 * width * hidden, 32 * 4
    parts = {
        "tokens": 2 * width,
        "patch_embedding": block(2 * 16, width),
        "encoder": 4 * (attention + feedforward) + bias + width,
        "decoder": 4 * (2 * attention + feedforward) + bias + width,
        "output": block(width, outputs),
    }
    assert sum(parts.values()) == 8_652_672  # counted in the original
    if harmonics:
        parts["patch_embedding"] += (2 * harmonics + 1) * (hidden + width)
    assert {name: count_params(part) for name, part in params.items()} == parts


def test_the_encoder_has_one_more_token_than_patches():
    model, params = with_params(SMALL)
    _, state = jax.eval_shape(
        lambda p, g: model.apply({"params": p}, g, method="predict_steps", capture_intermediates=True),
        params,
        grid_with_an_empty_patch(SMALL),
    )
    shapes = {name: state["intermediates"][name]["__call__"][0].shape for name in ("encoder", "decoder")}
    assert shapes == {"encoder": (3, 6 + 1, 12), "decoder": (3, 1, 12)}


@pytest.mark.parametrize("row", [PAD, REG])
def test_both_special_tokens_matter(row):
    model, params = with_params(SMALL)
    grid = grid_with_an_empty_patch(SMALL)
    grid = grid.replace(mask=grid.mask.at[:, :-4].set(False).at[:, -4:].set(True))
    moved = params | {"tokens": params["tokens"].at[row].multiply(-1.0)}
    assert np.all(np.abs(predict_steps(model, moved, grid) - predict_steps(model, params, grid)).max((1, 2)) > 1e-3)


def test_a_patch_without_observations_is_never_read():
    model, params = with_params(SEASONAL)
    grid = grid_with_an_empty_patch(SEASONAL)
    expected = predict_steps(model, params, grid)
    values = grid.values.at[0, UNSEEN].set(7.0)
    out = predict_steps(model, params, grid.replace(values=values, phases=grid.phases.at[:, UNSEEN].add(3.0)))
    chex.assert_trees_all_equal(out[0], expected[0])  # where the patch is hidden
    assert np.all(np.abs(out - expected)[1:].max((1, 2)) > 1e-3)  # where it is not


def test_padding_on_the_left_changes_nothing():
    model, params = with_params(SEASONAL)
    grid = grid_with_an_empty_patch(SEASONAL)
    expected = predict_steps(model, params, grid)
    for more in (3, 11):
        pad = lambda x: jnp.pad(x, ((0, 0), (more, 0)) + ((0, 0),) * (x.ndim - 2))
        longer = ChronosBolt(dataclasses.replace(SEASONAL, context=SEASONAL.context + more))
        padded = grid.replace(values=pad(grid.values), mask=pad(grid.mask), phases=pad(grid.phases))
        chex.assert_trees_all_close(predict_steps(longer, params, padded), expected, rtol=1e-4, atol=1e-4)


def test_a_constant_or_empty_context_gets_exactly_its_level():
    model, params = with_params(SMALL)
    grid = grid_with_an_empty_patch(SMALL)
    level = jnp.array([2.0, -0.3, 0.0])
    mask = grid.mask.at[2].set(False)
    grid = grid.replace(values=jnp.where(mask, level[:, None], 0.0), mask=mask)
    out, pull = jax.vjp(lambda p, v: predict_steps(model, p, grid.replace(values=v)), params, grid.values)
    chex.assert_trees_all_equal(out, jnp.broadcast_to(level[:, None, None], out.shape))
    chex.assert_tree_all_finite(pull(jnp.ones_like(out)))


def test_remat_applies_to_every_layer():
    params, grid = with_params(SMALL)[1], grid_with_an_empty_patch(SMALL)
    for remat, layers in ((False, 0), (True, SMALL.encoder_layers + SMALL.decoder_layers)):
        model = ChronosBolt(SMALL, Compute(remat=remat))
        jaxpr = jax.make_jaxpr(lambda p: model.apply({"params": p}, grid, method="predict_steps"))(params)
        assert str(jaxpr).count("remat") == layers
