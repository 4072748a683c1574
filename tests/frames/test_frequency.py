import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fimjax.errors import InputError
from fimjax.frames.frequency import Frequency, infer_frequency

quick = settings(max_examples=60, deadline=None, database=None, derandomize=True)
CALENDARS = (
    "D 3D W W-WED 2W-MON B 2B MS ME 2MS 3ME QS QE-DEC QS-FEB QE-JAN 2QE YS YE YS-APR 2YE-JUN BMS BME BQE BYS SMS SME "
    "WOM-2MON C"
).split()
TICKS = "h 2h 7h 24h 15min 90min s 30s 10ms us".split()
ZONES = [None, "Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"]


def to_utc(index: pd.DatetimeIndex) -> np.ndarray:
    """Stamps as in a Panel."""
    return (index if index.tz is None else index.tz_convert("UTC").tz_localize(None)).to_numpy().astype("M8[ns]")


def dates(alias: str, start: str = "2019-12-15", n: int = 40, zone: str | None = None) -> np.ndarray:
    """What pandas makes of an alias."""
    return to_utc(pd.date_range(start, periods=n, freq=alias, tz=zone))


@pytest.mark.parametrize("alias", [*CALENDARS, *TICKS, "bh"])
def test_stamps_go_on_as_those_of_pandas(alias):
    stamps = dates(alias)
    frequency = infer_frequency([stamps[:30]], alias)
    after = frequency.stamps_after(stamps[29], 10)
    np.testing.assert_array_equal(after, stamps[30:])
    assert after.dtype == "datetime64[ns]"
    np.testing.assert_array_equal(frequency.stamps_after(stamps[[3, 29]], 4), [stamps[4:8], stamps[30:34]])
    np.testing.assert_array_equal(frequency.positions(stamps, stamps[5]), np.arange(-5, 35))


@quick
@given(
    alias=st.sampled_from(CALENDARS + TICKS),
    zone=st.sampled_from(ZONES),
    # At noon, no clock is changed.
    day=st.datetimes(pd.Timestamp("1925-01-01"), pd.Timestamp("2035-01-01")).map(lambda t: pd.Timestamp(t).normalize()),
    n=st.integers(2, 40),
    at=st.integers(0, 39),
)
def test_clocks_that_change_do_not_matter(alias, zone, day, n, at):
    stamps = dates(alias, day + pd.Timedelta(12, "h"), n, zone)
    frequency = infer_frequency([stamps], alias, zone)
    at %= n
    np.testing.assert_array_equal(frequency.stamps_after(stamps[at], n - 1 - at), stamps[at + 1 :])
    np.testing.assert_array_equal(frequency.positions(stamps, stamps[at]), np.arange(-at, n - at))


@quick
@given(
    alias=st.sampled_from(CALENDARS),
    zone=st.sampled_from(ZONES),
    phase=st.integers(0, 23),
    # Of two years in which every zone here changes its clocks.
    minutes=st.sets(st.integers(0, 2 * 365 * 24 * 60), min_size=3, max_size=40),
)
def test_positions_rise_with_time(alias, zone, phase, minutes):
    stamps = np.datetime64("2017-01-01", "ns") + np.array(sorted(minutes)) * np.timedelta64(60 * 10**9, "ns")
    frequency = Frequency(infer_frequency([stamps], alias, zone).step, zone, phase * 3600 * 10**9)
    positions = frequency.positions(stamps, stamps[1])
    assert positions[1] == 0 and (np.diff(positions) > 0).all()
    # The same, counted from elsewhere: what is given at once does not matter.
    alone = [frequency.positions(stamp, stamps[1]) for stamp in stamps]
    np.testing.assert_allclose(positions, alone, rtol=0, atol=1e-9)


@quick
@given(
    alias=st.sampled_from(CALENDARS + TICKS),
    minute=st.integers(0, 10**7),
    h=st.integers(1, 8),
)
def test_stamps_between_two_dates_go_on_by_addition(alias, minute, h):
    last = pd.Timestamp("2010-01-01") + pd.Timedelta(minute, "min")
    step = pd.tseries.frequencies.to_offset(alias)
    expected = [last]
    for _ in range(h):
        expected.append(expected[-1] + step)
    found = infer_frequency([to_utc(pd.DatetimeIndex([last]))], alias).stamps_after(last.to_datetime64(), h)
    np.testing.assert_array_equal(found, np.array(expected[1:], "M8[ns]"))


