"""Figures drawn with matplotlib, without pyplot and its global state."""

import io
import zoneinfo
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import Formatter, FuncFormatter, MaxNLocator

from fimjax.frames.calendars import Zone
from fimjax.plotting.predictions import ModelColumns
from fimjax.plotting.series_plot import SeriesPlot

INK, FAINT, RULE, GAP, ALARM = "#1f2328", "#6e7781", "#e4e8ec", "#eceff2", "#c8102e"
# After Okabe and Ito: distinguishable with any colour vision, by lightness if not by hue.
HUES = ("#0072b2", "#d55e00", "#009e73", "#aa3377", "#c99700", "#5ab4e6", "#7a5c3e", "#444b54")
DOTS: dict[str, Any] = dict(color=INK, ls="none", marker=".", ms=4.5, mew=0)
WIDTH, ONE, ROW = 9.0, 3.6, 2.35
"""Inches: width of a figure, height of a single series, and of a row of series."""
FEW = 150
"""Most points of a series with uneven times that are marked one by one."""


class Picture(Figure):
    """A figure that notebooks show even if pyplot, which registers figures, was never imported."""

    def _repr_png_(self) -> bytes:
        with io.BytesIO() as buffer:
            self.savefig(buffer, format="png")
            return buffer.getvalue()


def draw_figure(plots: Sequence[SeriesPlot], models: Sequence[ModelColumns], zone: Zone, note: str = "") -> Figure:
    """Draws series side by side.

    Args:
        zone: the time zone whose clocks the time axes show.
        note: text below all series.
    """
    columns = min(2, len(plots))
    rows = -(-len(plots) // columns)
    figure = Picture(figsize=(WIDTH, 0.5 + (ONE if columns == 1 else ROW * rows)), facecolor="white", dpi=100)
    figure.set_layout_engine("constrained", w_pad=0.08, h_pad=0.06, hspace=0.03, wspace=0.02)
    hues = {model.name: HUES[i % len(HUES)] for i, model in enumerate(models)}
    legend: dict[str, Artist] = {}
    for i, plot in enumerate(plots):
        axis = figure.add_subplot(rows, columns, i + 1, facecolor="white")
        _set_axes(axis, plot, zone)
        legend = _draw_series(axis, plot, models, hues) | legend
    _draw_legend(figure, legend)
    if note:
        figure.supxlabel(note, x=0.99, ha="right", size=8, color=FAINT)
    return figure


def _set_axes(axis: Axes, plot: SeriesPlot, zone: Zone) -> None:
    """Sets the title, the grid, and the axes of times and values."""
    title = plot.id if isinstance(plot.id, str) else f"series {plot.id}"
    title = title if len(title) <= 48 else f"{title[:47]}…"
    axis.set_title(title, loc="left", size=9.5, color=INK, weight="bold", parse_math=False)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.spines["bottom"].set_color(FAINT)
    axis.grid(axis="y", color=RULE, lw=0.7)
    axis.set_axisbelow(True)
    axis.tick_params(which="both", length=0, labelsize=8.5, labelcolor=FAINT, pad=4)
    axis.yaxis.set_major_locator(MaxNLocator(6, steps=(1, 2, 2.5, 5, 10)))
    axis.yaxis.set_major_formatter(ShortNumbers())

    parts = [plot.stamps, *(window.stamps for window in plot.windows)]
    ends = np.array([f(x) for x in map(_to_axis, parts) for f in (np.min, np.max)])
    pad = 0.02 * np.ptp(ends) or 1.0
    axis.set_xlim(ends.min() - pad, ends.max() + pad)
    if plot.stamps.dtype.kind == "M":
        clock = zoneinfo.ZoneInfo(zone) if isinstance(zone, str) else zone
        axis.xaxis_date(clock)
        axis.tick_params(axis="x", length=3, color=FAINT)
        locator = AutoDateLocator(tz=clock, minticks=3, maxticks=8)
        axis.xaxis.set_major_locator(locator)
        axis.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=clock))
        axis.xaxis.get_offset_text().set(size=8.5, color=FAINT)
    else:
        whole = all(x.dtype.kind == "i" for x in parts)
        axis.xaxis.set_major_locator(MaxNLocator(8, integer=whole, min_n_ticks=1))
        axis.xaxis.set_major_formatter(FuncFormatter(_tick_label))


def _to_axis(stamps: np.ndarray) -> np.ndarray:
    """Times in the units of matplotlib: dates in days."""
    return date2num(stamps) if stamps.dtype.kind == "M" else stamps


