"""The forecaster between, before and after observations: interpolate, query, derivative."""

import numpy as np
import pandas as pd
import polars
import pytest

from fimjax.errors import InputError
from fimjax.inference import batching
from tests.inference.small import forecaster, frame


@pytest.fixture(scope="module")
def model():
    return forecaster()


def test_interpolation_answers_every_row_and_every_missing_stamp(model):
    df = frame((40, 5))
    gaps = df["ds"].isin([7, 8, 20])
    df.loc[df["ds"] == 11, "y"] = np.nan
    answer = model.interpolate(df[~gaps], level=80)
    assert list(answer.columns) == ["unique_id", "ds", "y", "FIM", "FIM-lo-80", "FIM-hi-80"]
    assert list(answer["ds"]) == [*range(40), *range(5)]
    expected = df["y"].mask(gaps | (df["ds"] == 11)).to_numpy()
    np.testing.assert_array_equal(answer["y"], expected)
    assert np.isfinite(answer.iloc[:, 3:].to_numpy()).all()
    assert (answer["FIM-lo-80"] <= answer["FIM"]).all() and (answer["FIM"] <= answer["FIM-hi-80"]).all()


def test_missing_rows_and_missing_values_are_filled_alike(model):
    df = frame((30,))
    gap = df["ds"].between(10, 14)
    left_out = model.interpolate(df[~gap])
    pd.testing.assert_frame_equal(left_out, model.interpolate(df.assign(y=df["y"].mask(gap))))


def test_missing_months_are_filled_with_their_dates(model):
    stamps = pd.date_range("2020-01-31", periods=30, freq="ME")
    df = frame((30,)).assign(ds=stamps).drop(index=[4, 5, 17])
    for given in (df, polars.from_pandas(df)):
        answer = model.interpolate(given)
        assert isinstance(answer, type(given)) and list(answer["ds"]) == list(stamps)
        assert np.flatnonzero(np.isnan(np.array(answer["y"], float))).tolist() == [4, 5, 17]


def test_irregular_times_get_no_rows_of_their_own(model):
    t = np.array([0.0, 1.3, 2.1, 5.7, 9.9])
    answer = model.interpolate((t, np.sin(t)))
    np.testing.assert_array_equal(answer["ds"], t)


def test_rows_before_the_first_and_after_the_last_observation_are_forecast(model):
    df = frame((30,))
    df.loc[[0, 1, 28, 29], "y"] = np.nan
    answer = model.interpolate(df)["FIM"]
    np.testing.assert_allclose(answer[28:], model.forecast(df[:28], h=2)["FIM"], rtol=1e-5)
    mirrored = df[2:28].assign(ds=-df["ds"])[::-1]
    np.testing.assert_allclose(answer[:2][::-1], model.forecast(mirrored, h=2)["FIM"], rtol=1e-5)


def test_a_query_says_what_interpolation_and_forecast_say(model):
    df = frame((30, 12))
    known = pd.concat([model.interpolate(df, level=90).drop(columns="y"), model.forecast(df, h=6, level=90)])
    known = known[known["unique_id"] == "s0"].reset_index(drop=True)
    answer = model.query(df[df["unique_id"] == "s0"], np.arange(36), level=90)
    pd.testing.assert_frame_equal(answer, known, rtol=1e-4, atol=1e-4)


def test_queries_off_the_grid_keep_their_order_and_answer_continuously(model):
    df = frame((30,))
    times = [29.5, 3.25, 31.75, 3.26, -0.5]
    answer = model.query(df, times)
    assert list(answer["ds"]) == times
    spread = df["y"].std()
    assert abs(answer["FIM"][1] - answer["FIM"][3]) < 0.1 * spread and np.isfinite(answer["FIM"]).all()
    near, on = (model.query(df, [t])["FIM"][0] for t in (17 + 1e-4, 17))
    assert abs(near - on) < 1e-2 * spread


