"""Chronos-Bolt: against plain NumPy, T5's rule of distances, the size of the original, what is hidden."""

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
from fimjax.nn.grid import lay_on_grid
from tests.examples import LEVELS, query_times, random_windows

SMALL = ChronosBoltConfig(
    context=21,  # five patches of four and a step more
    horizon=5,
    quantile_levels=LEVELS,
    patch=4,
    width=12,
    heads=3,
    head_width=5,
    encoder_layers=2,
    decoder_layers=1,
    feedforward=10,
    buckets=8,
    max_distance=6,
)
SEASONAL = dataclasses.replace(SMALL, season_harmonics=2)
UNSEEN = slice(9, 13)
"""Steps of one whole patch: the first holds a single step, the others four each."""


@functools.cache
def with_params(config):
    """A model and random parameters, norms and biases about 1; to ask for their shapes only compiles nothing."""
    model, windows = ChronosBolt(config), random_windows()
    shapes = jax.eval_shape(model.init, jax.random.key(0), windows, query_times(windows))["params"]
    rng = np.random.default_rng(0)
    return model, jax.tree.map(lambda x: jnp.asarray(rng.normal(x.ndim == 1, 0.4, x.shape), jnp.float32), shapes)


def grid_with_an_empty_patch(config):
    grid = lay_on_grid(random_windows(), config.context, config.horizon, config.season_harmonics)
    mask = grid.mask.at[0, UNSEEN].set(False)
    return grid.replace(values=grid.values * mask, mask=mask)


@functools.partial(jax.jit, static_argnums=0)
def tell(model, params, grid):
    return model.apply({"params": params}, grid, method="tell")


def bucket(distance, buckets, max_distance, causal):
    """T5's rule in whole numbers: a far distance is in as high a bucket as there are borders not above it."""
    first = 0
    if not causal:
        buckets //= 2
        first = buckets if distance > 0 else 0
    far = max(-distance, 0) if causal else abs(distance)
    single = buckets // 2
    if far < single:
        return first + far
    count = buckets - single  # borders lie at single * (max_distance / single) ** (k / count)
    return first + single + sum(far**count >= single ** (count - k) * max_distance**k for k in range(1, count))