def test_time_runs_evenly_between_dates():
    monthly = infer_frequency([dates("MS")], "MS")
    half = monthly.positions(np.datetime64("2024-04-16", "ns"), np.datetime64("2024-04-01", "ns"))
    assert half == 0.5
    quarterly = infer_frequency([dates("QS")], "QS")
    assert quarterly.positions(np.datetime64("2024-02-01", "ns"), np.datetime64("2024-01-01", "ns")) == 31 / 91
    business = infer_frequency([dates("B")], "B")
    weekend = np.array(["2024-03-01", "2024-03-02", "2024-03-03", "2024-03-04"], "M8[ns]")  # from a Friday
    np.testing.assert_allclose(business.positions(weekend, weekend[0]), [0, 1 / 3, 2 / 3, 1])


def test_precision_is_that_of_the_steps_however_long_ago_the_origin():
    nanoseconds = Frequency(pd.offsets.Nano())
    origin = np.datetime64("1800-01-01", "ns")
    late = np.datetime64("2200-01-01", "ns")
    hour = infer_frequency([np.array([origin, late])], "h")
    assert hour.positions(late + np.timedelta64(1, "h"), origin) - hour.positions(late, origin) == 1
    assert nanoseconds.positions(late + np.timedelta64(1, "ns"), late) == 1
    assert infer_frequency([np.array([2**60, 2**60 + 3])], None).positions(2**60 + 6, 2**60) == 2


@pytest.mark.parametrize("freq", [None, "D", "W", "W-FRI", "h", "s", "YS"])
def test_centuries_are_no_span_too_long(freq):
    stamps = np.array(["1700-01-01", "1850-01-01", "2020-01-01"], "M8[ns]")
    days = stamps.astype("M8[D]").astype(int)
    frequency = infer_frequency([stamps], freq)
    length = {"D": 1, "W": 7, "W-FRI": 7, "h": 1 / 24, "s": 1 / 86_400}.get(freq)
    expected = (days - days[-1]) / length if length else (np.array([1700, 1850, 2020]) - 2020) / frequency.step.n
    np.testing.assert_allclose(frequency.positions(stamps, stamps[-1]), expected, rtol=1e-15)
    np.testing.assert_allclose(frequency.positions(stamps[-1], stamps), -expected, rtol=1e-15)


def test_steps_of_centuries():
    uneven = np.array(["1690-03-05 07:00", "2015-06-08 19:21"], "M8[ns]")
    for stamps in (uneven, uneven.astype("M8[D]").astype("M8[ns]")):
        with pytest.raises(InputError, match="^most dates are more than 292 years apart, .* give freq$"):
            infer_frequency([stamps])
    assert infer_frequency([np.array(["1700-01-01", "2020-01-01"], "M8[ns]")]).step == pd.offsets.YearBegin(320)
    assert infer_frequency([np.array([-(2**62), 0, 2**62, 2**62 + 2**61, 2**63 - 1])]).step > 0
    far = np.array([-(2**62) - 2**61, 2**62])
    np.testing.assert_array_equal(infer_frequency([far], 2**40).positions(far, far[0]), [0, 2.5 * 2**22])


def test_closing_times_of_business_days_are_whole_steps():
    stamps = dates("B", "2024-03-01 16:00")
    frequency = infer_frequency([stamps, stamps[5:]])
    assert str(frequency) == "B" and frequency.time_of_day == 16 * 3600 * 10**9
    np.testing.assert_array_equal(frequency.positions(stamps, stamps[0]), np.arange(40))


def test_a_day_that_a_zone_skipped_is_no_step():
    apia = pd.DatetimeIndex(["2011-12-28", "2011-12-29", "2011-12-31", "2012-01-01"], tz="Pacific/Apia")
    frequency = infer_frequency([to_utc(apia)], "D", "Pacific/Apia")
    np.testing.assert_array_equal(frequency.positions(to_utc(apia), to_utc(apia)[0]), [0, 1, 2, 3])
    np.testing.assert_array_equal(frequency.stamps_after(to_utc(apia)[0], 3), to_utc(apia)[1:])


