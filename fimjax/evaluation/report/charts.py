"""The report's charts as SVG text; they follow the light or dark theme of the reader."""

import dataclasses
import io
import math
import re

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from matplotlib.transforms import Bbox

from fimjax.evaluation.forecasts import interval_indices

THEME = {
    "ink": ("#1f2328", "#e6edf3"),
    "faint": ("#6e7781", "#8d96a0"),
    "rule": ("#d8dee4", "#363c44"),
    # After Okabe and Ito: distinguishable with any colour vision.
    "c0": ("#0072b2", "#4ba3e3"),
    "c1": ("#d55e00", "#ff8a3d"),
    "c2": ("#009e73", "#2fc79a"),
    "c3": ("#aa3377", "#e27bb8"),
    "c4": ("#c99700", "#f2cc4d"),
    "c5": ("#5ab4e6", "#a5dcff"),
    "c6": ("#7a5c3e", "#c5a47e"),
    "c7": ("#444b54", "#c3cad1"),
}
"""Each colour on a light and on a dark page. Charts use the light ones; `to_svg` replaces them by CSS variables."""

INK, FAINT, RULE = (THEME[name][0] for name in ("ink", "faint", "rule"))
HUES = sum(name[0] == "c" for name in THEME)
DASHES, MARKERS = ("solid", "dashed", "dotted"), "osD^vPX*"

WIDE, HALF, SMALL = (8.4, 4.5), (5.0, 3.6), (2.8, 2.0)
"""Figure sizes in inches."""

ROUND = (1, 2, 2.5, 5, 10)
"""Distances between ticks, times a power of ten."""


@dataclasses.dataclass(frozen=True)
class LineStyle:
    """Line style of one model in all charts."""

    variable: str
    dash: str
    marker: str

    @property
    def color(self) -> str:
        return THEME[self.variable][0]


def choose_styles(models: list[str]) -> dict[str, LineStyle]:
    """Chooses a style for each model; they differ for up to 24 models."""
    styles = {}
    for i, model in enumerate(models):
        turn, hue = divmod(i, HUES)
        styles[model] = LineStyle(f"c{hue}", DASHES[turn % len(DASHES)], MARKERS[(i + 3 * turn) % len(MARKERS)])
    return styles


def theme_css() -> str:
    """The theme as CSS variables."""
    light, dark = (";".join(f"--{name}:{pair[i]}" for name, pair in THEME.items()) for i in (0, 1))
    return f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"


def to_svg(figure: Figure) -> str:
    """Converts a figure to SVG text without metadata, with the theme's CSS variables and the reader's font."""
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "fimjax"}), io.StringIO() as buffer:
        figure.savefig(buffer, format="svg", metadata={"Date": None})
        svg = buffer.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->|^.*?(?=<svg)", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", svg)
    svg = re.sub(r"\n\s*", "\n", svg)
    for name, (light, _) in THEME.items():
        svg = svg.replace(light, f"var(--{name})")
    style = theme_css() + "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"
    return re.sub(r"(<svg[^>]*>)", lambda match: f"{match[1]}<style>{style}</style>", svg, count=1)


