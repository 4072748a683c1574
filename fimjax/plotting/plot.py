"""Series and a forecaster's answers as a picture."""

import importlib.util
import numbers
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fimjax.errors import InputError
from fimjax.frames.forecasts import Model, find_models, open_answers, per_cent, read_windows
from fimjax.frames.inputs import read_panel
from fimjax.frames.tables import CUTOFF
from fimjax.plotting.series_plot import Pane

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot(
    df: Any,
    answers: Any = None,
    *,
    ids: Iterable[Any] | None = None,
    max_ids: int = 8,
    level: Sequence[float] | float | None = None,
    max_history: int | None = None,
    models: Sequence[str] | str | None = None,
    id_col: str = "unique_id",
    time_col: str = "ds",
    target_col: str = "y",
) -> "Figure":
    """Draws series, and what a forecaster answered for them.

    What the answers are is told by their columns: `FIM-anomaly` marks anomalies, `cutoff` makes them a backtest, the
    values of the history beside them an interpolation; else they are forecasts, or answers at any times. Several models
    may share a frame, each with a point `X` and quantiles `X-lo-80`, `X-hi-80` or `X-q-10`.

    Args:
        df: the series as the forecaster takes them: a long frame of pandas or polars, or arrays.
        answers: what the forecaster answered, as a frame of pandas or polars; None to draw the series alone.
        ids: the series to draw, however many; by default the first `max_ids`, of those that have answers.
        level: which of the answers' intervals to draw, in per cent; all by default.
        max_history: how many points of each history to draw, counted from its end; all by default.
        models: whose answers to draw, by name; by default every column of numbers is taken for a model's.

    Returns:
        A figure that no state of pyplot knows of: it shows itself in notebooks, and `savefig` writes it to a file.

    Raises:
        InputError: what is wrong with the input.
        ImportError: matplotlib is not installed.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise ImportError("plotting needs matplotlib: pip install 'fimjax[plot]'")
    from fimjax.plotting.drawing import draw_panes

    for name, count in (("max_ids", max_ids), ("max_history", max_history)):
        if count is not None and (isinstance(count, bool) or not isinstance(count, numbers.Integral) or count < 1):
            raise InputError(f"{name}={count!r}: at least one must be drawn")
    panel, kind = read_panel(df, id_col, time_col, target_col)
    rows = {id: i for i, id in enumerate(panel.ids)}

    if answers is None:
        shown, drawn, windows, smooths = choose_series(rows, rows, ids, max_ids), [], {}, False
    else:
        frame = open_answers(answers, kind.id_col, kind.time_col)
        found = find_models(frame, (kind.id_col, kind.time_col, kind.target_col, CUTOFF))
        drawn = choose_models(found, models, level)
        judged = any(model.anomaly for model in drawn)
        # What was judged piece by piece is drawn as one.
        frame = frame.drop(CUTOFF, strict=False) if judged else frame
        answered = frame[kind.id_col].to_list()
        shown = choose_series(rows, answered, ids, max_ids)
        columns = [column for model in drawn for column in model.columns]
        columns += [kind.target_col] if kind.target_col in frame.columns else []
        frame = frame.filter([id in shown for id in answered])
        dates = panel.stamps[0].dtype.kind == "M"
        windows = read_windows(frame, columns, kind.id_col, kind.time_col, dates, kind.zone)
        smooths = CUTOFF not in frame.columns and not judged
    panes = [
        Pane(id, panel.stamps[rows[id]], panel.values[rows[id]], windows.get(id, ()), kind.target_col, smooths)
        for id in shown
    ]
    if max_history is not None:
        panes = [pane.since(max_history) for pane in panes]
    note = f"{len(panes)} of {len(panel)} series" if len(panes) < len(panel) else ""
    return draw_panes(panes, drawn, kind.zone, note)


def choose_series(there: dict[Any, int], answered: Iterable[Any], ids: Any, max_ids: int) -> dict[Any, None]:
    """The ids of the series to draw, in order.

    Args:
        there: the ids of all series.
        answered: ids that there are answers for.
        ids: what the caller wants to see.
    """
    common = set(answered) & set(there)
    if not common:
        raise InputError(f"answers: none is for a series of df, which has {next(iter(there))!r}")
    if ids is None:
        return dict.fromkeys([id for id in there if id in common][:max_ids])
    is_one = isinstance(ids, str) or not isinstance(ids, Iterable) or (isinstance(ids, tuple) and ids in list(there))
    wanted = dict.fromkeys([ids] if is_one else ids)
    if not wanted:
        raise InputError("ids: at least one must be drawn")
    for id in wanted:
        if id not in there:
            raise InputError(f"ids: there is no series {id!r}")
    return wanted


def choose_models(
    found: dict[str, Model], names: Sequence[str] | str | None, level: Sequence[float] | float | None
) -> list[Model]:
    """The models to draw, with the intervals to draw."""
    names = [names] if isinstance(names, str) else list(found if names is None else names)
    for name in names:
        if name not in found:
            raise InputError(f"models: there are no answers of {name!r}, only of {', '.join(map(repr, found))}")
    chosen = [found[name] for name in dict.fromkeys(names)]
    if level is not None:
        levels = {per_cent(x) for x in np.atleast_1d(level)}
        there = sorted({x for model in chosen for x in model.bands})
        for x in sorted(levels.difference(there)):
            has = ", ".join(f"{x:.12g}" for x in there) or "none"
            raise InputError(f"level: the answers have no interval of {x:.12g} per cent; they have {has}")
        for model in chosen:
            model.keep_bands(levels)
    return chosen
