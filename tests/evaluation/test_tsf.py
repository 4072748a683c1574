"""The reader of the .tsf format."""

import numpy as np
import pytest

from fimjax.errors import EvaluationError
from fimjax.evaluation.datasets.tsf import parse_tsf

HEADER = """# Dataset Information
# Makridakis, S., Hibon, M., 2000, 451–476.
#
@relation M3
@attribute series_name string
@attribute start_timestamp date
@frequency quarterly
@horizon 8
@missing true
@equallength false
@data
"""


def parse(text):
    return parse_tsf(text.splitlines(keepends=True), "m3.tsf")


def test_reads_header_names_starts_and_values_in_the_order_of_the_file():
    tsf = parse(HEADER + "T2:1984-01-01 00-00-00:3142.63,-1e3,5\n\nT1:1983-07-01 12-30-00:7\n")
    assert (tsf.frequency, tsf.horizon) == ("quarterly", 8)
    assert tsf.names == ["T2", "T1"]
    assert tsf.starts == ["1984-01-01 00:00:00", "1983-07-01 12:30:00"]
    np.testing.assert_array_equal(tsf.values[0], [3142.63, -1000.0, 5.0])
    np.testing.assert_array_equal(tsf.values[1], [7.0])


def test_a_question_mark_is_a_missing_value():
    values = parse(HEADER + "T1:1984-01-01 00-00-00:1,?,3\n").values[0]
    np.testing.assert_array_equal(values, [1.0, np.nan, 3.0])


def test_frequency_horizon_and_start_may_be_unknown():
    tsf = parse("@attribute series_name string\n@attribute state numeric\n@data\nT1:4:1,2\n")
    assert (tsf.frequency, tsf.horizon, tsf.starts) == (None, None, [""])


GOOD = "T1:1984-01-01 00-00-00:1,2\n"


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("<!doctype html>\n<html></html>\n", 1, "'<!doctype html>' is not a line of a .tsf header"),
        ("@attribute series_name\n", 1, "does not name an attribute and its type"),
        ("@attribute series_name text\n", 1, "does not name an attribute and its type"),
        ("@horizon eight\n", 1, "does not give a number of steps"),
        ("@frequency yearly\n@data\nT1:1\n", 2, "@data comes before an @attribute series_name"),
        ("", 0, "ends before its first series"),
        (HEADER, 11, "ends before its first series"),
        (HEADER + GOOD + "T2:1984-01-01 00-00-00:1,2,\n", 13, "could not convert string to float: ''"),
        (HEADER + GOOD + "T2:1984-01-01 00-00-00:1,x,3\n", 13, "could not convert string to float: 'x'"),
        (HEADER + GOOD + "T2:1984-01-01 00-00\n", 13, "1 attributes before the values; the header has 2"),
        (HEADER + GOOD + "T2:1984-01-01:1,2\n", 13, "does not match format"),
        (HEADER + GOOD + GOOD, 13, "series T1 occurs twice"),
    ],
)
def test_errors_name_file_and_line(text, line, says):
    with pytest.raises(EvaluationError) as error:
        parse(text)
    assert str(error.value).startswith(f"m3.tsf, line {line}: ")
    assert says in str(error.value)
    assert "\n" not in str(error.value)
