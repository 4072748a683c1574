"""The metrics against two other implementations, against small numbers by hand, and against mistakes made in public.

Nixtla's utilsforecast and GluonTS do not define everything as we do: a test that multiplies, weights or leaves out
says how.
"""

import dataclasses
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import utilsforecast.losses as nixtla
from scipy.stats import norm
from statsforecast.models import AutoETS, SeasonalNaive
from statsforecast.utils import AirPassengers

from fimjax.evaluation import metrics
from fimjax.evaluation.forecasts import INTERVALS, LEVELS, interval_indices, level_index
from fimjax.evaluation.metrics import SCORED, Shares

SCORED_LEVELS = tuple(LEVELS[i] for i in SCORED)


# Forecasts to score, and the other implementations


@dataclasses.dataclass(frozen=True)
class Case:
    """Series, their test parts and forecasts of these, with axes as in `metrics`."""

    histories: list[np.ndarray]
    season: int
    y: np.ndarray
    point: np.ndarray
    naive: np.ndarray
    quantiles: np.ndarray

    @property
    def scales(self) -> np.ndarray:
        return np.array([metrics.naive_scale(history, self.season) for history in self.histories])

    def scrps(self) -> Shares:
        return metrics.scrps(self.y, self.quantiles[..., SCORED], SCORED_LEVELS)

    def bounds(self, interval: int) -> tuple[np.ndarray, np.ndarray]:
        lower, upper = interval_indices(interval)
        return self.quantiles[..., lower], self.quantiles[..., upper]

    def history_frame(self) -> pd.DataFrame:
        lengths = [len(history) for history in self.histories]
        ids = np.repeat(np.arange(len(lengths)), lengths)
        return pd.DataFrame({"unique_id": ids, "y": np.concatenate(self.histories)})

    def frame(self) -> pd.DataFrame:
        """A row a step, with the columns that utilsforecast looks for."""
        series, horizon = self.y.shape
        columns = {"unique_id": np.repeat(np.arange(series), horizon), "y": self.y.ravel()}
        columns |= {"model": self.point.ravel(), "naive": self.naive.ravel()}
        columns |= {f"q-{level}": self.quantiles[..., i].ravel() for i, level in enumerate(LEVELS)}
        for interval in INTERVALS:
            lower, upper = self.bounds(interval)
            columns |= {f"model-lo-{interval}": lower.ravel(), f"model-hi-{interval}": upper.ravel()}
        return pd.DataFrame(columns)


def seasonal_naive(history: np.ndarray, season: int, horizon: int) -> np.ndarray:
    return np.resize(history[-season:], horizon)


def random_case(seed: int, series: int = 8, season: int = 4, horizon: int = 6) -> Case:
    """Series of both signs and of sizes from 0.001 to 10,000, with zeros among them; forecasts that are often wrong."""
    rng = np.random.default_rng(seed)
    sizes = 10 ** rng.uniform(-3, 4, (series, 1))
    offsets = rng.choice([-2, 0, 2], (series, 1))
    draw = lambda *shape: sizes * (offsets + rng.normal(size=shape))
    histories = [row[: rng.integers(season + 1, 40)] for row in draw(series, 40)]
    y, point = draw(series, horizon), draw(series, horizon)
    y[rng.random(y.shape) < 0.15] = 0.0
    quantiles = np.sort(point[..., None] + 0.8 * sizes[..., None] * rng.normal(size=(*y.shape, len(LEVELS))))
    naive = np.stack([seasonal_naive(history, season, horizon) for history in histories])
    return Case(histories, season, y, point, naive, quantiles)


def real_case(model: type, season: int = 12, horizon: int = 6) -> Case:
    """Six overlapping pieces of the monthly airline passengers of Box and Jenkins, and a model's answer to each."""
    pieces = [AirPassengers[start : start + 48 + horizon].astype(np.float64) for start in range(0, 90, 16)]
    histories, y = [piece[:-horizon] for piece in pieces], np.stack([piece[-horizon:] for piece in pieces])
    answers = [model(season_length=season).forecast(y=h, h=horizon, level=list(INTERVALS)) for h in histories]
    point = np.stack([answer["mean"] for answer in answers])
    quantiles = np.empty((*y.shape, len(LEVELS)))
    quantiles[..., level_index(0.5)] = point
    for interval in INTERVALS:
        for name, index in zip(("lo", "hi"), interval_indices(interval)):
            quantiles[..., index] = np.stack([answer[f"{name}-{interval}"] for answer in answers])
    naive = np.stack([seasonal_naive(history, season, horizon) for history in histories])
    return Case(histories, season, y, point, naive, quantiles)


CASES = {f"random {seed}": lambda seed=seed: random_case(seed) for seed in range(3)}
CASES |= {model.__name__: lambda model=model: real_case(model) for model in (AutoETS, SeasonalNaive)}


@pytest.fixture(scope="module", params=CASES)
def case(request) -> Case:
    return CASES[request.param]()


