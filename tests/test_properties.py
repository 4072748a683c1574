"""What holds of every forecast, whatever the series: of its company, its units, its calendar, its frame."""

import dataclasses
import functools
import warnings

import numpy as np
import pandas as pd
import polars
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fimjax.config import Config, WindowConfig
from fimjax.forecaster import Forecaster
from fimjax.inference import batching, request
from tests.examples import FIM, WINDOW_COUNT
from tests.inference.parameters import params_of

LEVELS = tuple(round(0.1 * i, 1) for i in range(1, 10))
LONGEST = 16
"""Steps of the longest window of the model: beyond it, forecasts are rolled out."""
TAILS = (0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999)
NESTED = (50, 80, 95, 99.8)

# The same examples every time; a first example compiles and is slow.
examples = functools.partial(
    settings, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), print_blob=False
)


@functools.cache
def forecaster():
    """Nine quantiles, three windows of the past, the phases of a season."""
    local = dataclasses.replace(FIM.local, quantile_levels=LEVELS)
    model = dataclasses.replace(FIM, local=local)
    windows = WindowConfig(count=WINDOW_COUNT, slots=16, min_steps=4, max_steps=LONGEST, min_history=3)
    config = Config(model=model, windows=windows)
    return Forecaster(config, params_of(config))


def numbers(frame) -> np.ndarray:
    """What a forecast says [rows, columns], without ids and times."""
    return np.asarray(frame.drop(columns=["unique_id", "ds"]))


def to_frame(series, ids=None) -> pd.DataFrame:
    """A long frame of pairs of times and values."""
    ids = range(len(series)) if ids is None else ids
    return pd.concat(
        [pd.DataFrame({"unique_id": f"s{i}", "ds": t, "y": y}) for i, (t, y) in zip(ids, series)], ignore_index=True
    )


def spread(y) -> float:
    return float(np.ptp(y)) or 1.0


plain_values = st.floats(-100, 100, width=16)
wild_values = st.floats(allow_nan=False, allow_infinity=False)
horizons = st.integers(1, 8)
far_horizons = st.sampled_from([1, 8, LONGEST + 1, 40])  # few, for every power of two is a program


@st.composite
def regular(draw, elements=plain_values, most=60):
    """A series without gaps."""
    y = draw(st.lists(elements, min_size=1, max_size=most))
    return np.arange(len(y)), np.array(y)


@st.composite
def gappy(draw, elements=plain_values, most=60):
    """A series that lacks some of its steps, but neither the first nor the last one."""
    t, y = draw(regular(elements, most))
    kept = np.array(draw(st.lists(st.booleans(), min_size=len(y), max_size=len(y))))
    kept[[0, -1]] = True
    return t[kept], y[kept]


@st.composite
def irregular(draw, elements=plain_values, most=40):
    """A series at any times."""
    steps = draw(st.lists(st.floats(0.01, 20), min_size=1, max_size=most))
    y = draw(st.lists(elements, min_size=len(steps), max_size=len(steps)))
    return np.cumsum(steps), np.array(y)


def any_times(elements):
    return st.one_of(regular(elements), gappy(elements), irregular(elements))


def forecast(series, h, **settings):
    return numbers(forecaster().forecast(to_frame(series), h, **({"freq": 1, "quantiles": LEVELS} | settings)))


def assert_same(found, expected, scale, tolerance=1e-5):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


# Batches, padding, chunks, order


@examples(max_examples=13)
@given(st.lists(gappy(), min_size=1, max_size=8), st.randoms(use_true_random=False), horizons)
def test_neither_company_nor_order_show(series, random, h):
    """To the last bit, where the batches are of one size."""
    alone = forecast(series[:1], h, season_length=4)
    order = list(range(len(series)))
    random.shuffle(order)
    together = forecast([series[i] for i in order], h, season_length=4).reshape(len(series), h, -1)
    np.testing.assert_array_equal(together[order.index(0)], alone)


@examples(max_examples=8)
@given(
    st.lists(gappy(), min_size=9, max_size=12),
    horizons,
    st.sampled_from(
        [{"CHUNK_SERIES": 1}, {"CHUNK_SERIES": 5}, {"BATCHES": (2, 4)}, {"MIN_POINTS": 64, "MIN_QUERIES": 16}]
    ),
)
def test_chunks_batches_and_padding_do_not_show(series, h, changes):
    """But for rounding: another shape is another program, and sums in another order (1e-6 was seen)."""
    expected = forecast(series, h).reshape(len(series), h, -1)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in changes.items():
            patch.setattr(batching if hasattr(batching, name) else request, name, value)
        found = forecast(series, h).reshape(len(series), h, -1)
    for (_, y), a, b in zip(series, found, expected):
        assert_same(a, b, spread(y))


@examples(max_examples=16)
@given(gappy(), horizons)
def test_a_row_without_a_value_is_no_row(series, h):
    t, y = series
    filled = np.full(t[-1] + 1, np.nan)
    filled[t] = y
    np.testing.assert_array_equal(forecast([(np.arange(len(filled)), filled)], h), forecast([series], h))


