"""Which series and frames can be drawn, and which cannot."""

import datetime
import importlib.util
import sys

import numpy as np
import pandas as pd
import polars
import pytest
from matplotlib.dates import date2num, num2date

from fimjax.errors import InputError
from fimjax.plotting.plot import plot
from tests.plotting.drawn import (
    H,
    N,
    forecast,
    legend,
    line,
    lines,
    series,
    ticks,
)


def test_several_series_in_two_columns():
    df = series("abcdefghijk")
    predictions = forecast(df)
    figure = plot(df, predictions, max_ids=5)
    assert [axis.get_title(loc="left") for axis in figure.axes] == list("abcde")
    assert figure.axes[0].get_gridspec().get_geometry() == (3, 2)
    assert figure.get_supxlabel() == "5 of 11 series"
    for i, axis in enumerate(figure.axes):
        np.testing.assert_array_equal(line(axis, "observed")[1], np.arange(N) + 100 * i)
        np.testing.assert_array_equal(line(axis, "FIM")[1], np.arange(H) + H * i)
    assert len(legend(figure)) == 4
    assert len(plot(df, predictions).axes) == 8
    assert plot(series("ab"), predictions).get_supxlabel() == ""


def test_chosen_series_come_in_the_chosen_order():
    df = series("abcd")
    titles = lambda **options: [axis.get_title(loc="left") for axis in plot(df, forecast(df), **options).axes]
    assert titles(ids=["d", "b"]) == ["d", "b"]
    assert titles(ids="c") == ["c"]
    assert titles(ids=np.array(["b", "a", "c"]), max_ids=2) == ["b", "a", "c"]


def test_ids_that_spell_alike_are_not_the_same():
    df = series([1, "1", "1 (str)"])
    predictions = forecast(df, levels=())
    for found in (predictions, predictions.assign(cutoff=pd.Timestamp("2023-04-30"))):
        figure = plot(df, found)
        assert [axis.get_title(loc="left") for axis in figure.axes] == ["series 1", "1", "1 (str)"]
        for i, axis in enumerate(figure.axes):
            np.testing.assert_array_equal(line(axis, "FIM")[1], np.arange(H) + H * i)


def test_ids_may_be_tuples():
    ids = [("a", 1), ("b", 2)]
    df = pd.concat([series().assign(unique_id=[id] * N) for id in ids])
    titles = lambda wanted: [axis.get_title(loc="left") for axis in plot(df, ids=wanted).axes]
    assert titles(("a", 1)) == ["series ('a', 1)"]
    assert titles(tuple(ids[::-1])) == titles(ids[::-1]) == ["series ('b', 2)", "series ('a', 1)"]
    with pytest.raises(InputError, match="^ids: there is no series 'a'$"):
        plot(df, ids=("a", 2))


def test_lazy_frames_are_to_be_collected():
    df = polars.from_pandas(series())
    with pytest.raises(InputError, match="^the input is a LazyFrame: call collect\\(\\) first$"):
        plot(df.lazy())
    with pytest.raises(InputError, match="^predictions: this LazyFrame must be collected: call collect\\(\\) first$"):
        plot(df, df.lazy())


def test_a_series_with_an_index_needs_no_frame():
    df = series()
    (axis,) = plot(df.set_index("ds")["y"], forecast(df).assign(unique_id=0)).axes
    np.testing.assert_array_equal(line(axis, "observed")[0], date2num(df["ds"]))


def test_series_that_have_answers_come_first():
    df = series("abcd")
    predictions = forecast(df).query("unique_id in ('b', 'd')")
    assert [axis.get_title(loc="left") for axis in plot(df, predictions).axes] == ["b", "d"]
    (axis,) = plot(df, predictions, ids=["a"]).axes
    assert len(axis.lines) == 1


def test_polars_keeps_its_clocks():
    zone = "America/New_York"
    stamps = polars.datetime_range(datetime.datetime(2024, 3, 9), datetime.datetime(2024, 3, 11), "1h", eager=True)
    stamps = stamps.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    df = polars.DataFrame({"unique_id": ["a"] * 49, "ds": stamps, "y": np.arange(49.0)})
    figure = plot(df.head(40), df.tail(9).rename({"y": "FIM"}))
    (axis,) = figure.axes
    np.testing.assert_array_equal(
        line(axis, "observed")[0], date2num(np.datetime64("2024-03-09T00", "h") + np.arange(40))
    )
    assert ticks(figure, axis)
    hours = {num2date(tick, stamps[0].tzinfo).hour for tick in axis.get_xticks()}
    assert hours <= {0, 6, 12, 18}  # by the clocks of New York, which go forward on the 10th


