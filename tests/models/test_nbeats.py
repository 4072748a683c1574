"""N-BEATS: against a plain computation, its size, its bases, and what its blocks add up to."""

import functools
import math

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.config import NBEATSConfig
from fimjax.models.nbeats import NBEATS
from fimjax.nn.compute import Compute
from fimjax.nn.grid import lay_on_grid
from tests.examples import LEVELS, apply, query_times, random_windows


def small(**settings):
    return NBEATSConfig(
        **dict(context=16, horizon=8, stacks=("generic",), blocks=2, width=12, quantile_levels=LEVELS) | settings
    )


@functools.cache
def with_parameters(config):
    """A network and parameters away from where they start, so that every part shows in the output."""
    model, windows = NBEATS(config), random_windows()
    params = jax.jit(model.init)(jax.random.key(0), windows, query_times(windows))["params"]
    leaves, tree = jax.tree.flatten(params)
    moved = [x + 0.1 * np.random.default_rng(i).normal(size=x.shape).astype("float32") for i, x in enumerate(leaves)]
    return model, {"params": jax.tree.unflatten(tree, moved)}


def gappy_grid(config):
    """A grid with gaps; the last step of the first series is one of them."""
    sizes = config.context, config.horizon, config.season_harmonics
    grid = jax.jit(lay_on_grid, static_argnums=(1, 2, 3))(random_windows(), *sizes)
    mask = grid.mask.at[0, -1].set(False)
    assert not mask.all() and mask[1:, -1].any()
    return grid.replace(values=grid.values * mask, mask=mask)


@functools.partial(jax.jit, static_argnums=0)
def explain(model, variables, grid):
    return model.apply(variables, grid, method="explain")


@functools.partial(jax.jit, static_argnums=0)
def tell(model, variables, grid):
    return model.apply(variables, grid, method="tell")


def numpy_basis(kind, config):
    """Past, newest first, and future, as lists of functions of the step: one at a time, from the article's formulas."""
    context, horizon = range(config.context), range(config.horizon)
    if kind == "generic":
        pick = lambda steps: [[float(s == i) for s in steps] for i in steps]
        return pick(context), pick(horizon)
    if kind == "trend":
        powers = lambda steps: [[(s / len(steps)) ** p for s in steps] for p in range(config.trend_degree + 1)]
        return powers(context), powers(horizon)
    frequencies, turn = [0.0], 1.0
    while turn < config.horizon / 2 - 1e-9:
        frequencies.append(turn)
        turn += 1 / config.harmonics
    waves = lambda steps, sign: [
        [wave(sign * 2 * math.pi * f * s / config.horizon) for s in steps]
        for wave in (math.cos, math.sin)
        for f in frequencies
    ]
    return waves(context, -1), waves(horizon, 1)


def numpy_forward(params, config, grid):
    """NeuralForecast's way through the blocks, on a past that is turned around, in float64; one series at a time."""
    answers = []
    for values, mask, ahead in zip(*(np.asarray(x, np.float64) for x in (grid.values, grid.mask, grid.ahead))):
        observed = [v for v, seen in zip(values, mask) if seen]
        residual, seen = (values * mask)[::-1], mask[::-1]
        raw = np.zeros((config.horizon, max(1, len(config.quantile_levels))))
        for i, kind in enumerate(config.stacks):
            past, future = (np.array(functions) for functions in numpy_basis(kind, config))
            for j in range(config.blocks):
                layers = jax.tree.map(lambda x: np.asarray(x, np.float64), params[f"stacks_{i}_{j}"])
                linear = lambda x, name: x @ layers[name]["kernel"] + layers[name]["bias"]
                x = residual[::-1]  # the parameters know the past oldest first
                if config.season_harmonics:
                    x = np.concatenate([x, mask, ahead[0]])
                x = linear(x, "inputs")
                for k in range(config.layers):
                    x = np.maximum(linear(x, f"hidden_{k}"), 0)
                theta = linear(x, "theta")
                backward = theta[: len(past)]
                if kind == "generic":
                    backward = backward[::-1]
                forward = theta[len(past) :].reshape(len(future), -1)
                residual = (residual - backward @ past) * seen
                raw += future.T @ forward
        rows = [rising(row) if config.quantile_levels else row for row in raw]
        answers.append(np.stack(rows) + observed[-1])
    return np.stack(answers)