# Units and calendars


@examples(max_examples=20)
@given(gappy(), horizons, st.floats(1e-6, 1e6), st.floats(-1e6, 1e6))
def test_forecasts_have_the_units_of_their_series(series, h, scale, shift):
    t, y = series
    moved = forecast([(t, shift + scale * y)], h)
    expected = shift + scale * forecast([series], h)
    np.testing.assert_allclose(moved, expected, rtol=1e-12, atol=1e-4 * scale * np.ptp(y))


@examples(max_examples=20)
@given(gappy(), horizons, st.integers(-(2**40), 2**40), st.integers(1, 10**6), st.sampled_from([1, 4, 12]))
def test_numbered_steps_may_begin_anywhere_and_have_any_length(series, h, shift, length, season):
    t, y = series
    moved = forecast([(shift + length * t, y)], h, freq=length, season_length=season)
    np.testing.assert_array_equal(moved, forecast([series], h, season_length=season))


@examples(max_examples=16)
@given(irregular(), horizons, st.integers(-1000, 1000), st.integers(-8, 8))
def test_so_may_times_that_are_no_steps(series, h, shift, power):
    """Powers of two, for which the arithmetic of times is exact."""
    t, y = np.round(series[0] * 1024) / 1024, series[1]
    moved = forecast([(2.0**power * (t + shift), y)], h, freq=2.0**power)
    np.testing.assert_array_equal(moved, forecast([(t, y)], h, freq=1.0))


@examples(max_examples=16)
@given(regular(), horizons, st.sampled_from([0.1, 0.2, 0.3, 1 / 12, 1 / 24, 0.7]))
def test_steps_may_be_decimals(series, h, length):
    t, y = series
    assert_same(forecast([(length * t, y)], h, freq=length), forecast([series], h), spread(y))


FREQUENCIES = ("D", "h", "15min", "MS", "ME", "W-SUN", "B", "QS")


@examples(max_examples=26)
@given(gappy(), horizons, st.sampled_from(FREQUENCIES), st.integers(0, 3000), st.sampled_from([None, "Europe/Vienna"]))
def test_dates_are_steps(series, h, freq, first, zone):
    t, y = series
    calendar = pd.date_range("1985-03-01", periods=first + t[-1] + 1 + h, freq=freq, tz=zone)[first:]
    df = pd.DataFrame({"unique_id": "a", "ds": calendar[t], "y": y})
    found = forecaster().forecast(df, h, freq, quantiles=LEVELS, season_length=7)
    assert list(found["ds"]) == list(calendar[t[-1] + 1 :])
    np.testing.assert_array_equal(numbers(found), forecast([series], h, season_length=7))


# Quantiles


@examples(max_examples=16)
@given(gappy(), far_horizons, st.tuples(plain_values, plain_values), st.booleans())
def test_quantiles_are_sorted_and_intervals_nested(series, h, bounds, bounded):
    settings = {"bounds": (min(bounds), max(bounds))} if bounded else {}
    quantiles = forecast([series], h, quantiles=TAILS, **settings)
    assert np.all(np.diff(quantiles[:, 1:], axis=-1) >= 0)
    intervals = forecast([series], h, quantiles=None, level=NESTED, **settings)
    median, low, high = intervals[:, :1], intervals[:, 1::2], intervals[:, 2::2]
    assert np.all(low <= median) and np.all(median <= high)
    assert np.all(np.diff(low, axis=-1) <= 0) and np.all(np.diff(high, axis=-1) >= 0)
    if bounded:
        assert quantiles.min() >= min(bounds) and quantiles.max() <= max(bounds)


@examples(max_examples=10)
@given(gappy(), st.sampled_from([LONGEST + 1, 40, 57]))
def test_intervals_do_not_shrink_from_window_to_window(series, h):
    answers = forecast([series], h)
    width = answers[:, -1] - answers[:, 1]
    for first in range(LONGEST, h, LONGEST):
        assert np.all(width[first : first + LONGEST] >= width[first - 1] - 1e-9 * spread(series[1]))


# Every series has an answer


@examples(max_examples=26)
@given(any_times(wild_values), horizons)
def test_every_finite_series_has_a_finite_forecast(series, h):
    quantiles = forecast([series], h)
    assert np.isfinite(quantiles).all() and np.all(quantiles[:, 1:-1] <= quantiles[:, 2:])


@examples(max_examples=16)
@given(any_times(wild_values), far_horizons)
def test_so_have_far_horizons_and_tails(series, h):
    assert np.isfinite(forecast([series], h, quantiles=TAILS)).all()


@examples(max_examples=20)
@given(wild_values, st.integers(1, 30), horizons)
def test_a_constant_goes_on(value, n, h):
    np.testing.assert_array_equal(forecast([(np.arange(n), np.full(n, value))], h), value)