@pytest.mark.parametrize("alias", [*(x for x in CALENDARS if x[:3] not in ("SMS", "SME", "WOM", "2B")), *TICKS])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_the_frequency_shows_in_the_stamps_whatever_is_missing(alias, zone):
    stamps = dates(alias, zone=zone)
    rng = np.random.default_rng(0)
    gappy = [stamps[:30], *(np.sort(rng.choice(stamps[:30], 12, replace=False)) for _ in range(2)), stamps[:1]]
    for series in ([stamps[:30]], gappy):
        frequency = infer_frequency(series, None, zone)
        np.testing.assert_array_equal(frequency.stamps_after(stamps[29], 10), stamps[30:])
        np.testing.assert_array_equal(frequency.positions(stamps, stamps[0]), np.arange(40))
        assert frequency.season_length == infer_frequency(series, alias, zone).season_length


@pytest.mark.parametrize(
    "stamps, name",
    [
        (["2024-01-01", "2024-02-01"], "MS"),
        (["2024-01-31", "2024-02-29"], "ME"),
        (["2024-01-01", "2024-04-01"], "QS-JAN"),
        (["2024-03-31", "2024-06-30"], "QE-DEC"),
        (["2023-06-30", "2024-06-30"], "YE-JUN"),
        (["2023-01-01", "2024-01-01"], "YS-JAN"),
        (["2024-01-01", "2024-01-08"], "W-MON"),
        (["2024-01-01", "2024-01-29"], "4W-MON"),
        (["2024-01-01", "2024-01-02", "2024-01-03"], "D"),
        (["2024-01-04", "2024-01-05", "2024-01-08"], "B"),
        (["2024-01-01 00:00", "2024-01-01 01:00", "2024-01-01 02:00", "2024-01-04 05:00"], "h"),
        # A clock that is not quite exact.
        (["2024-01-01 00:00:01", "2024-01-01 01:00:03", "2024-01-01 02:00:02", "2024-01-01 03:00:05"], "h"),
        # Irregular: the median.
        (["2024-01-01", "2024-01-04", "2024-01-09", "2024-01-20"], "5D"),
        (["2024-01-01 00:00:00", "2024-01-01 00:07:00", "2024-01-01 00:24:00", "2024-01-01 00:55:00"], "17min"),
    ],
)
def test_few_stamps_are_enough(stamps, name):
    assert str(infer_frequency([np.array(stamps, "M8[ns]")])) == name


def test_months_may_be_counted_from_any_day():
    stamps = np.array(["2024-01-30", "2024-02-29", "2024-03-30", "2024-04-30", "2024-06-30"], "M8[ns]")
    frequency = infer_frequency([stamps])
    expected = np.array(["2024-12-30", "2025-01-30", "2025-02-28", "2025-03-30"], "M8[ns]")
    np.testing.assert_array_equal(frequency.stamps_after(stamps[-1], 9)[5:], expected)
    np.testing.assert_array_equal(frequency.positions(stamps, stamps[0]), [0, 1, 2, 3, 5])
    assert frequency.season_length == 12


def test_series_on_different_days_keep_their_own():
    monday, tuesday = dates("W-MON"), dates("W-TUE")
    frequency = infer_frequency([monday[:30], tuesday[:30]])
    found = frequency.stamps_after(np.array([monday[29], tuesday[29]]), 10)
    np.testing.assert_array_equal(found, [monday[30:], tuesday[30:]])
    assert str(frequency) == "7D" and frequency.season_length == 52
    january, february = dates("QS-JAN"), dates("QS-FEB")
    frequency = infer_frequency([january[:30], february[:30]])
    found = frequency.stamps_after(np.array([january[29], february[29]]), 10)
    np.testing.assert_array_equal(found, [january[30:], february[30:]])
    assert str(frequency) == "3MS" and frequency.season_length == 4


