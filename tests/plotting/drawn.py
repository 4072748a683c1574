"""Series and predictions to draw, and what a figure shows of them."""

import numpy as np
import pandas as pd
from matplotlib.collections import PolyCollection
from matplotlib.patches import Rectangle

N, H = 40, 6
WIDTHS = {80: 1.0, 95: 2.0}


def series(ids=("a",), n=N, start="2020-01-31", freq="ME"):
    stamps = pd.date_range(start, periods=n, freq=freq)
    return pd.concat(
        [pd.DataFrame({"unique_id": id, "ds": stamps, "y": np.arange(n) + 100.0 * i}) for i, id in enumerate(ids)]
    )


def with_levels(df, model="FIM", levels=(80, 95), shift=0.0):
    """Adds a model's predictions at the rows of a frame."""
    point = np.arange(len(df)) + shift
    bounds = {}
    for level in levels:
        bounds |= {f"{model}-lo-{level}": point - WIDTHS[level], f"{model}-hi-{level}": point + WIDTHS[level]}
    return df.assign(**{model: point}, **bounds)


def forecast(df, h=H, freq="ME", **options):
    ends = df.groupby("unique_id", sort=False)["ds"].max()
    parts = [
        pd.DataFrame({"unique_id": id, "ds": pd.date_range(end, periods=h + 1, freq=freq)[1:]})
        for id, end in ends.items()
    ]
    return with_levels(pd.concat(parts, ignore_index=True), **options)


def lines(axis, label):
    return [line for line in axis.lines if line.get_label() == label]


def line(axis, label):
    (found,) = lines(axis, label)
    return np.asarray(found.get_xdata(), float), np.asarray(found.get_ydata(), float)


def bands(axis):
    """Label, times from and to, and lowest and highest value of each shaded interval."""
    found = []
    for band in axis.collections:
        if isinstance(band, PolyCollection):
            corners = np.concatenate([path.vertices for path in band.get_paths()])
            found.append((band.get_label(), *corners.min(axis=0), *corners.max(axis=0)))
    return found


def spans(axis):
    boxes = [p for p in axis.patches if isinstance(p, Rectangle) and p.get_label() == "gap"]
    return [(box.get_x(), box.get_x() + box.get_width()) for box in boxes]


def legend(figure):
    assert not any(axis.get_legend() for axis in figure.axes)
    return [text.get_text() for found in figure.legends for text in found.get_texts()]


def ticks(figure, axis):
    figure.draw_without_rendering()
    return [text.get_text() for text in axis.get_xticklabels()]


def backtest(df, steps=(10, 20, 30), h=8):
    parts = []
    for _, rows in df.groupby("unique_id", sort=False):
        for step in steps:
            part = with_levels(rows.iloc[step : step + h], shift=step)
            parts.append(part.assign(cutoff=rows["ds"].iloc[step - 1]))
    return pd.concat(parts)