@examples(max_examples=8)
@given(st.lists(st.booleans(), min_size=1, max_size=6), horizons)
def test_a_series_without_observations_has_none(empty, h):
    series = [(np.arange(5), np.full(5, np.nan) if none else np.arange(5.0)) for none in empty]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = forecast(series, h)
    named = ", ".join(f"'s{i}'" for i, none in enumerate(empty) if none)
    expected = [f"no observed value, so predictions are NaN: series {named}"] if any(empty) else []
    assert [str(w.message) for w in caught] == expected
    np.testing.assert_array_equal(np.isnan(found).all(axis=-1), np.repeat(empty, h))
    np.testing.assert_array_equal(np.isnan(found).any(axis=-1), np.repeat(empty, h))


# Frames

NAMES = st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=5, unique=True)
IDS = {"str": NAMES, "category": NAMES, "int32": st.lists(st.integers(-99, 99), min_size=1, max_size=5, unique=True)}


@st.composite
def frames(draw):
    """A frame of pandas with ids of some type and dates of some unit and zone, under names of its own."""
    kind = draw(st.sampled_from(sorted(IDS)))
    ids = draw(IDS[kind])
    unit, zone = draw(st.sampled_from(["s", "ms", "us", "ns"])), draw(st.sampled_from([None, "UTC", "Asia/Tokyo"]))
    lengths = draw(st.lists(st.integers(2, 12), min_size=len(ids), max_size=len(ids)))
    rows = [
        pd.DataFrame(
            {"name": id, "when": pd.date_range("2021-05-01", periods=n, tz=zone), "count": np.sqrt(np.arange(n))}
        )
        for id, n in zip(ids, lengths)
    ]
    df = pd.concat(rows, ignore_index=True)
    df["when"] = df["when"].dt.as_unit(unit)
    df["name"] = df["name"].astype(kind)
    if draw(st.booleans()):  # one row of each series after the other
        df = df.sort_values("when", kind="stable")
    return df


COLUMNS = {"id_col": "name", "time_col": "when", "target_col": "count"}


@examples(max_examples=20)
@given(frames(), horizons, st.booleans())
def test_the_frame_out_is_like_the_frame_in(df, h, in_polars):
    before = df.copy(deep=True)
    data = polars.from_pandas(df) if in_polars else df
    found = forecaster().forecast(data, h, level=80, **COLUMNS)
    pd.testing.assert_frame_equal(df, before)
    assert isinstance(found, polars.DataFrame if in_polars else pd.DataFrame)
    assert list(found.columns) == ["name", "when", "FIM", "FIM-lo-80", "FIM-hi-80"]
    for column in ("name", "when"):
        assert found[column].dtype == data[column].dtype
    if in_polars:
        assert data.equals(polars.from_pandas(before))
        found = found.to_pandas()
    ids = list(dict.fromkeys(df["name"]))
    assert list(found["name"]) == [id for id in ids for _ in range(h)]
    last = df.groupby("name", observed=True)["when"].max()
    assert list(found["when"]) == [last[id] + pd.Timedelta(days=i + 1) for id in ids for i in range(h)]


# Any time


def query(series, times, **settings):
    df = to_frame([series])
    return numbers(forecaster().query(df, times, **({"freq": 1, "quantiles": LEVELS} | settings)))


asked_times = st.lists(st.floats(-20, 80, width=32), min_size=1, max_size=8)


@examples(max_examples=16)
@given(any_times(wild_values), asked_times)
def test_every_time_has_a_finite_answer(series, times):
    quantiles = query(series, times)
    assert np.isfinite(quantiles).all() and np.all(quantiles[:, 1:-1] <= quantiles[:, 2:])


@examples(max_examples=16)
@given(any_times(plain_values), asked_times, st.floats(1e-3, 1e3), st.floats(-1e3, 1e3), st.integers(-1000, 1000))
def test_answers_at_any_time_have_the_units_of_their_series(series, times, scale, shift, later):
    t, y = np.round(series[0] * 1024) / 1024, series[1]
    times = np.round(np.array(times) * 1024) / 1024
    moved = query((t + later, shift + scale * y), times + later)
    np.testing.assert_allclose(moved, shift + scale * query((t, y), times), rtol=1e-12, atol=1e-4 * scale * np.ptp(y))


@examples(max_examples=13)
@given(st.lists(gappy(), min_size=1, max_size=5))
def test_interpolation_answers_each_step_once_and_alone(series):
    model = forecaster()
    together = model.interpolate(to_frame(series), freq=1, level=80)
    assert list(together["ds"]) == [step for t, _ in series for step in range(t[-1] + 1)]
    alone = model.interpolate(to_frame(series[:1]), freq=1, level=80)
    columns = ["FIM", "FIM-lo-80", "FIM-hi-80"]
    assert_same(together[columns][: len(alone)], alone[columns], spread(series[0][1]))
    t, y = series[0]
    np.testing.assert_array_equal(alone["y"].dropna(), y)