class ShortNumbers(Formatter):
    """Ticks in thousands, millions or billions if they are long, each complete in itself."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        assert self.axis is not None
        largest = max(map(abs, self.axis.get_view_interval()))
        sizes = ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e5, 1e3, "k"))
        unit, letter = next(((unit, letter) for least, unit, letter in sizes if largest >= least), (1, ""))
        return f"{x / unit:,.12g}{letter if x else ''}".replace("-", "−")


def _tick_label(x: float, pos: int | None = None) -> str:
    """A complete tick label, without an offset."""
    return f"{x:.12g}".replace("-", "−")


def _draw_series(
    axis: Axes, plot: SeriesPlot, models: Sequence[ModelColumns], hues: dict[str, str]
) -> dict[str, Artist]:
    """Draws one series with its predictions.

    Returns:
        The entries of the legend, by label.
    """
    legend: dict[str, Artist] = {}
    stamps, values = plot.observed()
    if plot.is_interpolation:
        axis.plot(_to_axis(stamps), values, zorder=3, label="observed", **DOTS)
        legend["observed"] = Line2D([], [], **DOTS)
    else:
        _draw_line(axis, stamps, values, INK, 1.1, zorder=3, label="observed")
        legend["observed"] = Line2D([], [], color=INK, lw=1.1)
    if not np.isfinite(values).any():
        axis.text(0.5, 0.5, "no observation", transform=axis.transAxes, ha="center", color=FAINT, size=9)
    for model in models:
        legend |= _draw_predictions(axis, plot, model, hues[model.name], alone=len(models) == 1)
    for gap in plot.gaps():
        axis.axvspan(*_to_axis(np.array(gap)), facecolor=GAP, lw=0, zorder=0, label="gap")
        legend["gap"] = Patch(facecolor=GAP, lw=0)
    for window in plot.windows:
        if window.cutoff is not None:
            where = _to_axis(np.array([window.cutoff]))[0]
            legend["cut-off"] = axis.axvline(where, color=FAINT, lw=0.9, ls=(0, (4, 3)), zorder=1.5, label="cut-off")
    for model in models:
        stamps, values = plot.flagged(model)
        if len(stamps):
            (legend["anomaly"],) = axis.plot(
                _to_axis(stamps), values, "o", color=ALARM, ms=5.5, mec="white", mew=0.8, zorder=5, label="anomaly"
            )
    return legend


def _draw_predictions(axis: Axes, plot: SeriesPlot, model: ModelColumns, hue: str, alone: bool) -> dict[str, Artist]:
    """Draws a model's intervals, its single quantiles, and its point forecast on top."""
    legend: dict[str, Artist] = {}
    bands = model.bands
    # Bands overlap; `depth` is the opacity where all do. Bands of several models must not hide each other.
    depth = min(0.5, 0.14 + 0.12 * len(bands)) * (1.0 if alone else 0.75)
    alpha = 1 - (1 - depth) ** (1 / max(1, len(bands)))
    for window in plot.windows:
        x = _to_axis(window.stamps)
        if model.point is not None:
            _draw_line(axis, window.stamps, window.columns[model.point], hue, 1.9, zorder=2, label=model.name)
            legend[model.name] = Line2D([], [], color=hue, lw=1.9)
        for column in model.single:
            style: dict[str, Any] = dict(color=hue, lw=1.0, ls=":", marker="_" if len(x) == 1 else None)
            axis.plot(x, window.columns[column], zorder=2, label=column, **style)
            legend[column] = Line2D([], [], **style)
        for i, (level, bounds) in enumerate(bands.items()):
            label = f"{level:.12g} % interval" if alone else f"{model.name} {level:.12g} %"
            low, high = (window.columns[bound] for bound in bounds)
            if len(x) > 1:
                axis.fill_between(x, low, high, color=hue, alpha=alpha, lw=0, zorder=1, label=label)
            else:
                axis.vlines(x, low, high, color=hue, alpha=alpha, lw=5, zorder=1, label=label)
            legend[label] = Patch(facecolor=hue, alpha=1 - (1 - alpha) ** (i + 1), lw=0)
    order = [model.name, *(key for key in reversed(legend) if key != model.name)]
    return {key: legend[key] for key in order if key in legend}


def _draw_line(axis: Axes, stamps: np.ndarray, values: np.ndarray, color: str, width: float, **options: Any) -> None:
    """Draws a line with breaks at missing values, and dots at values without neighbours or at uneven times."""
    x = _to_axis(stamps)
    seen = np.concatenate([[False], np.isfinite(values), [False]])
    lone = np.flatnonzero(seen[1:-1] & ~seen[:-2] & ~seen[2:])
    steps = np.diff(x)
    uneven = 2 < len(x) <= FEW and steps.max() > 2 * steps.min()
    style: dict[str, Any] = dict(marker=".", ms=2.5 + 2.5 * width, mew=0, markevery=None if uneven else lone.tolist())
    axis.plot(x, values, color=color, lw=width, solid_joinstyle="round", **style, **options)


def _draw_legend(figure: Figure, legend: dict[str, Artist]) -> None:
    """Draws one legend above all series, if it has more than one entry."""
    if len(legend) < 2:
        return
    letters = sum(len(label) + 7 for label in legend)
    rows = -(-letters // 135)  # so many letters fit side by side
    drawn = figure.legend(
        list(legend.values()),
        [str(i) for i in range(len(legend))],
        loc="outside upper right",
        ncols=-(-len(legend) // rows),
        frameon=False,
        fontsize=8.5,
        labelcolor=INK,
        handlelength=1.6,
        columnspacing=1.4,
        borderpad=0.1,
    )
    # Afterwards, because matplotlib ignores labels that begin with an underscore.
    for text, label in zip(drawn.get_texts(), legend):
        text.set(text=label, parse_math=False)