def _new_axes(size: tuple[float, float], font: float = 9) -> tuple[Figure, Axes]:
    """Creates an empty chart without a box, with faint horizontal lines."""
    figure = Figure(figsize=size, facecolor="none", layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.add_subplot(facecolor="none")
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.spines["bottom"].set_color(FAINT)
    axis.grid(axis="y", color=RULE, lw=0.7)
    axis.set_axisbelow(True)
    axis.tick_params(which="both", length=0, labelsize=font, labelcolor=FAINT, pad=4)
    axis.xaxis.label.set(color=INK, size=font)
    axis.yaxis.label.set(color=INK, size=font)
    return figure, axis


def draw_accuracy_against_time(points: pd.DataFrame, styles: dict[str, LineStyle], y_label: str) -> str:
    """Draws one labelled point a model, and the Pareto front.

    Args:
        points: `seconds` per 1000 series, `score` and the `label` of each model, which is the index.
    """
    figure, axis = _new_axes(WIDE)
    axis.set(xscale="log", xlabel="processor seconds per 1000 series (log scale)", ylabel=y_label)
    if points["score"].max() > 4 * points["score"].min():
        axis.set(yscale="log", ylabel=f"{y_label} (log scale)")
    for model, point in points.iterrows():
        axis.plot(point["seconds"], point["score"], styles[model].marker, color=styles[model].color, ms=8)
    low, high = points["seconds"].min() / 2.5, points["seconds"].max() * 2.5
    axis.set_xlim(low, high)
    axis.margins(y=0.15)
    for scale, decades in ((axis.xaxis, math.log10(high / low)), (axis.yaxis, 0)):
        if scale.get_scale() == "log":
            scale.set_major_locator(LogLocator(subs=(1.0,) if decades > 2.5 else (1.0, 2.0, 5.0)))
            scale.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}" if x >= 1 else f"{x:g}"))
            scale.set_minor_formatter(NullFormatter())
    axis.grid(axis="x", color=RULE, lw=0.7)
    if axis.get_ylim()[0] < 1 < axis.get_ylim()[1]:
        axis.axhline(1, color=FAINT, lw=1, zorder=1)
    by_time = points.sort_values(["seconds", "score"])
    front = by_time[by_time["score"] <= by_time["score"].cummin()]
    corners = np.repeat(front[["seconds", "score"]].to_numpy(), 2, axis=0)
    corners[:-1, 0], corners[-1, 0] = corners[1:, 0], high
    axis.plot(*corners.T, color=FAINT, lw=1, ls=":", zorder=1)
    _place_labels(figure, axis, points, [styles[model].color for model in points.index], corners)
    return to_svg(figure)


def _place_labels(figure: Figure, axis: Axes, points: pd.DataFrame, colors: list[str], line: np.ndarray) -> None:
    """Writes each label next to its point; avoids labels, points, lines and edges where possible."""
    figure.draw_without_rendering()  # computes the layout and so the positions of the points
    pixels = axis.transData.transform(points[["seconds", "score"]].to_numpy(float))
    unit = figure.dpi / 72
    corners = axis.transData.transform(line)
    taken = [Bbox.from_bounds(x - 5 * unit, y - 5 * unit, 10 * unit, 10 * unit) for x, y in pixels]
    taken += [Bbox([np.minimum(a, b) - unit, np.maximum(a, b) + unit]) for a, b in zip(corners, corners[1:])]
    level = axis.transData.transform((points["seconds"].min(), 1.0))[1]
    taken.append(Bbox([[axis.bbox.x0, level - unit], [axis.bbox.x1, level + unit]]))
    for label, (x, y), color in zip(points["label"], pixels, colors):
        measured = figure.text(0, 0, label, size=9, parse_math=False)
        box = measured.get_window_extent()
        measured.remove()
        best: tuple[float, Bbox, int] | None = None
        for distance in (7, 14, 22, 32, 44):
            for angle in (0, 180, 90, 270, 45, 135, 315, 225):
                dx, dy = (round(f(math.radians(angle)), 6) for f in (math.cos, math.sin))
                # The nearest edge or corner of the box is `distance` from the point.
                left = x + dx * distance * unit + (np.sign(dx) - 1) / 2 * box.width
                bottom = y + dy * distance * unit + (np.sign(dy) - 1) / 2 * box.height
                place = Bbox.from_bounds(left, bottom, box.width, box.height)
                cost = sum(_overlap(place, other) for other in taken)
                cost += box.width * box.height - _overlap(place, axis.bbox)
                if best is None or cost < best[0] - 1:
                    best = (cost, place, distance)
        assert best is not None
        _, place, distance = best
        taken.append(place)
        leader = dict(arrowstyle="-", color=FAINT, lw=0.6, shrinkA=1, shrinkB=5) if distance > 14 else None
        offset = ((place.x0 - x) / unit, (place.y0 - y) / unit)
        text = axis.annotate(
            label,
            tuple(axis.transData.inverted().transform((x, y))),
            offset,
            textcoords="offset points",
            size=9,
            va="bottom",
            color=color,
            parse_math=False,
            arrowprops=leader,
        )
        text.set_in_layout(False)


