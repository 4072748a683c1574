"""The metrics against two other implementations.

Nixtla's utilsforecast and GluonTS do not define everything as we do: a test that multiplies, weights or leaves out
says how.
"""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import utilsforecast.losses as nixtla

from fimjax.evaluation import metrics
from fimjax.evaluation.forecasts import INTERVALS, LEVELS, interval_indices, level_index
from tests.evaluation.scored import SCORED_LEVELS, Case, assert_same


def test_pinball_is_utilsforecasts(case):
    frame = case.frame()
    for i, level in enumerate(LEVELS):
        theirs = nixtla.quantile_loss(frame, {"model": f"q-{level}"}, q=level)["model"]
        assert_same(metrics.pinball(case.y, case.quantiles[..., i], level).mean(axis=-1), theirs)


def test_scrps_is_gluontss(case, by_gluonts):
    """Pooled over series, with a factor of 2 and the nine levels that the field has agreed on."""
    levels = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    assert_same(case.scrps().value(), by_gluonts(case, "MeanWeightedSumQuantileLoss", quantile_levels=levels))


def test_scrps_is_utilsforecasts_weighted_by_the_size_of_the_series(case):
    """Theirs is one number a series: their plain mean is another metric, their mean weighted by sum |y| is ours."""
    columns = [f"q-{level}" for level in SCORED_LEVELS]
    theirs = nixtla.scaled_crps(case.frame(), {"model": columns}, np.array(SCORED_LEVELS))["model"]
    ours, sizes = case.scrps(), np.abs(case.y).sum(axis=-1)
    assert_same(ours.numerator / ours.denominator, theirs)
    assert_same(ours.value(), np.average(theirs, weights=sizes))
    assert abs(theirs.mean() / ours.value() - 1) > 1e-3


def test_nd_is_gluontss(case, by_gluonts):
    assert_same(metrics.nd(case.y, case.point).value(), by_gluonts(case, "ND", forecast_type="mean"))


def test_nd_is_utilsforecasts_weighted_by_the_size_of_the_series(case):
    theirs = nixtla.nd(case.frame(), ["model"])["model"]
    sizes = np.abs(case.y).sum(axis=-1)
    assert_same(metrics.nd(case.y, case.point).value(), np.average(theirs, weights=sizes))


def test_mase_pooled_is_the_ratio_of_gluontss_nds(case, by_gluonts):
    of_model, of_naive = (by_gluonts(case, "ND", forecast_type=name) for name in ("mean", "naive_2"))
    assert_same(metrics.mase_pooled(case.y, case.point, case.naive).value(), of_model / of_naive)


def test_mase_pooled_is_utilsforecasts_rmae_weighted_by_the_naive_error(case):
    theirs = nixtla.rmae(case.frame(), ["model"], "naive")["model"]
    naive_errors = np.abs(case.y - case.naive).sum(axis=-1)
    ours = metrics.mase_pooled(case.y, case.point, case.naive).value()
    assert_same(ours, np.average(theirs, weights=naive_errors))


def test_mase_is_gluontss(case, by_gluonts):
    ours = metrics.mase(case.y, case.point, case.scales)
    assert_same(ours.numerator, by_gluonts(case, "MASE", axis=1, forecast_type="mean"))
    assert_same(ours.value(), by_gluonts(case, "MASE", forecast_type="mean"))


def test_mase_is_utilsforecasts(case):
    ours = metrics.mase(case.y, case.point, case.scales)
    theirs = nixtla.mase(case.frame(), ["model"], case.season, case.history_frame())["model"]
    assert_same(ours.numerator, theirs)
    assert_same(ours.value(), theirs.mean())


def test_smape_is_100_times_gluontss(case, by_gluonts):
    """Per cent from 0 to 200, as in M4; theirs goes from 0 to 2."""
    assert_same(metrics.smape(case.y, case.point).value(), 100 * by_gluonts(case, "SMAPE", forecast_type="mean"))


