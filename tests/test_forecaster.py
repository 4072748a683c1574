"""The public class: columns, options, rollouts, missing values, bounds, and errors."""

import dataclasses
import inspect
from statistics import NormalDist

import jax
import numpy as np
import pandas as pd
import polars
import pytest

from fimjax.config import Config
from fimjax.errors import InputError, PretrainedError
from fimjax.forecaster import Forecaster
from fimjax.frames.panel import read_panel
from fimjax.inference.options import DEFAULTS
from fimjax.inference.quantiles import interpolate_quantiles
from tests.examples import LEVELS, QUANTILE_REPORT_FIM, REPORT_FIM, REPORT_FIM_LOCAL
from tests.inference.small import forecaster, frame

NORMAL = tuple(NormalDist(3, 2).inv_cdf(level) for level in LEVELS)


@pytest.fixture(scope="module")
def model():
    return forecaster(QUANTILE_REPORT_FIM)


def test_quantiles_of_a_normal_distribution_are_right_at_any_level():
    wanted = (0.001, 0.025, 0.1, 0.42, 0.5, 0.9, 0.999)
    found = interpolate_quantiles(np.array(NORMAL), LEVELS, wanted)
    np.testing.assert_allclose(found, [NormalDist(3, 2).inv_cdf(level) for level in wanted], rtol=1e-12)


def test_quantiles_at_any_level_never_cross():
    quantiles = np.cumsum(np.random.default_rng(0).exponential(size=(50, len(LEVELS))), axis=-1)
    found = interpolate_quantiles(quantiles, LEVELS, tuple(np.linspace(0.001, 0.999, 200)))
    assert np.all(np.diff(found, axis=-1) >= 0)
    np.testing.assert_allclose(interpolate_quantiles(quantiles, LEVELS, LEVELS), quantiles)


def test_a_model_without_quantiles_gives_its_value_at_all_levels():
    np.testing.assert_array_equal(interpolate_quantiles(np.array([[7.0]]), (), (0.1, 0.9)), [[7.0, 7.0]])


def test_shared_options_show_in_signatures_and_others_are_refused(model):
    found = inspect.signature(model.forecast).parameters
    assert list(found) == ["df", "h", "freq", "calibrate", *DEFAULTS]
    assert {name: found[name].default for name in DEFAULTS} == DEFAULTS
    assert not {"level", "bounds"} & set(inspect.signature(model.derivative).parameters)
    for call in (lambda: model.forecast(frame(), 2, horizon=3), lambda: model.derivative(frame(), [1], level=80)):
        with pytest.raises(TypeError, match=r"has no argument '(horizon|level)'; its arguments are df, "):
            call()


def test_the_representation_names_model_weights_and_quantiles(model):
    text = repr(model.joined_by(model))
    assert text.startswith("Forecaster(FIM+FIM, weights='in memory+in memory', parameters=")
    assert text.endswith(f"quantile_levels={LEVELS}, trained on synthetic series)")


def test_series_that_were_read_before_are_not_read_again(model):
    panel = read_panel(frame(), freq=1, season_length=4)
    expected = model.forecast(frame(), 3, 1, season_length=4)
    pd.testing.assert_frame_equal(model.forecast(panel, 3), expected)


def test_columns_steps_and_order(model):
    df = frame().sort_values(["ds", "unique_id"], ascending=[True, False])  # rows of several series interleaved
    answer = model.forecast(df, h=4, season_length=12, quantiles=(0.025, 0.5, 0.9))
    assert list(answer.columns) == ["unique_id", "ds", "FIM", "FIM-q-2.5", "FIM-q-50", "FIM-q-90"]
    assert list(answer["unique_id"]) == ["s2"] * 4 + ["s1"] * 4 + ["s0"] * 4
    assert list(answer["ds"]) == [1, 2, 3, 4, 9, 10, 11, 12, 30, 31, 32, 33]
    assert np.isfinite(answer.iloc[:, 2:].to_numpy()).all()
    assert (answer["FIM-q-2.5"] <= answer["FIM-q-50"]).all()
    np.testing.assert_allclose(answer["FIM"], answer["FIM-q-50"], rtol=1e-12)


