"""What N-BEATS, MQCNN, PatchTST and Chronos-Bolt share: a regular grid in, quantiles at any later time out."""

import flax.linen as nn
import jax

from fimjax.config import GridModelConfig
from fimjax.nn.compute import Compute
from fimjax.nn.grid import Grid, lay_on_grid
from fimjax.nn.windows import Windows


class GridForecaster(nn.Module):
    """A network from the last steps of a series to its next ones, behind the interface of FIM.

    All of them read the same windows as FIM, laid on a regular grid, in the same units (mean 0 and deviation 1 over all
    that was observed), and answer with the same quantiles, that cannot cross. Times between two steps lie on the line
    between them. Optional besides, for all alike: the season's phases, and values counted from the last one.
    """

    config: GridModelConfig
    compute: Compute = Compute()

    def __call__(self, windows: Windows, query_times: jax.Array) -> jax.Array:
        """Forecasts each series at query_times [B, Q] -> [B, Q, L], in the units of the series."""
        c = self.config
        grid = lay_on_grid(windows, c.context, c.horizon, c.season_harmonics)
        if not c.from_last:
            return grid.answer(self.tell(grid), query_times)
        level = grid.last
        shifted = grid.replace(values=(grid.values - level[:, None]) * grid.mask)
        return grid.answer(self.tell(shifted) + level[:, None, None], query_times)

    def tell(self, grid: Grid) -> jax.Array:
        """The steps to come, [B, H, L], float32, sorted along L, in the units of the grid."""
        raise NotImplementedError
