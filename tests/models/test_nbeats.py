"""N-BEATS: against NumPy, its number of parameters, and the last value from which it forecasts."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.config import NBEATSConfig
from fimjax.models import count_params
from fimjax.models.nbeats import NBEATS
from fimjax.nn.grid import Grid
from tests.examples import LEVELS, apply, compiled_regular_grid, query_times, random_windows, with_params


def small(**settings) -> NBEATSConfig:
    return NBEATSConfig(**dict(context=16, horizon=8, stacks=2, blocks=2, width=12, quantile_levels=LEVELS) | settings)


def gappy_grid(config) -> Grid:
    """A grid with missing values, among them the last step of the first series."""
    sizes = config.context, config.horizon, config.season_harmonics
    grid = compiled_regular_grid(random_windows(), *sizes)
    mask = grid.mask.at[0, -1].set(False)
    assert not mask.all() and mask[1:, -1].any()
    return grid.replace(values=grid.values * mask, mask=mask)


@functools.partial(jax.jit, static_argnums=0)
def predict_steps(model, variables, grid):
    return model.apply(variables, grid, method="predict_steps")


def numpy_forecast(params, config, grid) -> np.ndarray:
    """NeuralForecast's loop over the blocks in float64, one series at a time: [B, H, L]."""
    params = jax.tree.map(lambda x: np.asarray(x, np.float64), params)
    linear = lambda x, layer: x @ layer["kernel"] + layer["bias"]
    forecasts = []
    for values, mask, future in zip(*(np.asarray(x, np.float64) for x in (grid.values, grid.mask, grid.future_phases))):
        last = [v for v, observed in zip(values, mask) if observed][-1]
        residual = values * mask
        raw = np.zeros((config.horizon, max(1, len(config.quantile_levels))))
        for i in range(config.stacks):
            for j in range(config.blocks):
                block = params[f"stacks_{i}_{j}"]
                x = np.concatenate([residual, mask, future[0]]) if config.season_harmonics else residual
                x = linear(x, block["inputs"])
                for k in range(config.layers):
                    x = np.maximum(linear(x, block[f"hidden_{k}"]), 0)
                theta = linear(x, block["theta"])
                residual = (residual - theta[: config.context]) * mask
                raw += theta[config.context :].reshape(config.horizon, -1)
        rows = [sorted_quantiles(row) if config.quantile_levels else row for row in raw]
        forecasts.append(np.stack(rows) + last)
    return np.stack(forecasts)


def sorted_quantiles(row) -> np.ndarray:
    """Quantiles of LEVELS: the median, and softplus steps to both sides."""
    step = lambda x: math.log1p(math.exp(x))
    lower, low, middle, high, higher = row
    below, above = middle - step(low), middle + step(high)
    return np.array([below - step(lower), below, middle, above, above + step(higher)])


@pytest.mark.parametrize("season_harmonics", [0, 2])
@pytest.mark.parametrize(
    "settings", [dict(), dict(layers=1, quantile_levels=()), dict(stacks=1, blocks=3, layers=3, horizon=7)], ids=str
)
def test_against_numpy(settings, season_harmonics):
    config = small(season_harmonics=season_harmonics, **settings)
    model, variables = with_params(config)
    grid = gappy_grid(config)
    expected = numpy_forecast(variables["params"], config, grid)
    tolerance = 1e-4 * np.abs(expected).max()
    np.testing.assert_allclose(predict_steps(model, variables, grid), expected, rtol=1e-4, atol=tolerance)


def test_number_of_parameters_at_the_papers_size():
    def parameters(config) -> int:
        windows = random_windows()
        shapes = jax.eval_shape(NBEATS(config).init, jax.random.key(0), windows, query_times(windows))
        return count_params(shapes["params"])

    dense = lambda inputs, outputs: (inputs + 1) * outputs
    block = dense(48, 512) + 2 * dense(512, 512) + dense(512, 48 + 9 * 24)
    assert parameters(NBEATSConfig()) == 4 * 3 * block == 8_229_984
    # With the season, each block also reads 48 masks, sines and cosines of two harmonics, and the season's length.
    assert parameters(NBEATSConfig(season_harmonics=2)) == 4 * 3 * (block + (48 + 2 * 2 + 1) * 512)


@pytest.mark.parametrize("subtract_last_value", [False, True])
def test_without_weights_the_forecast_is_the_last_value(subtract_last_value):
    model, variables = with_params(small(quantile_levels=(), subtract_last_value=subtract_last_value))
    windows = random_windows()
    out = apply(model, jax.tree.map(jnp.zeros_like, variables), windows, query_times(windows))
    last = [values[mask][-1] for values, mask in zip(np.asarray(windows.values), np.asarray(windows.mask))]
    np.testing.assert_allclose(out[..., 0], np.broadcast_to(np.array(last)[:, None], (3, 5)), rtol=1e-5)


def test_the_last_value_moves_all_quantiles():
    config = small()
    model, variables = with_params(config)
    grid = gappy_grid(config)
    out = predict_steps(model, jax.tree.map(jnp.zeros_like, variables), grid)
    last = [values[mask][-1] for values, mask in zip(np.asarray(grid.values), np.asarray(grid.mask))]
    offsets = np.log(2) * np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    expected = np.array(last)[:, None, None] + offsets[None, None]
    np.testing.assert_allclose(out, np.broadcast_to(expected, out.shape), rtol=1e-5, atol=1e-5)