class Plain:
    """The network in float64, one series, one head and one query after the other."""

    def __init__(self, config, params):
        self.config, self.params = config, jax.tree.map(lambda x: np.asarray(x, np.float64), params)

    def tell(self, grid):
        values, mask, phases = (np.asarray(x) for x in (grid.values, grid.mask, grid.phases))
        return np.stack([self.one(*series) for series in zip(values.astype(np.float64), mask, phases)])

    def one(self, values, mask, phases):
        c, p = self.config, self.params
        mean, deviation = values[mask].mean(), values[mask].std()
        values = np.where(mask, (values - mean) / deviation, 0.0)
        tokens, seen = [], []
        for end in range(c.context, 0, -c.patch):  # from the newest patch to the oldest
            steps = range(end - c.patch, end)
            content = [values[i] if i >= 0 else 0.0 for i in steps]
            observed = [float(mask[i]) if i >= 0 else 0.0 for i in steps]
            tokens.insert(0, self.block(np.array([*content, *observed, *phases[end - 1]]), p["patch_embedding"]))
            seen.insert(0, any(observed))
        tokens, seen = np.array([*tokens, p["tokens"][1]]), np.array([*seen, True])
        memory = self.stack(tokens, seen, p["encoder"], c.encoder_layers, causal=False)
        start = p["tokens"][:1]
        out = self.stack(start, np.array([True]), p["decoder"], c.decoder_layers, True, memory, seen)
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

    def stack(self, x, seen, p, layers, causal, memory=None, memory_seen=None):
        c = self.config
        norm = lambda x, p: x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * p["scale"]

        def bias(head, query, token):
            return p["relative_bias"]["table"][bucket(token - query, c.buckets, c.max_distance, causal), head]

        for i in range(layers):
            layer = p[f"layer_{i}"]
            normed = norm(x, layer["norm_self_attention"])
            x = x + self.attend(normed, normed, seen, layer["self_attention"], bias)
            if memory is not None:
                normed = norm(x, layer["norm_cross_attention"])
                x = x + self.attend(normed, memory, memory_seen, layer["cross_attention"], lambda *places: 0.0)
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
    [{}, {"season_harmonics": 2}, {"quantile_levels": (), "context": 20}],
    ids=["original", "season", "value_of_whole_patches"],
)
def test_against_numpy(change):
    config = dataclasses.replace(SMALL, **change)
    model, params = with_params(config)
    grid = grid_with_an_empty_patch(config)
    np.testing.assert_allclose(tell(model, params, grid), Plain(config, params).tell(grid), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("causal", [False, True], ids=["both_directions", "causal"])
@pytest.mark.parametrize("buckets, max_distance", [(32, 128), (8, 6), (20, 1000)])
def test_buckets_of_distances_are_t5s(causal, buckets, max_distance):
    distances = np.arange(-300, 301)
    expected = [bucket(int(distance), buckets, max_distance, causal) for distance in distances]
    np.testing.assert_array_equal(distance_buckets(distances, buckets, max_distance, causal), expected)


def test_buckets_that_the_original_gives():
    distances = np.array([-200, -64, -63, -16, -8, -1, 0, 1, 8, 32, 127])
    both = [15, 14, 13, 10, 8, 1, 0, 17, 24, 28, 31]
    causal = [31, 26, 26, 16, 8, 1, 0, 0, 0, 0, 0]
    np.testing.assert_array_equal(distance_buckets(distances, 32, 128, causal=False), both)
    np.testing.assert_array_equal(distance_buckets(distances, 32, 128, causal=True), causal)


@pytest.mark.parametrize("harmonics", [0, 3])
def test_as_many_parameters_as_chronos_bolt_tiny(harmonics):
    windows = random_windows()
    model = ChronosBolt(ChronosBoltConfig(season_harmonics=harmonics))
    params = jax.eval_shape(model.init, jax.random.key(0), windows, query_times(windows))["params"]
    width, hidden, answers = 256, 1024, 64 * 9
    block = lambda inputs, outputs: (inputs + 1) * hidden + (hidden + 1) * outputs + (inputs + 1) * outputs
    attention, feedforward, bias = width + 4 * width * width, width + 2 * width * hidden, 32 * 4
    parts = {
        "tokens": 2 * width,
        "patch_embedding": block(2 * 16, width),
        "encoder": 4 * (attention + feedforward) + bias + width,
        "decoder": 4 * (2 * attention + feedforward) + bias + width,
        "output": block(width, answers),
    }
    assert sum(parts.values()) == 8_652_672  # counted in the original
    if harmonics:
        parts["patch_embedding"] += (2 * harmonics + 1) * (hidden + width)
    assert {name: count_params(part) for name, part in params.items()} == parts


def test_the_encoder_has_one_token_more_than_patches():
    model, params = with_params(SMALL)
    _, state = jax.eval_shape(
        lambda p, g: model.apply({"params": p}, g, method="tell", capture_intermediates=True),
        params,
        grid_with_an_empty_patch(SMALL),
    )
    shapes = {name: state["intermediates"][name]["__call__"][0].shape for name in ("encoder", "decoder")}
    assert shapes == {"encoder": (3, 6 + 1, 12), "decoder": (3, 1, 12)}


@pytest.mark.parametrize("row", [PAD, REG])
def test_both_tokens_matter_even_to_a_single_patch(row):
    model, params = with_params(SMALL)
    grid = grid_with_an_empty_patch(SMALL)
    grid = grid.replace(mask=grid.mask.at[:, :-4].set(False).at[:, -4:].set(True))
    moved = params | {"tokens": params["tokens"].at[row].multiply(-1.0)}
    assert np.all(np.abs(tell(model, moved, grid) - tell(model, params, grid)).max((1, 2)) > 1e-3)


def test_a_patch_without_observations_does_not_matter():
    model, params = with_params(SEASONAL)
    grid = grid_with_an_empty_patch(SEASONAL)
    expected = tell(model, params, grid)
    values = grid.values.at[0, UNSEEN].set(7.0)
    out = tell(model, params, grid.replace(values=values, phases=grid.phases.at[:, UNSEEN].add(3.0)))
    chex.assert_trees_all_equal(out[0], expected[0])  # where the patch is hidden
    assert np.all(np.abs(out - expected)[1:].max((1, 2)) > 1e-3)  # where it is not


def test_patches_padded_on_the_left_do_not_matter():
    model, params = with_params(SEASONAL)
    grid = grid_with_an_empty_patch(SEASONAL)
    expected = tell(model, params, grid)
    for more in (3, 11):
        pad = lambda x: jnp.pad(x, ((0, 0), (more, 0)) + ((0, 0),) * (x.ndim - 2))
        longer = ChronosBolt(dataclasses.replace(SEASONAL, context=SEASONAL.context + more))
        padded = grid.replace(values=pad(grid.values), mask=pad(grid.mask), phases=pad(grid.phases))
        chex.assert_trees_all_close(tell(longer, params, padded), expected, rtol=1e-4, atol=1e-4)


def test_a_context_without_spread_or_observation_gives_its_level():
    model, params = with_params(SMALL)
    grid = grid_with_an_empty_patch(SMALL)
    level = jnp.array([2.0, -0.3, 0.0])
    mask = grid.mask.at[2].set(False)
    grid = grid.replace(values=jnp.where(mask, level[:, None], 0.0), mask=mask)
    out, pull = jax.vjp(lambda p, v: tell(model, p, grid.replace(values=v)), params, grid.values)
    chex.assert_trees_all_equal(out, jnp.broadcast_to(level[:, None, None], out.shape))
    chex.assert_tree_all_finite(pull(jnp.ones_like(out)))


def test_only_the_lone_tokens_own_scores_have_no_gradient():
    model, params = with_params(SMALL)
    grid = grid_with_an_empty_patch(SMALL)
    gradient = jax.jit(jax.grad(lambda p: jnp.sum(jnp.sin(tell(model, p, grid)))))(params)
    leaves = jax.tree_util.tree_leaves_with_path(gradient)
    still = {jax.tree_util.keystr(path, simple=True, separator="/") for path, leaf in leaves if not np.any(leaf)}
    scores = {f"decoder/layer_0/self_attention/{name}/kernel" for name in ("query", "key")}
    assert still == scores | {"decoder/relative_bias/table"}


def test_every_layer_is_computed_anew_if_asked():
    params, grid = with_params(SMALL)[1], grid_with_an_empty_patch(SMALL)
    for remat, layers in ((False, 0), (True, SMALL.encoder_layers + SMALL.decoder_layers)):
        model = ChronosBolt(SMALL, Compute(remat=remat))
        jaxpr = jax.make_jaxpr(lambda p: model.apply({"params": p}, grid, method="tell"))(params)
        assert str(jaxpr).count("remat") == layers