def _overlap(one: Bbox, other: Bbox) -> float:
    """Area of the intersection of two boxes."""
    common = Bbox.intersection(one, other)
    return 0.0 if common is None else common.width * common.height


def draw_coverage(coverages: pd.DataFrame, styles: dict[str, LineStyle], bold: str | None, difference: bool) -> str:
    """Draws one line per model: coverage of its intervals, or coverage minus the nominal level.

    Args:
        coverages: from 0 to 1; a row per model, a column per interval's nominal per cent.
        bold: the model with the thicker line.
    """
    figure, axis = _new_axes(HALF)
    nominal = np.array(coverages.columns, float)
    axis.set(xlabel="nominal level (%)", xticks=nominal, xlim=(nominal.min() - 4, nominal.max() + 4))
    axis.set_ylabel("coverage minus nominal (points)" if difference else "coverage (%)")
    if difference:
        axis.axhline(0, color=FAINT, lw=1.2)
    else:
        axis.plot([0, 100], [0, 100], color=FAINT, lw=1.2)
        axis.set(ylim=(-3, 103), yticks=nominal)
    for model, row in coverages.iterrows():
        y = 100 * row.to_numpy(float) - (nominal if difference else 0)
        _draw_line(axis, nominal, y, styles[model], model == bold, markers=True)
    return to_svg(figure)


def _draw_line(axis: Axes, x: np.ndarray, y: np.ndarray, style: LineStyle, bold: bool, markers: bool) -> None:
    width, size, order = (2.4, 5, 3) if bold else (1.3, 4, 2)
    marker = style.marker if markers else None
    axis.plot(x, y, color=style.color, ls=style.dash, marker=marker, lw=width, ms=size, zorder=order)


def draw_step_errors(errors: dict[str, np.ndarray], styles: dict[str, LineStyle], bold: str | None) -> str:
    """Draws one line per model: its error [h] at each step of the horizon."""
    figure, axis = _new_axes(SMALL, font=8.5)
    for model, error in errors.items():
        _draw_line(axis, np.arange(1, len(error) + 1), error, styles[model], model == bold, markers=len(error) == 1)
    axis.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    axis.yaxis.set_major_locator(MaxNLocator(5, steps=ROUND))
    axis.set_xlim(0.5, max(map(len, errors.values())) + 0.5)
    axis.set_ylim(bottom=0)
    return to_svg(figure)


def draw_forecast(
    history: np.ndarray, future: np.ndarray, point: np.ndarray, quantiles: np.ndarray, style: LineStyle
) -> str:
    """Draws the end of a history, the actual values, the point forecast, and the 80 % and 95 % intervals.

    Args:
        history: [T].
        future: [h].
        point: [h].
        quantiles: [h, L], at LEVELS.
    """
    figure, axis = _new_axes(SMALL, font=8.5)
    steps = np.arange(1, len(future) + 1)
    for interval, alpha in ((95, 0.15), (80, 0.25)):
        lower, upper = interval_indices(interval)
        axis.fill_between(steps, quantiles[:, lower], quantiles[:, upper], color=style.color, alpha=alpha, lw=0)
    axis.axvline(0.5, color=FAINT, lw=0.8, ls=":")
    axis.plot(np.arange(1 - len(history), 1), history, color=FAINT, lw=1.1)
    axis.plot(np.arange(len(future) + 1), [history[-1], *future], color=INK, lw=1.3)
    axis.plot(steps, point, color=style.color, lw=1.9)
    axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axis.yaxis.set_major_locator(MaxNLocator(5, steps=ROUND))
    axis.yaxis.set_major_formatter(_short_numbers(max(map(abs, axis.get_ylim()))))
    return to_svg(figure)


def _short_numbers(largest: float) -> FuncFormatter:
    """Formats large ticks in thousands (k), millions (M) or billions (G)."""
    sizes = ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e5, 1e3, "k"))
    unit, letter = next(((unit, letter) for least, unit, letter in sizes if largest >= least), (1, ""))
    return FuncFormatter(lambda x, _: f"{x / unit:,.12g}{letter if x else ''}".replace("-", "−"))
