"""Series and predictions as a figure."""

import importlib.util
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fimjax.errors import InputError
from fimjax.frames.columns import check_count
from fimjax.frames.panel import read_panel
from fimjax.frames.tables import CUTOFF, ID, TARGET, TIME
from fimjax.plotting.predictions import ModelColumns, find_models, open_predictions, per_cent, read_windows
from fimjax.plotting.series_plot import SeriesPlot

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot(
    df: Any,
    predictions: Any = None,
    *,
    ids: Iterable[Any] | None = None,
    max_ids: int = 8,
    level: Sequence[float] | float | None = None,
    max_history: int | None = None,
    models: Sequence[str] | str | None = None,
    id_col: str = ID,
    time_col: str = TIME,
    target_col: str = TARGET,
) -> "Figure":
    """Draws series and their predictions.

    The columns of the predictions decide how they are drawn: `FIM-anomaly` marks anomalies, `cutoff` makes a backtest,
    and values of the history make an interpolation. All others are forecasts or predictions at any times. A frame may
    have several models, each with a point forecast `X` and quantiles `X-lo-80`, `X-hi-80` or `X-q-10`.

    Args:
        df: the series as the forecaster takes them: a long frame of pandas or polars, or arrays.
        predictions: the frame that a method of the forecaster returned; None to draw the series alone.
        ids: the series to draw; by default the first `max_ids` that have predictions.
        max_ids: most series to draw if `ids` is not given.
        level: the intervals to draw, in per cent; by default all in the frame.
        max_history: how many points of each history to draw, counted from its end; by default all.
        models: names of the models to draw; by default every column of numbers belongs to a model.
        id_col, time_col, target_col: names of the columns.

    Returns:
        A figure that is independent of pyplot: notebooks show it, and `savefig` writes it to a file.

    Raises:
        InputError: if the series or predictions cannot be drawn; the message says why.
        ImportError: matplotlib is not installed.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise ImportError("plotting needs matplotlib: pip install 'fimjax[plot]'")
    from fimjax.plotting.drawing import draw_figure  # matplotlib is optional and slow to import

    max_ids = check_count("max_ids", max_ids)
    max_history = None if max_history is None else check_count("max_history", max_history)
    panel = read_panel(df, id_col=id_col, time_col=time_col, target_col=target_col)
    schema = panel.schema
    rows = {id: i for i, id in enumerate(panel.ids)}

    if predictions is None:
        shown, drawn, windows, may_interpolate = _choose_series(rows, rows, ids, max_ids), [], {}, False
    else:
        frame = open_predictions(predictions, schema.id_col, schema.time_col)
        found = find_models(frame, (schema.id_col, schema.time_col, schema.target_col, CUTOFF))
        drawn = _choose_models(found, models, level)
        has_anomalies = any(model.anomaly for model in drawn)
        # Anomalies are detected window by window, but drawn as one curve.
        frame = frame.drop(CUTOFF, strict=False) if has_anomalies else frame
        answered = frame[schema.id_col].to_list()
        shown = _choose_series(rows, answered, ids, max_ids)
        columns = [column for model in drawn for column in model.columns]
        columns += [schema.target_col] if schema.target_col in frame.columns else []
        frame = frame.filter([id in shown for id in answered])
        windows = read_windows(frame, columns, schema.id_col, schema.time_col, panel.has_dates, schema.zone)
        may_interpolate = CUTOFF not in frame.columns and not has_anomalies
    plots = [
        SeriesPlot(
            id, panel.stamps[rows[id]], panel.values[rows[id]], windows.get(id, ()), schema.target_col, may_interpolate
        )
        for id in shown
    ]
    if max_history is not None:
        plots = [plot.since(max_history) for plot in plots]
    note = f"{len(plots)} of {len(panel)} series" if len(plots) < len(panel) else ""
    return draw_figure(plots, drawn, schema.zone, note)


def _choose_series(there: dict[Any, int], answered: Iterable[Any], ids: Any, max_ids: int) -> dict[Any, None]:
    """The ids of the series to draw, in order.

    Args:
        there: the ids of all series.
        answered: ids of the predictions.
        ids: the caller's choice.
    """
    common = set(answered) & set(there)
    if not common:
        raise InputError(f"predictions: they have none of the series of df, such as {next(iter(there))!r}")
    if ids is None:
        return dict.fromkeys([id for id in there if id in common][:max_ids])
    is_one = isinstance(ids, str) or not isinstance(ids, Iterable) or (isinstance(ids, tuple) and ids in list(there))
    wanted = dict.fromkeys([ids] if is_one else ids)
    if not wanted:
        raise InputError("ids: give at least one")
    for id in wanted:
        if id not in there:
            raise InputError(f"ids: there is no series {id!r}")
    return wanted


def _choose_models(
    found: dict[str, ModelColumns], names: Sequence[str] | str | None, level: Sequence[float] | float | None
) -> list[ModelColumns]:
    """The models to draw, with the intervals to draw."""
    names = [names] if isinstance(names, str) else list(found if names is None else names)
    for name in names:
        if name not in found:
            raise InputError(f"models: there are no predictions of {name!r}, only of {', '.join(map(repr, found))}")
    chosen = [found[name] for name in dict.fromkeys(names)]
    if level is not None:
        levels = {per_cent(x) for x in np.atleast_1d(level)}
        there = sorted({x for model in chosen for x in model.bands})
        for x in sorted(levels.difference(there)):
            has = ", ".join(f"{x:.12g}" for x in there) or "none"
            raise InputError(f"level: there is no interval of {x:.12g} per cent; there are {has}")
        for model in chosen:
            model.keep_bands(levels)
    return chosen
