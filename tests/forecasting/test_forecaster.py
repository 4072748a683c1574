import dataclasses
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest

from fimjax.config import Config, PriorConfig, TrainingConfig
from fimjax.forecasting.forecaster import Forecaster
from fimjax.forecasting.levels import at_levels
from fimjax.training.checkpoint import CheckpointError
from tests.examples import FORECASTER, LEVELS, LOCAL, RICH_FORECASTER, with_params

NORMAL = tuple(NormalDist(3, 2).inv_cdf(level) for level in LEVELS)


def forecaster(model=RICH_FORECASTER):
    prior = PriorConfig(windows=model.windows, slots=16, min_window_steps=4, max_window_steps=16)
    return Forecaster(Config(model=model, prior=prior, training=TrainingConfig()), with_params(model)[1]["params"])


@pytest.fixture(scope="module")
def model():
    return forecaster()


def frame(lengths=(30, 9, 1), seed=0, scale=1.0, shift=0.0):
    rng = np.random.default_rng(seed)
    return pd.concat(
        [
            pd.DataFrame({"unique_id": f"s{i}", "ds": np.arange(n), "y": shift + scale * rng.normal(size=n).cumsum()})
            for i, n in enumerate(lengths)
        ],
        ignore_index=True,
    )


def test_quantiles_of_a_normal_distribution_are_right_at_any_level():
    wanted = (0.001, 0.025, 0.1, 0.42, 0.5, 0.9, 0.999)
    found = at_levels(np.array(NORMAL), LEVELS, wanted)
    np.testing.assert_allclose(found, [NormalDist(3, 2).inv_cdf(level) for level in wanted], rtol=1e-12)


def test_quantiles_at_any_level_never_cross():
    quantiles = np.cumsum(np.random.default_rng(0).exponential(size=(50, len(LEVELS))), axis=-1)
    found = at_levels(quantiles, LEVELS, tuple(np.linspace(0.001, 0.999, 200)))
    assert np.all(np.diff(found, axis=-1) >= 0)
    np.testing.assert_allclose(at_levels(quantiles, LEVELS, LEVELS), quantiles)


def test_a_value_stands_for_all_levels():
    np.testing.assert_array_equal(at_levels(np.array([[7.0]]), (), (0.1, 0.9)), [[7.0, 7.0]])


def test_columns_steps_and_order(model):
    df = frame().iloc[::-1]
    answer = model.forecast(df, h=4, season_length=12, quantiles=(0.025, 0.5, 0.9))
    assert list(answer.columns) == ["unique_id", "ds", "FIM", "FIM-q-2.5", "FIM-q-50", "FIM-q-90"]
    assert list(answer["unique_id"]) == ["s2"] * 4 + ["s1"] * 4 + ["s0"] * 4
    assert list(answer["ds"]) == [1, 2, 3, 4, 9, 10, 11, 12, 30, 31, 32, 33]
    assert np.isfinite(answer.iloc[:, 2:].to_numpy()).all()
    assert (answer["FIM-q-2.5"] <= answer["FIM-q-50"]).all() and (answer["FIM"] == answer["FIM-q-50"]).all()


def test_a_forecast_does_not_depend_on_its_company_or_on_the_order_of_rows(model):
    df = frame()
    together = model.forecast(df.sample(frac=1, random_state=0), h=4).sort_values(["unique_id", "ds"])
    alone = model.forecast(df[df["unique_id"] == "s1"], h=4)
    found = together.loc[together["unique_id"] == "s1", "FIM"]
    np.testing.assert_allclose(found, alone["FIM"], rtol=1e-4, atol=1e-4)


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
        (lambda f: f.drop(columns="y"), {}, "the frame has no column 'y'"),
        (lambda f: f[:0], {}, "the frame has no rows"),
        (lambda f: f.assign(ds=pd.Timestamp("2020-01-01")), {}, "column 'ds' holds datetime64.*, not whole numbers"),
        (lambda f: f.assign(y=f["y"].mask(f["unique_id"] == "s1")), {}, "series 's1' has no observation"),
        (lambda f: f, {"h": 0}, "h=0"),
        (lambda f: f, {"quantiles": (0.5, 1.0)}, "quantiles: 1.0 is not between 0 and 1"),
    ],
)
def test_what_cannot_be_forecast_is_refused_in_a_sentence(model, change, settings, message):
    with pytest.raises(ValueError, match=message):
        model.forecast(change(frame()), **({"h": 3} | settings))


def test_forecasts_follow_shift_and_scale(model):
    plain = model.forecast(frame(), h=4)["FIM"]
    moved = model.forecast(frame(scale=100.0, shift=50.0), h=4)["FIM"]
    np.testing.assert_allclose(moved, 50 + 100 * plain, rtol=1e-3, atol=0.2)


def test_versions_tell_weights_apart(model):
    other = dataclasses.replace(RICH_FORECASTER, learned_scale=False)
    assert model.version == forecaster().version != forecaster(other).version


def test_a_value_head_has_no_width():
    answer = forecaster(FORECASTER).forecast(frame((20,)), h=5, quantiles=(0.1, 0.9))
    np.testing.assert_array_equal(answer["FIM-q-10"], answer["FIM-q-90"])


def test_what_does_not_forecast_is_refused():
    with pytest.raises(CheckpointError, match="FIMLocalConfig does not forecast"):
        Forecaster(Config(model=LOCAL, prior=PriorConfig(), training=TrainingConfig()), {})
