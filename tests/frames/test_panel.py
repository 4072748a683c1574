import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars
import pytest

from fimjax.errors import InputError
from fimjax.frames.panel import read_panel

Y = [1.0, 2.0, 4.0]
T = [0.0, 0.5, 2.0]
DAYS = pd.date_range("2024-01-01", periods=3)


@pytest.mark.parametrize(
    "series, stamps, values",
    [
        (np.array(Y), [[0, 1, 2]], [Y]),
        (Y, [[0, 1, 2]], [Y]),
        ([1, None, 4], [[0, 1, 2]], [[1, np.nan, 4]]),
        (np.array([Y, Y]), [[0, 1, 2]] * 2, [Y, Y]),
        ([Y, [5, 6]], [[0, 1, 2], [0, 1]], [Y, [5, 6]]),
        ([jnp.array(Y), np.arange(2)], [[0, 1, 2], [0, 1]], [Y, [0, 1]]),
        (jnp.array([Y], jnp.bfloat16), [[0, 1, 2]], [Y]),
        ((T, Y), [T], [Y]),
        ((T, [Y, Y]), [T, T], [Y, Y]),
        ((T, Y, [True, False, True]), [T], [[1, np.nan, 4]]),
        ((T, [Y, Y], [[1, 1, 0], [0, 1, 1]]), [T, T], [[1, 2, np.nan], [np.nan, 2, 4]]),
        ([(T, Y), Y, (T, Y, [False, True, True])], [T, [0, 1, 2], T], [Y, Y, [np.nan, 2, 4]]),
        (np.ma.masked_array(Y, [False, True, False]), [[0, 1, 2]], [[1, np.nan, 4]]),
        (np.ma.masked_array([Y], [[True, True, True]]), [[0, 1, 2]], [[np.nan] * 3]),
        ((T, np.ma.masked_array(Y, [True, False, False]), [True, True, False]), [T], [[np.nan, 2, np.nan]]),
        # What is not observed may be anything.
        ((T, [1.0, np.inf, 4.0], [True, False, True]), [T], [[1, np.nan, 4]]),
        # Times that do not rise are padding, if they belong to no observation.
        (([3.0, 5.0, 0.0], Y, [True, True, False]), [[3, 5]], [[1, 2]]),
        (([3.0, 5.0, np.inf], Y, [True, True, False]), [[3, 5]], [[1, 2]]),
    ],
)
def test_arrays_of_many_shapes_are_series(series, stamps, values):
    panel = read_panel(series)
    assert list(panel.ids) == list(range(len(values))) and len(panel) == len(values)
    for found, expected in zip(panel.stamps + panel.values, stamps + values, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert {y.dtype for y in panel.values} == {np.dtype(np.float64)}
    assert {t.dtype for t in panel.stamps} <= {np.dtype(np.float64), np.dtype(np.int64)}


def test_times_may_be_dates():
    days = pd.date_range("2024-01-01", periods=3)
    for t in (days, days.to_numpy().astype("datetime64[D]"), days.as_unit("s").to_numpy()):
        (stamps,) = read_panel((t, Y)).stamps
        assert stamps.dtype == "datetime64[ns]" and (stamps == days.to_numpy()).all()


@pytest.mark.parametrize("order", [1, -1])
def test_times_of_all_series_are_of_one_type(order):
    parts = [Y, (T, Y), ([3, 5, 8], Y)]
    panel = read_panel(parts[::order])
    assert {t.dtype for t in panel.stamps} == {np.dtype(np.float64)}
    for found, expected in zip(panel.stamps, [[0, 1, 2], T, [3, 5, 8]][::order], strict=True):
        np.testing.assert_array_equal(found, expected)
    whole = read_panel(parts[::2])
    assert {t.dtype for t in whole.stamps} == {np.dtype(np.int64)}


@pytest.mark.parametrize(
    "index, stamps",
    [
        (None, [0, 1, 2]),
        (DAYS, DAYS.to_numpy()),
        (DAYS.as_unit("s"), DAYS.to_numpy()),
        ([1, 4, 5], [1, 4, 5]),
        (pd.RangeIndex(2, 8, 2), [2, 4, 6]),
        (pd.Index([1, 4, 5], dtype="Int64"), [1, 4, 5]),
        (T, T),
    ],
)
def test_the_index_of_a_series_is_its_times(index, stamps):
    series = pd.Series(Y, index)
    for given in (series, [series, series], (None, series, [True] * 3)):
        panel = read_panel(given)
        for found, values in zip(panel.stamps, panel.values, strict=True):
            np.testing.assert_array_equal(found, stamps)
            np.testing.assert_array_equal(values, Y)
    # Unless other times are given.
    np.testing.assert_array_equal(read_panel((T, series)).stamps, [T])
    np.testing.assert_array_equal(read_panel(polars.Series(Y)).stamps, [[0, 1, 2]])


@pytest.mark.parametrize(
    "series, message",
    [
        ([], "there are no series"),
        (np.zeros((0, 3)), "there are no series"),
        ([[1.0], []], "series 1 is empty"),
        (np.zeros(0, bool), "series 0 is empty"),
        (np.zeros((2, 2, 2)), "y of series 0 must have 1 dimension, but has 3"),
        (3.0, r"the input is a single number \(3.0\), not a frame"),
        (None, "the input is None, not a frame of pandas or polars, an array or list of numbers, a list of these, or"),
        ({"a": Y}, "the input is a dict, not a frame of pandas or polars, an array"),
        ("sales.csv", r"the input is text \('sales.csv'\), not a frame"),
        ((y for y in Y), "the input is a generator, not a frame"),
        (np.array(3.0), "the input is an array without a dimension, not a frame"),
        ([Y, None], "y of series 1 is None, not an array or a list of numbers"),
        ((0.0, Y), r"t of series 0 is a single number \(0.0\), not an array"),
        ((T, Y, True), r"mask of series 0 is a single number \(True\), not an array"),
        ([[[1.0, 2.0], [3.0]]], "y of series 0 is not an array of numbers"),
        ((T,), r"a tuple must be \(t, y\) or \(t, y, mask\), but has 1 items"),
        ([(1, 2, 3, 4)], "has 4 items"),
        ((T[:2], Y), "t of series 0 has 2 points, but y has 3"),
        ((T, Y, [True]), "mask of series 0 has 1 points, but y has 3"),
        ((T[:2], [Y, Y]), r"shapes \(2,\) and \(2, 3\) do not fit"),
        ((T, Y, [0.5, 1, 1]), "mask of series 0 must be True where y is observed"),
        ([Y, [1.0, np.inf]], "y of series 1 is infinite in row 1"),
        ((T, [1, 2, -np.inf], [False, True, True]), "y of series 0 is infinite in row 2"),
        (["a", "b"], r"y of series 0 is text \('a'\), not an array or a list of numbers"),
        ([["1", "b"]], "y of series 0 holds text: 'b' in row 1"),
        (np.array([1.0, "2"], object), "y of series 0 holds text: '2' in row 1"),
        ([[1.0, {}]], "y of series 0 holds a dict, not a number, in row 1"),
        ([True, False], "y of series 0 holds booleans"),
        (np.array([1j]), "y of series 0 holds complex numbers"),
        (([0, 1, 1], Y), "t of series 0 repeats 1 in row 2"),
        (([0, 2, 1], Y), "t of series 0 goes back in row 2: sort"),
        (([9, 2, 1], Y, [False, True, True]), "t of series 0 goes back in row 2"),
        (([0, 1, np.nan], Y), "t of series 0 is missing in row 2"),
        (([0, 1, np.inf], Y), "t of series 0 is infinite in row 2"),
        ((["a", "b", "c"], Y), "t of series 0 holds text, not dates"),
        (([True] * 3, Y), "t of series 0 holds booleans, not dates"),
        ((np.ma.masked_array(T, [True, False, False]), Y), "t of series 0 is masked"),
        ((np.array([1, 2, 2**63], np.uint64), Y), r"t of series 0 is out of range \(9223372036854775808\) in row 2"),
        ([(T, Y), Y, (DAYS, Y)], "t of series 2 holds dates, but t of series 0 holds numbers"),
        ([(DAYS, Y), (DAYS, Y), Y], "t of series 2 holds numbers, but t of series 0 holds dates"),
        ([(T, Y), ([0, 2**60, 2**60 + 1], Y)], "t of series 1 is too large for floats"),
        (pd.Series(Y, list("abc")), r"the index of series 0 holds neither dates .* nor numbers \('a'\): give \(t, y\)"),
        ([Y, pd.Series(Y, [True, False, True])], "the index of series 1 holds neither dates"),
        (pd.Series(Y, pd.MultiIndex.from_product([[0], [1, 2, 3]])), "the index of series 0 holds neither dates"),
        (pd.Series(Y, DAYS.to_period("D")), "the index of series 0 holds neither dates"),
        (
            pd.Series(Y, DAYS.tz_localize("UTC")),
            r"the index of series 0 has a time zone \(UTC\), which arrays cannot keep",
        ),
        (pd.Series(Y, [0, 2, 1]), "t of series 0 goes back in row 2"),
        ((np.array(["2024", "2025", "9999"], "M8[Y]"), Y), r"t of series 0 is out of range \(9999\) in row 2"),
    ],
)
def test_what_is_no_series_is_refused_in_a_sentence(series, message):
    with pytest.raises(InputError, match=message):
        read_panel(series)