def test_smape_is_200_times_utilsforecasts(case):
    """Theirs has no factor of 2 and goes from 0 to 1."""
    ours, theirs = metrics.smape(case.y, case.point), nixtla.smape(case.frame(), ["model"])["model"]
    assert_same(ours.numerator, 200 * theirs)
    assert_same(ours.value(), 200 * theirs.mean())


def test_owa_is_gluontss(case, by_gluonts):
    """A ratio of totals, not a mean of ratios."""
    ours, naive = (
        (metrics.smape(case.y, f).value(), metrics.mase(case.y, f, case.scales).value())
        for f in (case.point, case.naive)
    )
    assert_same(metrics.owa(*ours, *naive), by_gluonts(case, "OWA", forecast_type="mean"))


def test_coverage_is_the_difference_of_gluontss(case, by_gluonts):
    """Theirs is one of quantiles: the share of points at or below one."""
    for interval in INTERVALS:
        lower, upper = (by_gluonts(case, "Coverage", q=LEVELS[i]) for i in interval_indices(interval))
        assert_same(metrics.coverage(case.y, *case.bounds(interval)).value(), upper - lower)


def test_coverage_is_utilsforecasts(case):
    frame = case.frame()
    for interval in INTERVALS:
        ours = metrics.coverage(case.y, *case.bounds(interval))
        theirs = nixtla.coverage(frame, ["model"], interval)["model"]
        assert_same(ours.numerator, theirs)
        assert_same(ours.value(), theirs.mean())


def test_coverage_difference_is_gluontss_for_intervals_open_below(case, by_gluonts):
    lowest = np.full_like(case.y, -np.inf)
    levels = {10: 0.1, 40: 0.4, 80: 0.8}
    ours = {
        percent: metrics.coverage(case.y, lowest, case.quantiles[..., level_index(level)]).value()
        for percent, level in levels.items()
    }
    theirs = by_gluonts(case, "MAECoverage", quantile_levels=tuple(levels.values()))
    assert_same(metrics.coverage_difference(ours), theirs)


def test_width_is_utilsforecasts_winkler_score_of_points_inside(case):
    """The score is the width plus a fine for points outside."""
    for interval in INTERVALS:
        lower, upper = case.bounds(interval)
        inside = dataclasses.replace(case, y=np.clip(case.y, lower, upper))
        theirs = nixtla.winkler_score(inside.frame(), ["model"], interval)["model"]
        assert_same(metrics.width(inside.y, lower, upper).value(), theirs.mean() / np.abs(inside.y).mean())


def test_all_at_once_as_gluonts_evaluates_forecasts(case, gluonts):
    """Also its own split into history and test part, and its own scale."""
    horizon, start = case.y.shape[1], pd.Period("2000-01", "M")
    entries = [{"start": start, "target": np.concatenate(parts)} for parts in zip(case.histories, case.y)]
    forecasts = [
        gluonts.model.forecast.QuantileForecast(
            forecast_arrays=np.vstack([point, quantiles.T]),
            start_date=start + len(history),
            forecast_keys=["mean", *(str(level) for level in LEVELS)],
        )
        for history, point, quantiles in zip(case.histories, case.point, case.quantiles)
    ]
    their = gluonts.ev.metrics
    table = gluonts.model.evaluation.evaluate_forecasts(
        forecasts,
        test_data=gluonts.dataset.split.split(entries, offset=-horizon)[1].generate_instances(horizon),
        metrics=[
            their.MeanWeightedSumQuantileLoss(SCORED_LEVELS),
            their.MASE("mean"),
            their.SMAPE("mean"),
            their.Coverage(0.975),
            their.Coverage(0.025),
        ],
        seasonality=case.season,
    )
    scrps, mase, smape, upper, lower = table.iloc[0]
    assert_same(case.scrps().value(), scrps)
    assert_same(metrics.mase(case.y, case.point, case.scales).value(), mase)
    assert_same(metrics.smape(case.y, case.point).value(), 100 * smape)
    assert_same(metrics.coverage(case.y, *case.bounds(95)).value(), upper - lower)


# Where the definitions differ


