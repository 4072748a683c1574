"""N-BEATS: blocks that each explain away a part of the past and add their part of what is to come (paper, table 5)."""

import functools
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from fimjax.config.grid_models import NBEATSConfig, StackKind
from fimjax.models.grid_forecaster import GridForecaster
from fimjax.nn.grid import Grid
from fimjax.nn.quantile_head import apply_quantile_head, head_size

# PyTorch's: a third of the usual variance, so that a dozen blocks begin as small corrections to the last value.
Linear = functools.partial(nn.Dense, kernel_init=nn.initializers.variance_scaling(1 / 3, "fan_in", "uniform"))


@struct.dataclass
class Basis:
    """The functions of which a block adds up a past and a future, by steps: oldest first, then nearest first."""

    past: np.ndarray  # [P, C]
    future: np.ndarray  # [P', H]


def make_basis(kind: StackKind, config: NBEATSConfig) -> Basis:
    """The basis that the blocks of a stack share."""
    back, ahead = np.arange(config.context)[::-1], np.arange(config.horizon)
    if kind == "generic":
        return Basis(np.eye(config.context), np.eye(config.horizon))
    if kind == "trend":
        powers = lambda steps: polynomials(steps / len(steps), config.trend_degree)
        return Basis(powers(back), powers(ahead))
    waves = lambda steps: fourier(steps / config.horizon, turns(config.harmonics, config.horizon))
    return Basis(waves(-back), waves(ahead))


def polynomials(times: np.ndarray, degree: int) -> np.ndarray:
    """Powers of times [T] from 0 up to `degree`: [degree + 1, T]."""
    return np.stack([times**power for power in range(degree + 1)])


def turns(harmonics: int, horizon: int) -> np.ndarray:
    """How often the waves of a seasonality stack turn within the horizon: not at all, then from once up in steps of
    1 / harmonics, to below the half turn a step that is the fastest one can see."""
    return np.append(0.0, np.arange(harmonics, harmonics * horizon / 2) / harmonics)


def fourier(times: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """Cosines, then sines, of F frequencies at times [T]: [2F, T]."""
    angles = 2 * np.pi * frequencies[:, None] * times[None]
    return np.concatenate([np.cos(angles), np.sin(angles)])


class Block(nn.Module):
    """A network that reads what is still unexplained of the past, and a linear layer to the weights of a basis.

    No activation follows the layer that reads the past, as in NeuralForecast. That layer is float32, for it reads
    values, and so is the last one, for its numbers are added to the answer as they are.
    """

    layers: int
    width: int
    columns: int
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, features: jax.Array, basis: Basis) -> tuple[jax.Array, jax.Array]:
        """features [B, I] -> the block's part of the past [B, C], and of the future [B, H, L]; float32"""
        whole = functools.partial(Linear, dtype=jnp.float32, precision="highest")
        x = whole(self.width, name="inputs")(features).astype(self.dtype)
        for i in range(self.layers):
            x = nn.relu(Linear(self.width, dtype=self.dtype, name=f"hidden_{i}")(x))
        of_past, of_future = len(basis.past), len(basis.future)
        theta = whole(of_past + of_future * self.columns, name="theta")(x.astype(jnp.float32))
        past, future = theta[:, :of_past], theta[:, of_past:].reshape(-1, of_future, self.columns)
        add_up = functools.partial(jnp.einsum, precision="highest")
        return (
            add_up("bp,pc->bc", past, jnp.asarray(basis.past, jnp.float32)),
            add_up("bpl,ph->bhl", future, jnp.asarray(basis.future, jnp.float32)),
        )


@struct.dataclass
class Parts:
    """What each of K blocks makes of B series. Backcasts and residual add up to what was observed."""

    backcasts: jax.Array  # [K, B, C], zero where nothing was observed
    residual: jax.Array  # [B, C], what no block explained
    forecasts: jax.Array  # [K, B, H, L], the last layer's numbers, which add up to those of the answer


class NBEATS(GridForecaster):
    """Stacks of blocks: each reads the residual of those before it and adds its part to the forecast.

    Sizes are the paper's, its four stacks read as generic ones, since it calls trends and Fourier bases not applicable.
    What it leaves out follows NeuralForecast 3.3: each block has a layer that reads the past, without an activation,
    before its `layers` with ReLU; blocks share no weights, not even in interpretable stacks, as they do in the original
    article; the residual is set to zero after each block where nothing was observed; the forecast starts from the last
    value; time in a trend runs from 0 to just below 1, back from the last step and ahead from the first; and waves
    turn within a horizon. As there, parameters that serve nothing are counted: the last block's backcast, and the
    sine of the wave that stands still.

    Readings and departures:
    - Quantiles: each function of the basis has a weight for each level, as NeuralForecast's multi-quantile losses ask
      for; but here the sums over all blocks are the median and the distances between neighbours, so that quantiles
      cannot cross. The last value is added to the quantiles, and so to all of them.
    - The last value is the newest that was observed; NeuralForecast takes the last step, observed or not.
    - Steps go oldest first all the way; NeuralForecast turns the past around. Only the order of parameters differs.
    - Kernels start as there, from PyTorch's uniform distribution, but biases from zero.
    - No dropout, which is off in NeuralForecast too: no synthetic series is seen twice.

    Like the original, a block sees gaps as zeros. With the season's phases the mask is read too: each block then also
    reads which steps were observed, and the phases at the first step to come, which say how long the season is, for
    they count from the last observation.
    """

    config: NBEATSConfig

    def setup(self):
        c = self.config
        block = functools.partial(Block, c.layers, c.width, head_size(c.quantile_levels), self.compute.dtype)
        self.stacks = [[block() for _ in range(c.blocks)] for _ in c.stacks]

    def explain(self, grid: Grid) -> Parts:
        """What each block, in turn, takes out of the past and adds to the forecast."""
        context = [grid.mask.astype(jnp.float32), grid.ahead[:, 0]] if self.config.season_harmonics else []
        residual, backcasts, forecasts = grid.values * grid.mask, [], []
        for kind, blocks in zip(self.config.stacks, self.stacks):
            basis = make_basis(kind, self.config)
            for block in blocks:
                backcast, forecast = block(jnp.concatenate([residual, *context], axis=-1), basis)
                backcasts.append(backcast * grid.mask)
                forecasts.append(forecast)
                residual = residual - backcasts[-1]
        return Parts(jnp.stack(backcasts), residual, jnp.stack(forecasts))

    def tell(self, grid: Grid) -> jax.Array:
        """The steps to come, [B, H, L], float32, sorted along L, in the units of the grid."""
        raw = jnp.sum(self.explain(grid).forecasts, axis=0)
        return apply_quantile_head(raw, self.config.quantile_levels) + newest_value(grid)[:, None, None]


def newest_value(grid: Grid) -> jax.Array:
    """The last observed step [B] of the grid; zero if there is none.

    It is not `grid.last`: the values may be counted from that one already.
    """
    steps = jnp.arange(grid.mask.shape[1], dtype=jnp.int32)[None]
    newest = jnp.max(jnp.where(grid.mask, steps, 0), axis=-1, keepdims=True)
    return jnp.take_along_axis(grid.values, newest, axis=-1)[:, 0]