def rising(row):
    """Quantiles of LEVELS: the median, and softplus steps to both sides."""
    step = lambda x: math.log1p(math.exp(x))
    lower, low, middle, high, higher = row
    return np.array(
        [
            middle - step(low) - step(lower),
            middle - step(low),
            middle,
            middle + step(high),
            middle + step(high) + step(higher),
        ]
    )


@pytest.mark.parametrize("season_harmonics", [0, 2])
@pytest.mark.parametrize(
    "settings",
    [
        dict(),
        dict(stacks=("generic", "generic"), layers=1, quantile_levels=()),
        dict(stacks=("trend",), trend_degree=3),
        dict(stacks=("seasonality",), harmonics=1),
        dict(stacks=("trend", "seasonality"), harmonics=3, horizon=7),
        dict(stacks=("seasonality", "generic", "trend"), blocks=1, layers=3, trend_degree=0),
    ],
    ids=lambda settings: "-".join(settings.get("stacks", ["plain"])),
)
def test_against_numpy(settings, season_harmonics):
    config = small(season_harmonics=season_harmonics, **settings)
    model, variables = with_parameters(config)
    grid = gappy_grid(config)
    out = tell(model, variables, grid)
    expected = numpy_forward(variables["params"], config, grid)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


def count(config):
    windows = random_windows()
    shapes = jax.eval_shape(NBEATS(config).init, jax.random.key(0), windows, query_times(windows))
    return sum(x.size for x in jax.tree.leaves(shapes["params"]))


def test_parameters_at_the_papers_size():
    dense = lambda inputs, outputs: (inputs + 1) * outputs
    generic = dense(48, 512) + 2 * dense(512, 512) + dense(512, 48 + 9 * 24)
    assert count(NBEATSConfig()) == 4 * 3 * generic == 8_229_984


def test_parameters_of_an_interpretable_network():
    dense = lambda inputs, outputs: (inputs + 1) * outputs
    body = dense(48, 512) + 2 * dense(512, 512)
    waves = 2 * (1 + 22)  # turns 0 and 1, 1.5, ... 11.5
    trend, seasonality = body + dense(512, (1 + 9) * 3), body + dense(512, (1 + 9) * waves)
    assert count(NBEATSConfig(stacks=("trend", "seasonality"))) == 3 * (trend + seasonality) == 4_056_510


def test_the_season_widens_nothing_but_what_blocks_read():
    plain, seasonal = count(NBEATSConfig()), count(NBEATSConfig(season_harmonics=2))
    assert seasonal - plain == 4 * 3 * (48 + 2 * 2 + 1) * 512


@pytest.mark.parametrize("stacks", [("generic", "generic"), ("trend", "seasonality")])
def test_backcasts_and_residual_add_up_to_the_past(stacks):
    config = small(stacks=stacks)
    model, variables = with_parameters(config)
    grid = gappy_grid(config)
    parts = explain(model, variables, grid)
    chex.assert_shape(parts.backcasts, (4, 3, 16))
    chex.assert_shape(parts.forecasts, (4, 3, 8, len(LEVELS)))
    chex.assert_trees_all_close(parts.backcasts.sum(0) + parts.residual, grid.values, atol=1e-5)
    assert not jnp.where(grid.mask[None], 0.0, parts.backcasts).any()
    assert np.abs(parts.backcasts).sum((1, 2)).all()


