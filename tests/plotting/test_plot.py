"""What is drawn of each kind of answer."""

import pickle

import numpy as np
import pandas as pd
import polars
import pytest
from matplotlib import colors, rcParams
from matplotlib.collections import LineCollection
from matplotlib.dates import date2num

from fimjax.errors import InputError
from fimjax.plotting.plot import plot
from tests.plotting.drawn import (
    H,
    N,
    backtest,
    bands,
    forecast,
    legend,
    line,
    lines,
    series,
    spans,
    ticks,
    with_levels,
)


def test_a_forecast_is_a_line_with_nested_intervals():
    df = series()
    predictions = forecast(df)
    figure = plot(df, predictions)
    (axis,) = figure.axes
    assert axis.get_title(loc="left") == "a"
    np.testing.assert_array_equal(line(axis, "observed"), [date2num(df["ds"]), df["y"]])
    np.testing.assert_array_equal(line(axis, "FIM"), [date2num(predictions["ds"]), predictions["FIM"]])
    first, last = date2num(predictions["ds"].iloc[[0, -1]])
    assert bands(axis) == [("95 % interval", first, -2, last, 7), ("80 % interval", first, -1, last, 6)]
    assert legend(figure) == ["observed", "FIM", "80 % interval", "95 % interval"]
    figure.draw_without_rendering()


def test_wider_intervals_are_paler():
    figure = plot(series(), forecast(series()))
    narrow, wide = figure.legends[0].get_patches()
    assert narrow.get_alpha() > wide.get_alpha() > 0


def test_quantiles_are_paired_about_the_median():
    df = series()
    quantiles = {2.5: -3.0, 10: -2.0, 50: 0.0, 90: 2.0, 97.5: 3.0, 99: 4.0}
    predictions = forecast(df, levels=())
    predictions = predictions.assign(**{f"FIM-q-{q:g}": predictions["FIM"] + shift for q, shift in quantiles.items()})
    (axis,) = plot(df, predictions).axes
    assert [(label, low) for label, _, low, *_ in bands(axis)] == [("95 % interval", -3), ("80 % interval", -2)]
    np.testing.assert_array_equal(line(axis, "FIM-q-99")[1], predictions["FIM-q-99"])
    assert len(axis.lines) == 3
    (axis,) = plot(df, predictions.drop(columns="FIM")).axes  # the median is as good
    np.testing.assert_array_equal(line(axis, "FIM")[1], predictions["FIM-q-50"])


@pytest.mark.parametrize(
    "low, high",
    [
        ("q-0.0000001", "q-99.9999999"),
        ("q-1e-07", "q-99.9999999"),
        ("lo-99.9999998", "hi-99.9999998"),
    ],
)
def test_quantiles_far_from_the_median(low, high):
    df = series()
    predictions = forecast(df, levels=(95,))
    shifts = {low: -5.0, high: 5.0, "q-0.001": -4.0, "q-99.999": 4.0}
    predictions = predictions.assign(**{f"FIM-{name}": predictions["FIM"] + shift for name, shift in shifts.items()})
    (axis,) = plot(df, predictions).axes
    labels = ["99.9999998 % interval", "99.998 % interval", "95 % interval"]
    assert [(label, least) for label, _, least, *_ in bands(axis)] == list(zip(labels, [-5, -4, -2]))
    (axis,) = plot(df, predictions, level=99.9999998).axes
    assert [label for label, *_ in bands(axis)] == labels[:1]


def test_intervals_of_endless_decimals():
    df = series()
    predictions = forecast(df, levels=(80,)).rename(columns=lambda name: name.replace("-80", "-66.6666666667"))
    (axis,) = plot(df, predictions, level=200 / 3).axes
    assert [label for label, *_ in bands(axis)] == ["66.6666666667 % interval"]


def test_some_intervals_of_those_there_are():
    df = series()
    for level in (80, [80.0]):
        (axis,) = plot(df, forecast(df), level=level).axes
        assert [label for label, *_ in bands(axis)] == ["80 % interval"]
    with pytest.raises(InputError, match="^level: there is no interval of 90 per cent; there are 80, 95$"):
        plot(df, forecast(df), level=[80, 90])