def test_times_of_each_series_may_come_as_a_frame(model):
    df = frame((30, 12)).assign(
        ds=lambda f: pd.Timestamp("2024-01-01", tz="Europe/Vienna") + f["ds"] * pd.Timedelta("1h")
    )
    times = pd.DataFrame({"unique_id": ["s1", "s0", "s0"], "ds": df["ds"].iloc[[30, 5, 2]].to_numpy()})
    times["ds"] = df["ds"].iloc[[30, 5, 2]].to_list()
    answer = model.query(df, times)
    assert list(answer["unique_id"]) == ["s1", "s0", "s0"]  # the rows of the frame, one by one
    assert list(answer["ds"]) == list(times["ds"])
    text = model.query(df, ["2024-01-01 05:00", "2024-01-01 02:00"])
    np.testing.assert_allclose(text["FIM"][:2], answer["FIM"][1:], rtol=1e-5)
    other = model.query(polars.from_pandas(df), polars.from_pandas(times))
    assert isinstance(other, polars.DataFrame) and list(other["unique_id"]) == ["s1", "s0", "s0"]


@pytest.mark.parametrize(
    "times, message",
    [
        (["x"], "not numbers"),
        (pd.date_range("2020", periods=2), "not numbers"),
        ([10**9], "series 's0': a query time is 999,999,992 steps away"),
        ([], "give at least one|not numbers"),
        (pd.DataFrame({"unique_id": [], "ds": []}), "times: the frame has no rows"),
        ([np.nan], "finite"),
        (pd.DataFrame({"unique_id": ["nobody"], "ds": [1]}), "no series 'nobody'"),
        (pd.DataFrame({"ds": [1]}), "no column 'unique_id'"),
    ],
)
def test_times_that_cannot_be_are_refused(model, times, message):
    with pytest.raises(InputError, match=message):
        model.query(frame((9,)), times)


def test_many_query_times_are_split_and_answered_in_order(model, monkeypatch):
    df, times = frame((30,)), np.linspace(-3, 40, 101)
    expected = model.query(df, times, level=80)
    monkeypatch.setattr(batching, "MAX_QUERIES", 16)
    pd.testing.assert_frame_equal(model.query(df, times, level=80), expected, rtol=1e-4, atol=1e-4)


def test_dates_that_nanoseconds_cannot_hold_are_refused(model):
    df = frame((9,)).assign(ds=pd.date_range("2024", periods=9))
    for times in (["3000-01-01"], np.array(["3000-01-01"], "M8[s]")):
        with pytest.raises(InputError, match="times"):
            model.query(df, times)


def test_a_stamp_off_the_grid_does_not_keep_gaps_from_being_filled(model):
    df = frame((30,)).assign(ds=pd.date_range("2024", periods=30)).drop(index=[10, 11, 20])
    df.loc[5, "ds"] += pd.Timedelta(minutes=5)
    assert len(model.interpolate(df)) == 30


def test_no_column_is_lost_to_another_of_its_name(model):
    df = frame((9,)).rename(columns={"y": "FIM"})
    for ask in (model.interpolate, lambda *a, **k: model.cross_validation(*a, h=2, **k)):
        with pytest.raises(InputError, match="two columns 'FIM'"):
            ask(df, target_col="FIM")


def test_numbers_are_no_dates(model):
    df = frame((9,)).assign(ds=pd.date_range("2024", periods=9))
    with pytest.raises(InputError, match="numbers were given, but the times of the series are dates"):
        model.query(df, [3, 4])


@pytest.mark.parametrize("unit", [1, 10])
def test_derivatives_are_those_of_the_answers(model, unit):
    df = frame((40,)).assign(ds=lambda f: unit * f["ds"].astype(float))
    # Within a window, in an overlap, before the first point, in the unseen window, and beyond it.
    times = unit * np.array([3.3, 11.6, 25.5, -2.4, 41.2, 70.3])
    step = 3e-3 * unit
    # The furthest query decides how long a window is, so that it must be the same for all.
    furthest = unit * np.array([-9, 75])
    slopes = model.derivative(df, np.append(times, furthest), freq=unit)
    assert list(slopes.columns) == ["unique_id", "ds", "FIM"]
    above, below = (model.query(df, np.append(x, furthest), freq=unit)["FIM"][:6] for x in (times + step, times - step))
    np.testing.assert_allclose(slopes["FIM"][:6], (above - below) / (2 * step), rtol=0.05, atol=0.02 / unit)


def test_derivatives_by_dates_are_per_step(model):
    df = frame((30,))
    dated = df.assign(ds=pd.date_range("2024-01-01", periods=30, freq="D"))
    by_number = model.derivative(df, [3.5, 20.25, 33], season_length=7)["FIM"]
    by_date = model.derivative(dated, ["2024-01-04 12:00", "2024-01-21 06:00", "2024-02-03"])["FIM"]
    np.testing.assert_allclose(by_date, by_number, rtol=1e-3, atol=1e-4)