@pytest.fixture(scope="module")
def gluonts():
    """GluonTS, where it is installed: pip refuses to, as it wants an older toolz than chex does."""
    with warnings.catch_warnings():
        # It recommends a faster JSON library, of which nothing here makes use.
        warnings.filterwarnings("ignore", message="Using `json`-module", category=UserWarning)
        pytest.importorskip("gluonts.model.evaluation")
    import gluonts.dataset.split
    import gluonts.ev.metrics
    import gluonts.ev.ts_stats
    import gluonts.model.forecast

    return gluonts


@pytest.fixture(scope="module")
def by_gluonts(gluonts) -> Callable:
    """The value of a metric of gluonts.ev, by its name there; with axis=1 one a series."""

    def value(case: Case, name: str, axis: int | None = None, **arguments) -> np.ndarray:
        errors = [gluonts.ev.ts_stats.seasonal_error(history, case.season) for history in case.histories]
        data = {"label": case.y, "mean": case.point, "naive_2": case.naive, "seasonal_error": np.array(errors)}
        data |= {str(level): case.quantiles[..., i] for i, level in enumerate(LEVELS)}
        return getattr(gluonts.ev.metrics, name)(**arguments)(axis=axis).update(data).get()

    return value


def assert_same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


# Against the other implementations


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


# By hand, and against public mistakes


def test_the_scored_levels():
    assert SCORED_LEVELS == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def test_pinball_by_hand():
    """At level 0.9, two too low cost 1.8 and two too high 0.2."""
    assert_same(metrics.pinball(np.array([10.0, 10.0, 10.0]), np.array([8.0, 12.0, 10.0]), 0.9), [1.8, 0.2, 0.0])


def test_scrps_is_least_for_the_true_spread():
    """A published comparison had the loss flipped; then of all forecasts N(10, s) of N(10, 1), s = 0 looks best."""
    y = 10 + norm.ppf((np.arange(20_000) + 0.5) / 20_000)[None]
    spreads, z = (0.0, 0.5, 1.0, 1.5, 2.0), norm.ppf(SCORED_LEVELS)

    def scores(levels):
        quantiles = [np.broadcast_to(10 + s * z, (*y.shape, len(z))) for s in spreads]
        return [metrics.scrps(y, q, levels).value() for q in quantiles]

    right, flipped = scores(SCORED_LEVELS), scores(SCORED_LEVELS[::-1])
    assert spreads[np.argmin(right)] == 1 and spreads[np.argmin(flipped)] == 0
    # E|z| for s = 0; the loss of a true quantile is the density there.
    np.testing.assert_allclose(right[0], np.sqrt(2 / np.pi) / 10, rtol=1e-3)
    np.testing.assert_allclose(right[2], 2 * norm.pdf(z).mean() / 10, rtol=1e-3)


def test_scrps_of_a_forecast_without_width_is_its_absolute_error(case):
    """Without the factor of 2 it would be half of it."""
    no_width = np.repeat(case.point[..., None], len(SCORED), axis=-1)
    ours = metrics.scrps(case.y, no_width, SCORED_LEVELS).value()
    assert_same(ours, np.abs(case.y - case.point).sum() / np.abs(case.y).sum())
    assert_same(ours, metrics.nd(case.y, case.point).value())


def test_scrps_by_hand():
    """Losses of 0.1 * 2, 0.5 * 1 and 0.1 * 1 at the first step, 0.9 * 1, 0.5 * 2 and 0.9 * 0 at the second."""
    y = np.array([[10.0, -4.0]])
    q = np.array([[[8.0, 9.0, 11.0], [-3.0, -2.0, -4.0]]])
    ours = metrics.scrps(y, q, (0.1, 0.5, 0.9))
    assert_same(ours.numerator, [2 * ((0.2 + 0.5 + 0.1) + (0.9 + 1.0 + 0.0)) / 3])
    assert_same(ours.denominator, [14.0])


def test_scrps_nd_and_width_divide_by_absolute_values():
    """utilsforecast once divided by sum y, which is 0 here; and a series turned upside down is as hard as before."""
    y, q = np.array([[5.0, -5.0, 3.0, -3.0]]), np.full((1, 4, len(SCORED)), 1.0)
    assert_same(metrics.scrps(y, q, SCORED_LEVELS).value(), (4 + 6 + 2 + 4) / 16)
    assert metrics.nd(y, np.ones_like(y)).value() == (4 + 6 + 2 + 4) / 16
    assert metrics.width(y, y - 1, y + 3).value() == 16 / 16

    case = random_case(3)
    upside_down = dataclasses.replace(case, y=-case.y, quantiles=-case.quantiles[..., ::-1])
    assert_same(upside_down.scrps().value(), case.scrps().value())