def test_infinite_bounds_are_left_out():
    df = series()
    predictions = forecast(df, levels=(80,))
    predictions.loc[4:, "FIM-hi-80"] = np.inf
    ((_, _, low, last, high),) = bands(plot(df, predictions).axes[0])
    assert (low, last, high) == (-1, date2num(predictions["ds"][3]), 4)


def test_one_step_ahead_is_seen():
    df = series()
    figure = plot(df, forecast(df, h=1))
    (axis,) = figure.axes
    (point,) = lines(axis, "FIM")
    assert point.get_marker() == "." and point.get_markevery() == [0]
    bars = [bar for bar in axis.collections if isinstance(bar, LineCollection)]
    assert [bar.get_segments()[0][:, 1].tolist() for bar in bars] == [[-2, 2], [-1, 1]]


def test_series_alone_need_no_legend():
    figure = plot(series("abc"))
    assert [len(axis.lines) for axis in figure.axes] == [1, 1, 1]
    assert not figure.legends


def test_a_backtest_has_a_window_after_each_cut_off():
    df = series("ab")
    figure = plot(df, backtest(df, h=12))  # windows overlap
    for axis in figure.axes:
        windows = lines(axis, "FIM")
        assert [window.get_ydata()[0] for window in windows] == [10, 20, 30]
        np.testing.assert_array_equal(windows[1].get_xdata(), date2num(df["ds"].iloc[20:32]))
        assert len(bands(axis)) == 6
        cuts = lines(axis, "cut-off")
        assert [cut.get_xdata()[0] for cut in cuts] == date2num(df["ds"].iloc[[9, 19, 29]]).tolist()
        assert all(cut.is_dashed() for cut in cuts)
        assert len(line(axis, "observed")[0]) == N
    assert legend(figure) == ["observed", "FIM", "80 % interval", "95 % interval", "cut-off"]


def test_an_interpolation_has_dots_and_shaded_gaps():
    full = series()
    missing = [0, 1, 5, 10, 11, 12, 38, 39]
    predictions = with_levels(full.assign(y=full["y"].mask(full.index.isin(missing))), levels=(95,))
    for df in (predictions[["unique_id", "ds", "y"]], full.drop(index=missing)):  # missing as NaN, or without a row
        figure = plot(df, predictions)
        (axis,) = figure.axes
        (dots,) = lines(axis, "observed")
        assert dots.get_linestyle() == "None" and dots.get_marker() == "."
        assert np.isfinite(dots.get_ydata()).sum() == N - len(missing)
        x = date2num(full["ds"])
        assert spans(axis) == [(x[4], x[6]), (x[9], x[13])]
        assert len(line(axis, "FIM")[0]) == N
        assert legend(figure) == ["observed", "FIM", "95 % interval", "gap"]


def test_a_curve_between_observations_has_no_gaps():
    t = np.arange(0, 10, 0.25)
    y = np.where(t % 1 == 0, t, np.nan)
    predictions = pd.DataFrame({"unique_id": 0, "ds": t, "y": y, "FIM": t})
    (axis,) = plot((np.arange(10.0), np.arange(10.0)), predictions).axes
    assert not spans(axis)


def test_values_of_a_test_go_on_with_the_history():
    df = series()
    predictions = forecast(df).assign(y=7.0)
    (axis,) = plot(df, predictions).axes
    stamps, values = line(axis, "observed")
    np.testing.assert_array_equal(stamps, date2num(pd.concat([df["ds"], predictions["ds"]])))
    np.testing.assert_array_equal(values[N:], 7)


