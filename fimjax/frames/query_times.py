"""Times at which a caller wants to know a series."""

from typing import Any

import numpy as np
import pandas as pd

from fimjax.errors import InputError
from fimjax.frames.inputs import Inputs
from fimjax.frames.panel import Source, is_frame, to_stamps
from fimjax.frames.tables import read_times


def read_query_times(times: Any, inputs: Inputs) -> tuple[list[np.ndarray], np.ndarray]:
    """The stamps at which each of N series is asked for, and the order in which to answer.

    Args:
        times: a frame with the columns of ids and times, or times for all series alike: numbers, dates, or what pandas
            reads as dates. Dates without a time zone are in that of the series.
        inputs: the series.

    Returns:
        Stamps of each series, and places: of the answers, one series after the other, the one that each row is to have.
        Rows are in the order of the frame, or for each series in the order of the times.
    """
    ids = inputs.panel.ids
    if not is_frame(times):
        stamps = _to_stamps(times, inputs)
        return [stamps] * len(ids), np.arange(len(ids) * len(stamps))
    try:
        asked = read_times(times, inputs.kind.id_col, inputs.kind.time_col)
    except InputError as error:
        raise InputError(f"times: {error}") from error
    known = set(ids)
    for id in asked:
        if id not in known:
            raise InputError(f"times: there is no series {id!r}")
    none = np.empty(0, inputs.panel.stamps[0].dtype)
    moments = [_to_stamps(asked[id][0], inputs) if id in asked else none for id in ids]
    return moments, np.argsort(np.concatenate([asked[id][1] for id in ids if id in asked]))


def _to_stamps(times: Any, inputs: Inputs) -> np.ndarray:
    """Times as stamps of a panel; numbers are whole if the panel's and all of them are."""
    dates = inputs.panel.stamps[0].dtype.kind == "M"
    if isinstance(times, str | int | float) or np.ndim(times) == 0:
        times = [times]
    if dates:
        return _to_dates(times, inputs.kind.zone)
    numbers = np.asarray(times) if not np.ma.is_masked(times) else np.empty(0, object)
    if numbers.dtype.kind not in "iuf":
        raise InputError(f"times: {_shown(times)} are not numbers, as the times of the series are")
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise InputError("times must be one finite number after the other")
    return numbers.astype(np.int64 if numbers.dtype.kind in "iu" else np.float64)


def _shown(times: Any) -> str:
    return f"{times!r:.60}".replace("\n", " ")


def _to_dates(times: Any, zone: Any) -> np.ndarray:
    if np.size(times) and np.asarray(times).dtype.kind in "iufb":
        raise InputError("times: numbers were given, and the times of the series are dates")
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
            raise InputError("times have a time zone, and those of the series have none")
        stamps = stamps.tz_convert("UTC").tz_localize(None)
    return to_stamps(stamps.to_numpy(), Source("times", lambda row: f"place {row}"))