def test_each_block_reads_what_those_before_it_left():
    """Two blocks of equal parameters: the second answers as the first would to its residual."""
    config = small()
    model, variables = with_parameters(config)
    block = variables["params"]["stacks_0_0"]
    twins = {"params": {"stacks_0_0": block, "stacks_0_1": block}}
    grid = gappy_grid(config)
    parts = explain(model, twins, grid)
    again = explain(model, twins, grid.replace(values=grid.values - parts.backcasts[0]))
    chex.assert_trees_all_close(parts.forecasts[1], again.forecasts[0], rtol=1e-5, atol=1e-6)
    assert not np.allclose(parts.forecasts[0], parts.forecasts[1])


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_a_trend_stack_tells_polynomials(degree):
    config = small(stacks=("trend",), trend_degree=degree)
    model, variables = with_parameters(config)
    grid = gappy_grid(config)
    parts = explain(model, variables, grid.replace(mask=jnp.ones_like(grid.mask)))
    backcasts, forecasts = np.asarray(parts.backcasts), np.asarray(parts.forecasts).swapaxes(-1, -2)
    for told in (backcasts.reshape(-1, 16), forecasts.reshape(-1, 8)):
        assert np.abs(np.diff(told, n=degree)).max() > 1e-4
        np.testing.assert_allclose(np.diff(told, n=degree + 1), 0, atol=5e-6)


def test_a_seasonality_stack_tells_waves_of_the_horizon():
    config = small(stacks=("seasonality",), harmonics=1)
    model, variables = with_parameters(config)
    grid = gappy_grid(config)
    parts = explain(model, variables, grid.replace(mask=jnp.ones_like(grid.mask)))
    backcasts, forecasts = np.asarray(parts.backcasts), np.asarray(parts.forecasts)
    older, newer = backcasts[..., :8], backcasts[..., 8:]
    np.testing.assert_allclose(older, newer, atol=1e-4)  # waves that fit into eight steps come again after eight
    for told in (newer, forecasts.swapaxes(-1, -2)):
        strength = np.abs(np.fft.rfft(told)).max(axis=tuple(range(told.ndim - 1)))  # at 0, 1, ... 4 turns in 8 steps
        assert (strength[:4] > 1e-2).all()
        assert strength[4] < 1e-4


@pytest.mark.parametrize("from_last", [False, True])
def test_blocks_that_say_nothing_leave_the_last_value(from_last):
    config = small(quantile_levels=(), from_last=from_last)
    model, variables = with_parameters(config)
    silent, windows = jax.tree.map(jnp.zeros_like, variables), random_windows()
    out = apply(model, silent, windows, query_times(windows))
    last = [values[mask][-1] for values, mask in zip(np.asarray(windows.values), np.asarray(windows.mask))]
    np.testing.assert_allclose(out[..., 0], np.broadcast_to(np.array(last)[:, None], (3, 5)), rtol=1e-5)


def test_the_last_value_moves_all_quantiles():
    config = small()
    model, variables = with_parameters(config)
    silent = jax.tree.map(jnp.zeros_like, variables)
    grid = gappy_grid(config)
    out = tell(model, silent, grid)
    newest = [values[mask][-1] for values, mask in zip(np.asarray(grid.values), np.asarray(grid.mask))]
    offsets = np.log(2) * np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    expected = np.array(newest)[:, None, None] + offsets[None, None]
    np.testing.assert_allclose(out, np.broadcast_to(expected, out.shape), rtol=1e-5, atol=1e-5)


def test_an_interpretable_network_from_windows_to_quantiles():
    config = small(stacks=("trend", "seasonality"), season_harmonics=2, from_last=True)
    windows = random_windows()
    times = query_times(windows)
    model, variables = with_parameters(config)
    out = apply(model, variables, windows, times)
    chex.assert_shape(out, (3, 5, len(LEVELS)))
    assert (np.diff(out) >= 0).all()
    rough = apply(NBEATS(config, Compute(jnp.bfloat16)), variables, windows, times)
    chex.assert_type(rough, jnp.float32)
    np.testing.assert_allclose(rough, out, rtol=0.05, atol=0.02 * np.abs(out).max())
