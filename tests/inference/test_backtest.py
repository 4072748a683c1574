"""Cross-validation and anomalies."""

import numpy as np
import pandas as pd
import polars
import pytest
from utilsforecast.processing import backtest_splits

from fimjax.errors import InputError
from tests.inference.small import forecaster, frame


@pytest.fixture(scope="module")
def model():
    return forecaster()


@pytest.mark.parametrize("settings", [{}, {"n_windows": 3}, {"n_windows": 3, "step_size": 2}])
def test_windows_are_those_that_users_of_statsforecast_know(model, settings):
    df = frame((30, 25))
    answer = model.cross_validation(df, h=4, level=80, **settings)
    assert list(answer.columns) == ["unique_id", "ds", "cutoff", "y", "FIM", "FIM-lo-80", "FIM-hi-80"]
    splits = backtest_splits(df, **({"n_windows": 1} | settings), h=4, id_col="unique_id", time_col="ds", freq=1)
    expected = pd.concat([valid.merge(cutoffs, on="unique_id") for cutoffs, _, valid in splits])
    expected = expected.sort_values(["unique_id", "cutoff", "ds"], ignore_index=True)
    columns = ["unique_id", "ds", "cutoff", "y"]
    pd.testing.assert_frame_equal(answer[columns], expected[columns], check_dtype=False)


def test_each_window_is_the_forecast_of_what_came_before(model):
    df = frame((30, 25))
    answer = model.cross_validation(df, h=4, n_windows=2)
    for (id, cutoff), window in answer.groupby(["unique_id", "cutoff"]):
        before = df[(df["unique_id"] == id) & (df["ds"] <= cutoff)]
        np.testing.assert_allclose(window["FIM"], model.forecast(before, h=4)["FIM"], rtol=1e-4, atol=1e-4)


def test_cutoffs_have_the_type_and_zone_of_the_times(model):
    df = frame((20,)).assign(ds=pd.date_range("2024-01-01", periods=20, freq="h", tz="Asia/Tokyo"))
    answer = model.cross_validation(df, h=3)
    assert answer["cutoff"].dtype == df["ds"].dtype and (answer["cutoff"] == df["ds"][16]).all()
    other = model.cross_validation(polars.from_pandas(df), h=3)
    assert other["cutoff"].dtype == other["ds"].dtype == polars.from_pandas(df)["ds"].dtype
    assert other["cutoff"].to_list() == answer["cutoff"].to_list()


def test_series_too_short_for_all_windows_are_named(model):
    with pytest.warns(UserWarning, match="windows without a row before them are left out: series 's1'"):
        answer = model.cross_validation(frame((30, 6)), h=3, n_windows=3)
    assert answer.groupby("unique_id")["cutoff"].nunique().to_dict() == {"s0": 3, "s1": 1}
    with pytest.warns(UserWarning), pytest.raises(InputError, match="no series has enough rows"):
        model.cross_validation(frame((3,)), h=3)


def test_a_wild_value_is_an_anomaly_and_it_alone_by_its_interval(model):
    df = frame((60,))
    df.loc[40, "y"] += 1e3
    answer = model.detect_anomalies(df, level=95, season_length=12)
    assert list(answer.columns) == ["unique_id", "ds", "cutoff", "y", "FIM", "FIM-lo-95", "FIM-hi-95", "FIM-anomaly"]
    assert list(answer["ds"]) == list(range(12, 60)) and answer["FIM-anomaly"].dtype == bool
    assert answer.loc[answer["ds"] == 40, "FIM-anomaly"].all()
    outside = (answer["y"] < answer["FIM-lo-95"]) | (answer["y"] > answer["FIM-hi-95"])
    assert (answer["FIM-anomaly"] == outside).all()


def test_series_too_short_to_be_judged_are_named(model):
    with pytest.warns(UserWarning, match="too short to detect anomalies: series 's1'"):
        answer = model.detect_anomalies(frame((30, 3)))
    assert set(answer["unique_id"]) == {"s0"}


def test_a_window_with_nothing_but_gaps_before_it_is_reported(model):
    df = frame((30,))
    df.loc[:26, "y"] = np.nan
    with pytest.warns(UserWarning, match="no observed value, so predictions are NaN: series 's0'") as caught:
        answer = model.cross_validation(df, h=2, n_windows=3, step_size=1)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert answer["FIM"].isna().tolist() == [True, True, True, True, False, False]


def test_a_missing_value_is_no_anomaly(model):
    df = frame((40,))
    df.loc[30, "y"] = np.nan
    answer = model.detect_anomalies(df, n_windows=2, h=6)
    assert list(answer["ds"]) == list(range(28, 40))
    assert not answer.loc[answer["ds"] == 30, "FIM-anomaly"].any()
    polar = model.detect_anomalies(polars.from_pandas(df), n_windows=2, h=6)
    assert polar["FIM-anomaly"].dtype == polars.Boolean


@pytest.mark.parametrize(
    "settings, message", [({"h": 0}, "h=0"), ({"n_windows": 1.5}, "n_windows=1.5"), ({"step_size": -1}, "step_size=-1")]
)
def test_counts_must_be_counts(model, settings, message):
    with pytest.raises(InputError, match=message):
        model.cross_validation(frame(), **({"h": 2} | settings))