def constant_case() -> Case:
    """Three series, of which the first two have constant histories; the second of them is forecast without error."""
    histories = [np.full(9, 5.0), np.full(9, 7.0), np.array([1.0, 2, 4, 1, 2, 4, 2, 3, 5])]
    y, point = np.array([[5.0, 6.0], [7.0, 7.0], [2.0, 3.0]]), np.array([[4.0, 4.0], [7.0, 7.0], [2.0, 4.0]])
    return Case(histories, 3, y, point, y, np.repeat(point[..., None], len(LEVELS), axis=-1))


def test_mase_leaves_out_constant_histories_where_utilsforecast_has_inf_or_nan():
    case = constant_case()
    theirs = nixtla.mase(case.frame(), ["model"], case.season, case.history_frame())["model"]
    np.testing.assert_array_equal(theirs, [np.inf, np.nan, 1.0])
    ours = metrics.mase(case.y, case.point, case.scales)
    assert ours.value() == 1.0
    # What has been left out is counted by the scales.
    assert np.sum(case.scales == 0) == 2 == len(case.y) - ours.denominator.sum()


@pytest.mark.parametrize(("season", "scale"), [(1, 7 / 3), (2, 9 / 2), (3, 7), (4, 7 / 3), (5, 7 / 3), (12, 7 / 3)])
def test_scale_is_that_of_single_steps_where_a_history_is_no_longer_than_a_season(season, scale):
    assert_same(metrics.naive_scale(np.array([1.0, 2.0, 4.0, 8.0]), season), scale)


def test_utilsforecast_has_no_mase_where_a_history_is_no_longer_than_a_season():
    case = dataclasses.replace(constant_case(), histories=[np.array([1.0, 2.0, 4.0, 8.0])] * 3)
    for season in (4, 5):
        assert nixtla.mase(case.frame(), ["model"], season, case.history_frame())["model"].isna().all()


def test_gluonts_takes_single_steps_for_shorter_histories_and_has_no_scale_for_just_one_season(gluonts):
    history = np.array([1.0, 2.0, 4.0, 8.0])
    for season in (1, 2, 3, 5, 12):
        assert_same(metrics.naive_scale(history, season), gluonts.ev.ts_stats.seasonal_error(history, season))
    with pytest.warns(RuntimeWarning):
        assert np.isnan(gluonts.ev.ts_stats.seasonal_error(history, 4))


def test_scale_of_a_single_point_is_zero():
    assert metrics.naive_scale(np.array([3.0]), 1) == 0 == metrics.naive_scale(np.array([3.0]), 12)


def test_smape_of_zero_forecast_as_zero_is_zero():
    """As in utilsforecast; GluonTS would divide 0 by 0."""
    y = np.array([[0.0, 1.0]])
    assert metrics.smape(y, np.array([[0.0, 3.0]])).value() == (0 + 100) / 2
    frame = pd.DataFrame({"unique_id": [0, 0], "y": y[0], "model": [0.0, 3.0]})
    assert nixtla.smape(frame, ["model"])["model"].item() == (0 + 0.5) / 2


def tied_case() -> Case:
    """Points below, on, within, on and above the bounds 1 and 3 of every interval."""
    y, bounds = np.array([[0.9, 1.0, 2.0, 3.0, 3.1]]), np.array([1.0] * 5 + [2.0] + [3.0] * 5)
    return Case([y[0]], 1, y, y, y, np.broadcast_to(bounds, (*y.shape, len(LEVELS))))


def test_coverage_includes_both_bounds():
    """As in utilsforecast."""
    case = tied_case()
    assert metrics.coverage(case.y, *case.bounds(80)).value() == 3 / 5
    assert nixtla.coverage(case.frame(), ["model"], 80)["model"].item() == 3 / 5


def test_gluontss_coverage_leaves_out_the_lower_bound(by_gluonts):
    case = tied_case()
    assert_same(by_gluonts(case, "Coverage", q=0.9) - by_gluonts(case, "Coverage", q=0.1), 2 / 5)
