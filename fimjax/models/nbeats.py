"""N-BEATS: blocks that each explain a part of the past and forecast a part of the future."""

import functools

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from fimjax.config import NBEATSConfig
from fimjax.models.grid_forecaster import GridForecaster
from fimjax.nn.grid import Grid
from fimjax.nn.quantile_head import apply_quantile_head, head_size

# PyTorch's initial variance is a third of Flax's, so that a dozen blocks start as small corrections to the last value.
Linear = functools.partial(nn.Dense, kernel_init=nn.initializers.variance_scaling(1 / 3, "fan_in", "uniform"))


class Block(nn.Module):
    """An MLP from the unexplained part of the past to a backcast and a forecast.

    No activation follows the layer that reads the past, as in NeuralForecast. The first layer is float32 because it
    reads values, and the last one because its output is added to the forecast.
    """

    context: int
    horizon: int
    outputs: int
    layers: int
    width: int
    dtype: DTypeLike = jnp.float32

    @nn.compact
    def __call__(self, features: jax.Array) -> tuple[jax.Array, jax.Array]:
        """features [B, F] -> backcast [B, C] and forecast [B, H, L], float32"""
        float32 = functools.partial(Linear, dtype=jnp.float32, precision="highest")
        x = float32(self.width, name="inputs")(features).astype(self.dtype)
        for i in range(self.layers):
            x = nn.relu(Linear(self.width, dtype=self.dtype, name=f"hidden_{i}")(x))
        theta = float32(self.context + self.horizon * self.outputs, name="theta")(x.astype(jnp.float32))
        return theta[:, : self.context], theta[:, self.context :].reshape(-1, self.horizon, self.outputs)


class NBEATS(GridForecaster):
    """N-BEATS (Oreshkin et al., 2020) with the sizes of the paper's table 5.

    Each block reads the residual of the blocks before it and adds its part to the forecast, which starts from the last
    value. All stacks are generic, because the table calls the trend and Fourier bases of interpretable stacks not
    applicable. Details that the table omits follow NeuralForecast 3.3: blocks share no weights, and residuals are zero
    at unobserved steps. The last block has a backcast as well, although nothing reads it.

    Differences from the original:
    - Quantiles cannot cross, because the sum over the blocks goes through the shared quantile head. NeuralForecast's
      blocks add up quantiles directly. The last value is added to every quantile.
    - The last value is the newest observed one. NeuralForecast takes the last step even if it is missing.
    - Steps run oldest first. NeuralForecast reverses the past, which only changes the order of the parameters.
    - Biases start at zero. Kernels start from PyTorch's uniform distribution, as in NeuralForecast.
    - There is no dropout, because no synthetic series is seen twice.
    - With `season_harmonics`, each block also reads the mask and the season's phases at the first future step. Phases
      count from the last observation, so these show how long the season is. Without it, a block sees a missing value
      as a zero, as in the original.
    """

    config: NBEATSConfig

    def setup(self) -> None:
        c = self.config
        sizes = (c.context, c.horizon, head_size(c.quantile_levels), c.layers, c.width)
        self.stacks = [[Block(*sizes, self.compute.dtype) for _ in range(c.blocks)] for _ in range(c.stacks)]

    def predict_steps(self, grid: Grid) -> jax.Array:
        c = self.config
        extra = [grid.mask.astype(jnp.float32), grid.future_phases[:, 0]] if c.season_harmonics else []
        residual, forecasts = grid.values * grid.mask, []
        for blocks in self.stacks:
            for block in blocks:
                backcast, forecast = block(jnp.concatenate([residual, *extra], axis=-1))
                residual = residual - backcast * grid.mask
                forecasts.append(forecast)
        total = jnp.sum(jnp.stack(forecasts), axis=0)
        return apply_quantile_head(total, c.quantile_levels) + _last_observed(grid)[:, None, None]


def _last_observed(grid: Grid) -> jax.Array:
    """The value [B] of the last observed step; zero if there is none.

    It is not `grid.last_value`, which `subtract_last_value` has already taken off the values.
    """
    steps = jnp.arange(grid.mask.shape[1], dtype=jnp.int32)[None]
    newest = jnp.max(jnp.where(grid.mask, steps, 0), axis=-1, keepdims=True)
    return jnp.take_along_axis(grid.values, newest, axis=-1)[:, 0]