@pytest.mark.parametrize("id_type", [polars.String, polars.Categorical, polars.Int64])
def test_frames_of_either_library_may_meet(id_type):
    ids = [4, 7]
    df = series(ids)
    predictions = forecast(df)
    if id_type != polars.Int64:
        df, predictions = (x.astype({"unique_id": str}) for x in (df, predictions))
    df = polars.from_pandas(df).cast({"unique_id": id_type})
    for axis in plot(df, predictions).axes:
        assert len(line(axis, "FIM")[0]) == H


def test_dates_and_names_of_columns():
    df = series(start="2024-01-01", freq="D")
    predictions = forecast(df, freq="D")
    names = {"unique_id": "shop", "ds": "day", "y": "sales"}
    df, predictions = (x.assign(ds=x["ds"].dt.date).rename(columns=names) for x in (df, predictions))
    figure = plot(df, predictions, id_col="shop", time_col="day", target_col="sales")
    assert len(line(figure.axes[0], "FIM")[0]) == H
    assert any("Feb" in tick for tick in ticks(figure, figure.axes[0]))


def test_arrays():
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0, 5, 20))
    predictions = pd.DataFrame({"unique_id": [0, 0, 1, 1], "ds": [5.5, 6.5, 7.0, 7.5], "FIM": [1.0, 2.0, 3.0, 4.0]})
    figure = plot([(t, t**2), (t, t**2, t > 1)], predictions)
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["series 0", "series 1"]
    (observed,) = lines(figure.axes[0], "observed")
    assert observed.get_marker() == "." and observed.get_markevery() is None  # each point of an uneven series is seen
    np.testing.assert_array_equal(line(figure.axes[1], "FIM"), [[7, 7.5], [3, 4]])
    assert len(plot(rng.normal(size=(3, 10))).axes) == 3


def test_a_series_without_observations():
    predictions = pd.DataFrame({"unique_id": 0, "ds": [4, 5], "FIM": [np.nan, np.nan]})
    figure = plot([np.nan] * 4, predictions)
    assert figure.axes[0].texts[0].get_text() == "no observation"
    figure.draw_without_rendering()


def test_names_are_not_formulas():
    df = series(["$a^b$", "_b", "x" * 200])
    predictions = forecast(df, model="_F$", levels=())
    figure = plot(df, predictions)
    figure.draw_without_rendering()
    assert legend(figure) == ["observed", "_F$"]
    assert len(figure.axes[2].get_title(loc="left")) == 48


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(ids=["a", "z"]), "ids: there is no series 'z'"),
        (dict(ids=[]), "ids: give at least one"),
        (dict(max_ids=0), "max_ids=0: must be a whole number of at least 1"),
        (dict(max_history=1.5), "max_history=1.5: must be a whole number of at least 1"),
        (dict(predictions=forecast(series("xy"))), "predictions: they have none of the series of df, such as 'a'"),
        (
            dict(predictions=forecast(series()).drop(columns="ds")),
            "predictions: there is no column 'ds', only 'unique_id', 'FIM'",
        ),
        (
            dict(predictions=forecast(series())[["unique_id", "ds"]]),
            "predictions: none of the columns holds predictions: 'unique_id', 'ds'",
        ),
        (dict(predictions=[1.0, 2.0]), "predictions: this list is not a frame of pandas or polars"),
        (
            dict(predictions=forecast(series()).assign(ds=range(H))),
            "predictions: column 'ds' holds numbers, but the times of the",
        ),
        (
            dict(predictions=forecast(series()).assign(ds=pd.date_range("2030", periods=H, tz="UTC"))),
            "predictions: column 'ds' has a time zone, but the times of the series have none",
        ),
        (
            dict(predictions=pd.concat([forecast(series())] * 2)),
            "predictions: column 'ds' repeats 2023-05-31 .*",
        ),
    ],
)
def test_what_cannot_be_drawn(change, message):
    with pytest.raises(InputError, match=f"^{message}"):
        plot(series("ab"), **{"predictions": forecast(series("ab")), **change})


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert importlib.util.find_spec("matplotlib") is None
    with pytest.raises(ImportError, match=r"^plotting needs matplotlib: pip install 'fimjax\[plot\]'$"):
        plot([1.0, 2.0])