def test_pooled_metrics_are_ratios_of_sums():
    """A small series forecast badly and a large one forecast well: the mean of both ratios would be far larger."""
    y, f = np.array([[1.0, 1.0], [99.0, 99.0]]), np.array([[3.0, 3.0], [100.0, 100.0]])
    q = np.repeat(f[..., None], len(SCORED), axis=-1)
    assert_same(metrics.scrps(y, q, SCORED_LEVELS).value(), (4 + 2) / 200)
    assert_same(metrics.nd(y, f).value(), (4 + 2) / 200)
    assert_same(metrics.width(y, f - 2, f + 2).value(), (8 + 8) / 200)


def test_mase_and_mase_pooled_by_hand():
    """Errors of 1 and 50, naive errors of 2 and 10 in the test part, and of 4 and 20 in the history."""
    y, f = np.array([[10.0, 10.0], [100.0, 100.0]]), np.array([[9.0, 11.0], [150.0, 50.0]])
    naive, scales = np.array([[8.0, 12.0], [90.0, 110.0]]), np.array([4.0, 20.0])
    assert_same(metrics.mase_pooled(y, f, naive).value(), (2 + 100) / (4 + 20))
    assert_same(metrics.mase(y, f, scales).value(), (1 / 4 + 50 / 20) / 2)


def test_mase_pooled_of_the_naive_forecast_is_1(case):
    assert metrics.mase_pooled(case.y, case.naive, case.naive).value() == 1


def test_smape_by_hand():
    """100 for a threefold forecast, 200 for one of the other sign or of zero, and the same the other way round."""
    y, f = np.array([[1.0], [-1.0], [2.0], [0.0]]), np.array([[3.0], [4.0], [0.0], [-5.0]])
    assert_same(metrics.smape(y, f).numerator, [100, 200, 200, 200])
    assert_same(metrics.smape(f, y).numerator, [100, 200, 200, 200])


def test_owa_of_naive2_itself_is_1():
    assert metrics.owa(15.2, 1.9, 15.2, 1.9) == 1


def test_owa_by_hand():
    """Half of Naive2's sMAPE and a quarter of its MASE."""
    assert metrics.owa(smape=10.0, mase=1.0, naive2_smape=20.0, naive2_mase=4.0) == (1 / 2 + 1 / 4) / 2


def test_coverage_difference_does_not_let_wide_intervals_make_up_for_narrow_ones():
    assert_same(metrics.coverage_difference({80: np.float64(0.7), 60: np.float64(0.7)}), 0.1)


def test_coverage_difference_of_several_resamples():
    coverages = {80: np.array([0.8, 0.7, 0.9]), 95: np.array([0.95, 0.95, 1.0])}
    np.testing.assert_allclose(metrics.coverage_difference(coverages), [0, 0.05, 0.075], atol=1e-12)


# Shares


ALL = {
    "scrps": lambda case: case.scrps(),
    "nd": lambda case: metrics.nd(case.y, case.point),
    "mase_pooled": lambda case: metrics.mase_pooled(case.y, case.point, case.naive),
    "mase": lambda case: metrics.mase(case.y, case.point, case.scales),
    "smape": lambda case: metrics.smape(case.y, case.point),
    "coverage": lambda case: metrics.coverage(case.y, *case.bounds(80)),
    "width": lambda case: metrics.width(case.y, *case.bounds(80)),
}


@pytest.mark.parametrize("name", ALL)
def test_a_series_counted_k_times_is_a_series_that_is_there_k_times(name):
    case = random_case(4)
    case = dataclasses.replace(case, histories=[np.ones(9), *case.histories[1:]])  # no MASE for the first
    counts = np.random.default_rng(0).multinomial(len(case.y), np.full(len(case.y), 1 / len(case.y)), size=5)

    def drawn(count: np.ndarray) -> Case:
        rows = np.repeat(np.arange(len(count)), count)
        arrays = {key: getattr(case, key)[rows] for key in ("y", "point", "naive", "quantiles")}
        return dataclasses.replace(case, histories=[case.histories[row] for row in rows], **arrays)

    assert_same(ALL[name](case).resampled(counts), [ALL[name](drawn(count)).value() for count in counts])


def test_a_metric_is_nan_where_it_is_defined_for_no_series():
    y = np.zeros((2, 3))
    assert np.isnan(metrics.mase(y, y + 1, np.zeros(2)).value())
    assert np.isnan(metrics.mase_pooled(y, y + 1, y).value())
    assert np.isnan(metrics.scrps(y, np.ones((2, 3, 1)), (0.5,)).value())
    assert np.isnan(metrics.nd(y, y + 1).value())
    assert np.isnan(metrics.width(y, y, y + 1).value())


def test_only_resamples_without_any_defined_series_are_nan():
    shares = metrics.mean_of_defined(np.array([np.nan, 3.0, 5.0]), np.array([False, True, True]))
    counts = np.array([[3, 0, 0], [2, 1, 0], [0, 1, 2], [1, 1, 1]])
    np.testing.assert_allclose(shares.resampled(counts), [np.nan, 3, 13 / 3, 4])
