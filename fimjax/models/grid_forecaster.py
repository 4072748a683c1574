"""The base class of N-BEATS, MQCNN, PatchTST and Chronos-Bolt."""

import dataclasses

import flax.linen as nn
import jax

from fimjax.config import GridModelConfig
from fimjax.nn.compute import Compute
from fimjax.nn.grid import Grid, to_regular_grid
from fimjax.nn.windows import Windows


class GridForecaster(nn.Module):
    """A network that reads the last steps of a series and forecasts the next ones, with the interface of FIM.

    It reads the same windows as FIM on a regular grid, scaled to mean 0 and standard deviation 1 over all observations.
    It predicts quantiles with the same head, so they cannot cross. Two inputs are optional in all networks: the
    season's phases (`season_harmonics`), and values relative to the last one (`subtract_last_value`).
    """

    config: GridModelConfig
    compute: Compute = Compute()

    def __call__(self, windows: Windows, query_times: jax.Array) -> jax.Array:
        """Forecasts each series at any times after its last observation.

        Args:
            windows: the past of B series.
            query_times: [B, Q].

        Returns:
            [B, Q, L], in the units of the series.
        """
        c = self.config
        grid = to_regular_grid(windows, c.context, c.horizon, c.season_harmonics)
        if not c.subtract_last_value:
            return grid.read_at(self.predict_steps(grid), query_times)
        last = grid.last_value
        relative = dataclasses.replace(grid, values=(grid.values - last[:, None]) * grid.mask)
        return grid.read_at(self.predict_steps(relative) + last[:, None, None], query_times)

    def predict_steps(self, grid: Grid) -> jax.Array:
        """Forecasts the next H steps: [B, H, L], float32, sorted along L, scaled like the grid's values."""
        raise NotImplementedError
