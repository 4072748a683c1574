"""Query times: when a caller wants predictions, for all series alike or for each its own."""

from typing import Any

import numpy as np
import pandas as pd

from fimjax.errors import InputError
from fimjax.frames.calendars import Zone
from fimjax.frames.columns import Source, to_stamps
from fimjax.frames.panel import Panel, is_frame
from fimjax.frames.tables import read_times


def read_query_times(times: Any, panel: Panel) -> tuple[list[np.ndarray], np.ndarray]:
    """The query times of each series, and the order of the rows of the result.

    Args:
        times: a frame with the columns of ids and times; or times for all series alike: numbers, dates, or text that
            pandas reads as dates. Dates without a time zone are in the time zone of the series.
        panel: the series.

    Returns:
        Timestamps [Q] of each series, and an order [rows]: row i of the result is prediction order[i], with predictions
        concatenated series by series. Rows are in the order of the frame, or of the times in each series.
    """
    ids = panel.ids
    if not is_frame(times):
        stamps = _to_stamps(times, panel)
        return [stamps] * len(ids), np.arange(len(ids) * len(stamps))
    try:
        by_id = read_times(times, panel.schema.id_col, panel.schema.time_col)
    except InputError as error:
        raise InputError(f"times: {error}") from error
    known = set(ids)
    for id in by_id:
        if id not in known:
            raise InputError(f"times: there is no series {id!r}")
    none = np.empty(0, panel.stamps[0].dtype)
    query_times = [_to_stamps(by_id[id][0], panel) if id in by_id else none for id in ids]
    return query_times, np.argsort(np.concatenate([by_id[id][1] for id in ids if id in by_id]))


def _to_stamps(times: Any, panel: Panel) -> np.ndarray:
    """Times as timestamps of a panel. Numbers are whole if all of them and those of the panel are."""
    if isinstance(times, str | int | float) or np.ndim(times) == 0:
        times = [times]
    if panel.has_dates:
        return _to_dates(times, panel.schema.zone)
    numbers = np.asarray(times) if not np.ma.is_masked(times) else np.empty(0, object)
    if numbers.dtype.kind not in "iuf":
        raise InputError(f"times: {_shown(times)} are not numbers, but the times of the series are")
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise InputError("times: give a flat list of finite numbers")
    return numbers.astype(np.int64 if numbers.dtype.kind in "iu" else np.float64)


def _shown(times: Any) -> str:
    return f"{times!r:.60}".replace("\n", " ")


def _to_dates(times: Any, zone: Zone) -> np.ndarray:
    if np.size(times) and np.asarray(times).dtype.kind in "iufb":
        raise InputError("times: numbers were given, but the times of the series are dates")
    try:
        stamps = pd.DatetimeIndex(pd.to_datetime(times, format="mixed"))
    except (TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"times: {_shown(times)} cannot be read as dates ({reason})") from error
    if stamps.hasnans:
        raise InputError("times: a date is missing")
    if stamps.tz is None and zone is not None:
        stamps = stamps.tz_localize(zone, ambiguous=True, nonexistent="shift_forward")
    if stamps.tz is not None:
        if zone is None:
            raise InputError("times: they have a time zone, but those of the series have none")
        stamps = stamps.tz_convert("UTC").tz_localize(None)
    return to_stamps(stamps.to_numpy(), Source("times", lambda row: f"position {row}"))