@pytest.mark.parametrize(
    "stamps, freq, step, after",
    [
        ([[0, 1, 2, 5]], None, 1, 6),
        ([[0, 10, 20, 50]], None, 10, 60),
        ([[0, 10, 20, 50]], 5, 5, 55),
        ([[0, 10, 20, 50]], np.int64(5), 5, 55),
        ([[0, 10, 20, 50]], 5.0, 5, 55),
        ([[7]], None, 1, 8),
        ([[7], [3, 6]], None, 3, 10),
        ([[0, 2, 7, 20, 51]], None, 9, 60),
        ([[0.0, 0.1, 0.2, 0.30000000000000004]], None, 0.1, 0.4),
        ([np.delete(np.linspace(0, 1, 101), [3, 4, 9])], None, 0.01, 1.01),
        ([[0.0, 0.1, 0.35, 0.9]], None, 0.25, 1.15),
        ([[7.5]], None, 1.0, 8.5),
        ([[0.0, 1.0]], 0.5, 0.5, 1.5),
    ],
)
def test_numbers_have_steps_too(stamps, freq, step, after):
    stamps = [np.array(t) for t in stamps]
    frequency = infer_frequency(stamps, freq)
    assert frequency.step == pytest.approx(step, rel=1e-12) and type(frequency.step) is type(stamps[0][0].item())
    found = frequency.stamps_after(stamps[0][-1], 3)
    assert found[0] == pytest.approx(after) and found.dtype == stamps[0].dtype and found.shape == (3,)
    np.testing.assert_allclose(frequency.positions(found, stamps[0][-1]), [1, 2, 3])
    assert frequency.season_length == 1


@pytest.mark.parametrize(
    "alias, season",
    [
        ("MS", 12), ("ME", 12), ("2MS", 6), ("3MS", 4), ("5MS", 1), ("24MS", 1), ("BME", 12), ("SMS", 24), ("QS", 4),
        ("2QE", 2), ("BQE", 4), ("YS", 1), ("BYE", 1), ("W", 52), ("2W", 26), ("3W", 1), ("7D", 52), ("14D", 26),
        ("D", 7), ("2D", 1), ("24h", 7), ("B", 5), ("h", 24), ("2h", 12), ("7h", 1), ("36h", 1), ("min", 1440),
        ("15min", 96), ("90min", 16), ("s", 3600), ("30s", 120), ("90s", 40), ("7s", 1), ("ms", 1), ("bh", 8),
    ],
)  # fmt: skip
def test_a_frequency_has_a_season(alias, season):
    assert infer_frequency([dates("D")], alias).season_length == season


@pytest.mark.parametrize(
    "old, new",
    [
        ("M", "ME"), ("Q", "QE-DEC"), ("Q-FEB", "QE-FEB"), ("A", "YE-DEC"), ("Y", "YE-DEC"), ("AS", "YS-JAN"),
        ("A-JUN", "YE-JUN"), ("BM", "BME"), ("SM", "SME-15"), ("2M", "2ME"), ("H", "h"), ("15T", "15min"), ("S", "s"),
        ("1H30T", "90min"), ("L", "ms"), ("W-MON", "W-MON"), ("WOM-2MON", "WOM-2MON"), ("d", "D"),
    ],
)  # fmt: skip
def test_old_names_are_understood_without_a_word(old, new):
    assert str(infer_frequency([dates("D")], old)) == new


@pytest.mark.parametrize(
    "stamps, freq, message",
    [
        (dates("D"), "fortnight", "freq='fortnight' is not a frequency that pandas knows"),
        (dates("D"), "", "freq=''"),
        (dates("D"), 1, "freq=1: the times are dates, so freq must be a pandas alias"),
        (dates("D"), "-1D", "freq='-1D' is not a step forward"),
        (dates("D"), "0h", "freq='0h' is not a step forward"),
        (dates("D"), pd.offsets.Week(20_000, weekday=1), "is a step of more than 292 years"),
        (dates("D"), pd.offsets.Week(20_000), "is a step of more than 292 years"),
        (dates("D"), pd.DateOffset(months=1), "is not a step forward with a name"),
        (dates("D")[:1], None, "cannot be inferred because no series has two dates: give freq"),
        (np.arange(3), "D", "freq='D': the times are numbers, so freq must be a number"),
        (np.arange(3), 0.5, "freq=0.5: the times are whole numbers"),
        (np.arange(3), 0, "freq=0: must be greater than 0"),
        (np.arange(3), True, "freq=True: the times are numbers"),
        (np.arange(3.0), np.nan, "freq=nan: must be greater than 0"),
    ],
)
def test_what_is_no_frequency_is_refused_in_a_sentence(stamps, freq, message):
    with pytest.raises(InputError, match=message):
        infer_frequency([stamps], freq)


@pytest.mark.parametrize("alias", ["YS", "D", "W", "B", "BYE", "h"])
def test_time_ends(alias):
    frequency = infer_frequency([dates("D")], alias)
    with pytest.raises(InputError, match="end after|has no dates from"):
        frequency.stamps_after(np.datetime64("2262-04-09", "ns"), 100)