def test_intervals_are_the_quantiles_at_their_bounds(model):
    intervals = model.forecast(frame(), h=4, level=[80, 95])
    assert list(intervals.columns[2:]) == ["FIM", "FIM-lo-80", "FIM-hi-80", "FIM-lo-95", "FIM-hi-95"]
    quantiles = model.forecast(frame(), h=4, quantiles=[0.1, 0.9, 0.025, 0.975])
    np.testing.assert_allclose(intervals.iloc[:, 3:], quantiles.iloc[:, 3:], rtol=1e-9)


def test_dates_in_pandas_and_polars_give_the_same_forecast_in_the_same_kind(model):
    stamps = pd.date_range("2020-01-31", periods=30, freq="ME", tz="Europe/Vienna")
    df = frame((30,)).assign(ds=stamps)
    answer = model.forecast(df, h=3, level=80)
    assert list(answer["ds"]) == list(pd.date_range("2022-07-31", periods=3, freq="ME", tz="Europe/Vienna"))
    other = model.forecast(polars.from_pandas(df), h=3, level=80)
    assert isinstance(other, polars.DataFrame) and other.columns == list(answer.columns)
    np.testing.assert_allclose(other["FIM-lo-80"].to_numpy(), answer["FIM-lo-80"])
    numbered = model.forecast(frame((30,)), h=3, level=80, season_length=12)
    np.testing.assert_allclose(answer["FIM"], numbered["FIM"], rtol=1e-5)


def test_arrays_and_tuples(model):
    y = frame((30,))["y"].to_numpy()
    expected = model.forecast(frame((30,)), h=4)["FIM"]
    for data in (y, [y], y[None], (np.arange(30.0), y), [(np.arange(30), y, np.ones(30, bool))]):
        np.testing.assert_allclose(model.forecast(data, h=4, freq=1)["FIM"], expected, rtol=1e-6)


def test_a_forecast_does_not_depend_on_other_series(model):
    df = frame()
    together = model.forecast(df, h=4)
    alone = model.forecast(df[df["unique_id"] == "s1"], h=4)
    found = together.loc[together["unique_id"] == "s1", "FIM"]
    np.testing.assert_allclose(found, alone["FIM"], rtol=1e-4, atol=1e-4)


def test_known_bounds_hold_for_all_columns(model):
    answer = model.forecast(frame(), h=4, level=99, bounds=(-1.0, 0.5))
    numbers = answer.iloc[:, 2:].to_numpy()
    assert numbers.min() >= -1 and numbers.max() <= 0.5
    assert (model.forecast(frame(), h=4, level=99, nonnegative=True).iloc[:, 2:] >= 0).all(axis=None)


def test_a_lower_bound_is_used_for_seasonal_series_and_moves_with_the_values():
    model, df = forecaster(), frame(shift=50.0)
    ask = lambda df, season_length=4, **known: model.forecast(df, h=4, season_length=season_length, **known)["FIM"]
    told = ask(df, nonnegative=True)
    assert np.abs(ask(df) - told)[:8].max() > 1e-4
    np.testing.assert_array_equal(ask(df, season_length=1), ask(df, season_length=1, nonnegative=True))
    moved = ask(df.assign(y=df["y"] + 1e3), bounds=(1e3, None))
    np.testing.assert_allclose(moved - 1e3, told, rtol=1e-3, atol=1e-3)
    # A bound that does not hold is none.
    np.testing.assert_allclose(ask(frame(), bounds=(0.0, None)), np.maximum(ask(frame()), 0.0), rtol=1e-5)


def test_long_horizons_are_rolled_out(model):
    answer = model.forecast(frame((60,)), h=100, level=80)
    width = (answer["FIM-hi-80"] - answer["FIM-lo-80"]).to_numpy()
    assert np.isfinite(width).all() and width[99] >= width[15] - 1e-9


def test_a_series_without_observations_gets_nan_and_a_warning(model):
    df = frame()
    df["y"] = df["y"].mask(df["unique_id"] == "s1")
    with pytest.warns(UserWarning, match="no observed value, so predictions are NaN: series 's1'"):
        answer = model.forecast(df, h=2)
    assert list(answer["FIM"].isna()) == [False, False, True, True, False, False]


def test_missing_values_may_be_nan_or_left_out(model):
    df = frame((30,))
    gaps = df["ds"].isin([3, 8, 20])
    marked = model.forecast(df.assign(y=df["y"].mask(gaps)), h=4)["FIM"]
    left_out = model.forecast(df[~gaps], h=4)["FIM"]
    np.testing.assert_allclose(marked, left_out, rtol=1e-5)
    assert np.abs(marked - model.forecast(df, h=4)["FIM"]).max() > 1e-4