@pytest.mark.parametrize("has_values", [True, False])
@pytest.mark.parametrize("kind", ["pandas", "objects", "polars"])
def test_exactly_the_anomalies_are_marked(kind, has_values):
    df = series("ab")
    flags = np.zeros(2 * N, bool)
    flags[[3, 17, N + 30]] = True
    # Each was judged by a forecast of a few steps, but they are drawn as one.
    predictions = with_levels(df, levels=(95,)).assign(**{"FIM-anomaly": flags}, cutoff=df["ds"].shift(1))
    predictions = predictions if has_values else predictions.drop(columns="y")
    if kind == "objects":
        predictions["FIM-anomaly"] = np.where(np.arange(2 * N) == 5, None, flags)
    figure = plot(df, polars.from_pandas(predictions) if kind == "polars" else predictions)
    a, b = figure.axes
    x = date2num(df["ds"])
    np.testing.assert_array_equal(line(a, "anomaly"), [x[[3, 17]], [3, 17]])
    np.testing.assert_array_equal(line(b, "anomaly"), [x[[30]], [130]])
    red, green, blue = colors.to_rgb(lines(a, "anomaly")[0].get_color())
    assert red > 2 * max(green, blue)
    assert lines(a, "observed")[0].get_linestyle() == "-"
    assert len(line(a, "FIM")[0]) == N
    assert legend(figure) == ["observed", "FIM", "95 % interval", "anomaly"]


def test_answers_at_any_time_and_in_any_order():
    predictions = pd.DataFrame({"unique_id": 0, "ds": [11.5, 2.5, -1.0], "FIM": [3.0, 2.0, 1.0]})
    (axis,) = plot([1.0, 2.0, 4.0] * 4, predictions).axes
    np.testing.assert_array_equal(line(axis, "FIM"), [[-1, 2.5, 11.5], [1, 2, 3]])
    low, high = axis.get_xlim()
    assert low < -1 and high > 11.5


def test_several_models():
    df = series()
    predictions = with_levels(forecast(df), model="AutoETS", levels=(80,), shift=5).assign(remark="text")
    figure = plot(df, predictions)
    (axis,) = figure.axes
    assert legend(figure) == ["observed", "FIM", "FIM 80 %", "FIM 95 %", "AutoETS", "AutoETS 80 %"]
    assert lines(axis, "FIM")[0].get_color() != lines(axis, "AutoETS")[0].get_color()
    assert len(bands(axis)) == 3
    assert legend(plot(df, predictions, models="AutoETS")) == ["observed", "AutoETS", "80 % interval"]
    with pytest.raises(InputError, match="^models: there are no predictions of 'ETS', only of 'FIM', 'AutoETS'$"):
        plot(df, predictions, models=["ETS"])


def test_the_end_of_the_history():
    df = series("ab")
    df.loc[N - 2, "y"] = np.nan
    for axis in plot(df, forecast(df), max_history=5).axes:
        stamps, values = line(axis, "observed")
        assert np.isfinite(values).sum() == 5 and stamps[0] == date2num(df["ds"].iloc[N - 6])
        assert len(line(axis, "FIM")[0]) == H
    (axis,) = plot(series(), backtest(series()), max_history=15).axes
    assert [len(window.get_xdata()) for window in lines(axis, "FIM")] == [3, 8]
    assert [cut.get_xdata()[0] for cut in lines(axis, "cut-off")] == [date2num(df["ds"].iloc[29])]
    assert len(line(plot(df, max_history=500).axes[0], "observed")[0]) == N


def test_whole_numbers_stay_whole():
    figure = plot([1.0, 2.0, 5.0])
    assert ticks(figure, figure.axes[0])[1:-1] == ["0", "1", "2"]  # the others are out of sight


def test_points_between_missing_ones_are_seen():
    (axis,) = plot([1.0, 2.0, np.nan, 3.0, np.nan, 4.0]).axes
    assert lines(axis, "observed")[0].get_markevery() == [3, 5]


def test_figures_show_themselves_and_leave_no_trace():
    before = dict(rcParams)
    figure = pickle.loads(pickle.dumps(plot([1.0, 2.0])))
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert dict(rcParams) == before
    assert figure.canvas.manager is None  # pyplot would have given it one, and kept it


def test_long_numbers_are_short():
    figure = plot([-2e6, 0.0, 1.5e6])
    figure.draw_without_rendering()
    assert {"−2M", "0", "1M"} <= {text.get_text() for text in figure.axes[0].get_yticklabels()}
