"""Times at which a caller wants to know a series."""

from typing import Any

import numpy as np
import pandas as pd

from fimjax.forecasting.frames import read_times
from fimjax.forecasting.inputs import Inputs
from fimjax.forecasting.panel import InputError


def read_moments(times: Any, inputs: Inputs) -> list[np.ndarray]:
    """The stamps at which each of N series is asked for, in the order that they were given in.

    Args:
        times: a frame with the columns of ids and times, or times for all series alike: numbers, dates, or what pandas
            reads as dates. Dates without a time zone are in that of the series.
        inputs: the series.
    """
    dtype = inputs.panel.stamps[0].dtype
    if hasattr(times, "columns"):
        asked = read_times(times, inputs.kind.id_col, inputs.kind.time_col)
        unknown = [id for id in asked if id not in set(inputs.panel.ids)]
        if unknown:
            raise InputError(f"times: there is no series {unknown[0]!r}")
        none = np.empty(0, dtype)
        return [_to_stamps(asked[id], inputs) if id in asked else none for id in inputs.panel.ids]
    stamps = _to_stamps(times, inputs)
    return [stamps] * len(inputs.panel)


def _to_stamps(times: Any, inputs: Inputs) -> np.ndarray:
    """Times as stamps of a panel; numbers are whole if the panel's and all of them are."""
    dates = inputs.panel.stamps[0].dtype.kind == "M"
    if isinstance(times, str | int | float) or np.ndim(times) == 0:
        times = [times]
    if dates:
        return _to_dates(times, inputs.kind.zone)
    try:
        numbers = np.asarray(times)
        numbers = numbers if numbers.dtype.kind in "iu" else numbers.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"times: {times!r:.60} are not numbers, as the times of the series are") from error
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise InputError("times must be one finite number after the other")
    return numbers


def _to_dates(times: Any, zone: Any) -> np.ndarray:
    if np.asarray(times).dtype.kind in "iuf":
        raise InputError("times: numbers were given, and the times of the series are dates")
    try:
        stamps = pd.DatetimeIndex(pd.to_datetime(times, format="mixed"))
    except (TypeError, ValueError) as error:
        raise InputError(f"times: {times!r:.60} are not dates, as the times of the series are") from error
    if stamps.hasnans:
        raise InputError("times: a date is missing")
    if stamps.tz is None and zone is not None:
        stamps = stamps.tz_localize(zone, ambiguous=True, nonexistent="shift_forward")
    if stamps.tz is not None:
        if zone is None:
            raise InputError("times have a time zone, and those of the series have none")
        stamps = stamps.tz_convert("UTC").tz_localize(None)
    return stamps.to_numpy().astype("datetime64[ns]")