def test_a_gap_at_the_end_is_part_of_the_unseen_window(model):
    df = frame((30,))
    gap = df["ds"] > 25
    answer = model.forecast(df.assign(y=df["y"].mask(gap)), h=4)
    assert list(answer["ds"]) == [30, 31, 32, 33]
    earlier = model.forecast(df[~gap], h=8)
    np.testing.assert_allclose(answer["FIM"], earlier["FIM"][4:], rtol=1e-4)


@pytest.mark.parametrize(
    "change, settings, message",
    [
        (lambda f: f.drop(columns="y"), {}, "'y'"),
        (lambda f: f[:0], {}, "rows"),
        (lambda f: f.assign(ds=f["ds"].astype(str)), {}, "'ds'"),
        (lambda f: f.iloc[::-1], {}, "'s2'|'s1'|'s0'"),
        (lambda f: f, {"h": 0}, "h=0"),
        (lambda f: f, {"quantiles": (0.5, 1.0)}, "quantiles: 1 is not between 0 and 1"),
        (lambda f: f, {"level": 100}, "level: 100 is not between 0 and 100"),
        (lambda f: f, {"level": 80, "quantiles": [0.5]}, "either level or quantiles"),
        (lambda f: f, {"season_length": 0}, "season_length=0"),
        (lambda f: f, {"season_length": 2**31}, r"must be less than 2\*\*31"),
        (lambda f: f, {"bounds": (2, 1)}, "bounds: 2 is above 1"),
        (lambda f: f, {"bounds": (float("nan"), 1)}, "a bound is not a number"),
        (lambda f: f, {"bounds": (0,)}, "give two numbers"),
        (lambda f: f, {"level": "80"}, "level='80': give a number"),
        (lambda f: f, {"level": [80, None]}, "give a number"),
        (lambda f: f, {"level": 99.99999999999999}, "not between 0 and 100"),
        (lambda f: f, {"h": 10**6}, "series 's0': a query time is 1,000,000 steps away"),
    ],
)
def test_what_cannot_be_forecast_is_refused_in_a_sentence(model, change, settings, message):
    with pytest.raises(InputError, match=message):
        model.forecast(change(frame()), **({"h": 3} | settings))


def test_columns_are_named_by_every_digit_of_their_level(model):
    answer = model.forecast(frame((9,)), h=1, level=[99.99999, 100 / 3])
    assert list(answer.columns[3:]) == [
        "FIM-lo-99.99999",
        "FIM-hi-99.99999",
        "FIM-lo-33.3333333333",
        "FIM-hi-33.3333333333",
    ]
    assert "FIM-q-0.0000001" in model.forecast(frame((9,)), h=1, quantiles=[1e-9])


def test_zeros_at_the_end_of_a_series_that_is_not_constant_are_no_certainty(model):
    y = np.r_[np.random.default_rng(0).poisson(3, 24), np.zeros(13)]
    answer = model.forecast(y, 1, level=99)
    assert (answer["FIM-hi-99"] > answer["FIM-lo-99"]).all()


def test_new_parameters_are_used(model):
    other = forecaster(QUANTILE_REPORT_FIM)
    before = other.forecast(frame((9,)), h=2)["FIM"]
    other.params = jax.tree.map(lambda x: 0.5 * x, other.params)
    assert (other.forecast(frame((9,)), h=2)["FIM"] != before).any()


def test_forecasts_follow_shift_and_scale(model):
    plain = model.forecast(frame(), h=4)["FIM"]
    moved = model.forecast(frame(scale=100.0, shift=50.0), h=4)["FIM"]
    np.testing.assert_allclose(moved, 50 + 100 * plain, rtol=1e-3, atol=0.2)


def test_versions_tell_weights_apart(model):
    other = dataclasses.replace(QUANTILE_REPORT_FIM, learned_scale=False)
    assert model.version == forecaster(QUANTILE_REPORT_FIM).version != forecaster(other).version


def test_a_value_head_has_no_width():
    answer = forecaster(REPORT_FIM).forecast(frame((20,)), h=5, quantiles=(0.1, 0.9))
    np.testing.assert_array_equal(answer["FIM-q-10"], answer["FIM-q-90"])


def test_what_does_not_forecast_is_refused():
    with pytest.raises(PretrainedError, match="FIMLocalConfig does not forecast"):
        Forecaster(Config(model=REPORT_FIM_LOCAL), {})
