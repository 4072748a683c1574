"""From the requests of a call to the columns of its result: predictions, backtests, calibration."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fimjax.errors import InputError
from fimjax.frames.panel import Panel
from fimjax.frames.query_times import read_query_times
from fimjax.frames.tables import CUTOFF
from fimjax.inference.backtest import Split, last_splits, requests_before
from fimjax.inference.batching import Network
from fimjax.inference.calibration import MIN_HISTORY, widen, width_factor
from fimjax.inference.options import Call
from fimjax.inference.request import SeriesRequest, requests_at
from fimjax.inference.router import predict_series
from fimjax.messages import warn_user
from fimjax.nn.quantile_head import median_index


@dataclass(frozen=True)
class Predictor:
    """Networks whose forecasts are averaged, and the name of their column."""

    name: str
    networks: tuple[Network, ...]
    progress: Callable[[int, int], None] | None = None
    """Called with the number of series that are done, and with their total."""

    @property
    def levels(self) -> tuple[float, ...]:
        """The quantile levels of the networks."""
        return self.networks[0].config.model.quantile_levels

    @property
    def reach(self) -> int:
        """How many steps back the networks read at most."""
        settings = [network.config.windows for network in self.networks]
        return max((windows.count - 1) * windows.max_steps for windows in settings)

    def predict(
        self, call: Call, requests: Iterable[SeriesRequest], total: int, factor: float = 1.0
    ) -> dict[str, np.ndarray]:
        """The predicted columns, concatenated series by series; intervals are widened by a factor."""
        parts = []
        for quantiles in self._run(requests, total):  # [rows, L]
            quantiles = quantiles if factor == 1.0 else widen(quantiles, self.levels, factor)
            columns = {self.name: quantiles[:, median_index(self.levels)]}
            columns |= call.spec.columns(self.name, quantiles, self.levels)
            parts.append({name: call.bounds.clip(x) for name, x in columns.items()})
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def slopes(self, requests: Iterable[SeriesRequest], total: int) -> np.ndarray:
        """Derivatives of the median by time, in steps, of networks that compute slopes; series by series."""
        column = self.networks[0].outputs + median_index(self.levels)
        return np.concatenate([found[:, column] for found in self._run(requests, total)])

    def backtest(self, call: Call, splits: list[Split], anomaly: str | None = None) -> Any:
        """A frame with the forecasts of all splits, and with the anomalies if their column has a name."""
        if not splits:
            raise InputError("no series has enough rows for a window")
        panel = call.panel
        columns = self.predict(call, requests_before(panel, splits, self.reach, call.bounds.floor), len(splits))
        counts = [s.h for s in splits]
        cutoffs = np.array([panel.stamps[s.series][s.cut - 1] for s in splits])
        y = np.concatenate([s.rows(panel.values) for s in splits])
        if anomaly is not None:
            low, high = (columns[f"{self.name}-{suffix}"] for suffix in call.spec.suffixes)
            columns[anomaly] = (y < low) | (y > high)
        return panel.build(
            np.repeat(panel.ids[[s.series for s in splits]], counts),
            np.concatenate([s.rows(panel.stamps) for s in splits]),
            {CUTOFF: np.repeat(cutoffs, counts), panel.schema.target_col: y, **columns},
        )

    def width_factor(self, call: Call, h: int) -> float:
        """The factor of calibrated intervals, from the last h rows of all series."""
        values = call.panel.values
        splits = last_splits([len(x) for x in values], h, 1, h)
        splits = [s for s in splits if np.isfinite(values[s.series][: s.cut]).sum() >= MIN_HISTORY]
        if not splits:
            warn_user(
                f"intervals are not calibrated: no series has {MIN_HISTORY} observations before its last {h} rows"
            )
            return 1.0
        requests = requests_before(call.panel, splits, self.reach, call.bounds.floor)
        predictions = np.concatenate(list(predict_series(self.networks, requests)))
        observed = np.concatenate([s.rows(values) for s in splits])
        return width_factor(predictions, observed, self.levels, len(splits))

    def _run(self, requests: Iterable[SeriesRequest], total: int) -> Iterable[np.ndarray]:
        """Predictions [rows, columns] in chunks of series, with reports of progress."""
        progress = self.progress
        report = None if progress is None else lambda done: progress(done, total)
        return predict_series(self.networks, requests, report)


def build_at(
    panel: Panel,
    times: Any,
    floor: float,
    predict: Callable[[Iterable[SeriesRequest], int], dict[str, np.ndarray]],
) -> Any:
    """A frame with predictions at the caller's times.

    Args:
        predict: from requests and the number of series to columns, series by series.
    """
    query_times, order = read_query_times(times, panel)
    stamps = np.concatenate(query_times)
    if not len(stamps):
        raise InputError("times: give at least one")
    panel = panel.with_float_times() if stamps.dtype.kind == "f" else panel
    panel.schema.check_stamps(stamps)
    columns = predict(requests_at(panel, query_times, floor), len(panel))
    ids = np.repeat(panel.ids, [len(x) for x in query_times])
    return panel.build(ids[order], stamps[order], {name: x[order] for name, x in columns.items()})
