"""Which column is what, and what happens in doubt."""

import io

import pandas as pd
import pytest

from fimjax.cli.columns import Columns, find_columns, is_id_name
from fimjax.cli.console import CommandError
from fimjax.cli.spellings import read_times


def table(text):
    return pd.read_csv(io.StringIO(text))


LONG = "a,2020-01-01,1\na,2020-01-02,2\nb,2020-01-01,3\nb,2020-01-02,5\n"


@pytest.mark.parametrize(
    "text, id, time, targets",
    [
        ("unique_id,ds,y\n" + LONG, "unique_id", "ds", ["y"]),
        ("Item ID,Date,#Sales\n" + LONG, "Item ID", "Date", ["#Sales"]),
        ("who,when,how much\n" + LONG, "who", "when", ["how much"]),
        ("Month,#Passengers\n1949-01,112\n1949-02,118\n", None, "Month", ["#Passengers"]),
        ("year,value\n1949,112\n1950,118\n", None, "year", ["value"]),
        ("when,a,b\n2020-01-01,1,5\n2020-01-02,2,3\n", None, "when", ["a", "b"]),
        ("date,101,102\n2020-01-01,1,5\n2020-01-02,2,3\n", None, "date", ["101", "102"]),
        ("x,amps\n0.5,1\n1.0,-1\n", None, "x", ["amps"]),
        ("x,y\n1,1\n2,2\n3,3\n", None, "x", ["y"]),
        ("readings\n1\n2\n3\n", None, None, ["readings"]),
        # Only what repeats tells series apart, and only where times repeat does a series need telling.
        ("id,date,y\n1,2020-01-01,1\n2,2020-01-02,2\n", None, "date", ["y"]),
        ("date,weekday,y\n2020-01-01,We,1\n2020-01-08,We,2\n", None, "date", ["y"]),
        ("date,store,y\n2020-01-01,1,1\n2020-01-01,2,2\n2020-01-02,1,3\n", "store", "date", ["y"]),
        ("unit,who,date,y\nEUR,a,2020-01-01,1\nEUR,a,2020-01-02,1\nEUR,b,2020-01-01,1\n", "who", "date", ["y"]),
        ("series,step,amps\na,0,5\na,1,4\nb,0,1\nb,1,2\n", "series", "step", ["amps"]),
        ("date,time,y\n2020-01-01,10:00,1\n2020-01-01,11:00,2\n2020-01-02,10:00,2\n", None, "date", ["y"]),
        ("date,hour,y\n2020-01-01,10,1\n2020-01-01,11,2\n2020-01-02,10,2\n", None, "date", ["y"]),
        # One usual name among numbers is the target, the others are not series.
        ("date,sales,temperature\n2020-01-01,1,20\n2020-01-02,2,21\n", None, "date", ["sales"]),
        ("date,year,sales\n2020-01-01,2020,20\n2020-01-02,2020,21\n", None, "date", ["sales"]),
        # What pandas and R write before their rows.
        (",date,amps\n0,2020-01-01,4\n1,2020-01-02,2\n", None, "date", ["amps"]),
        (",amps\n2020-01-01,4\n2020-01-02,2\n", None, "Unnamed: 0", ["amps"]),
        ("date,y,\n2020-01-01,4,\n2020-01-02,2,\n", None, "date", ["y"]),
        # Text among numbers is for the library to refuse.
        ("date,amps\n2020-01-01,4\n2020-01-02,?\n2020-01-03,3\n", None, "date", ["amps"]),
    ],
)
def test_columns_are_found(text, id, time, targets):
    assert find_columns(table(text)) == Columns(id, time, tuple(targets))


@pytest.mark.parametrize(
    "text, given, message",
    [
        ("date,timestamp,y\n2020-01-01,5,1\n2020-01-02,6,2\n", {}, "'date', 'timestamp': give --time"),
        ("from,to,y\n2020-01-01,2020-01-02,1\n2020-01-02,2020-01-03,2\n", {}, "'from', 'to': give --time"),
        ("a,b,c\n1,2,9\n2,3,5\n", {}, "several columns may be the time, 'a', 'b': give --time"),
        ("a,b\n3,2\n2,3\n1,0\n", {}, "none of the columns 'a', 'b' holds times: give --time"),
        ("id,amps\na,2\na,3\n", {}, "none of the columns 'id', 'amps' holds times"),
        ("id,item,date,y\na,b,2020-01-01,1\na,b,2020-01-02,1\n", {}, "'id', 'item': give --id"),
        (
            "shop,what,date,y\n" + "a,b,2020-01-01,1\na,c,2020-01-01,1\nd,c,2020-01-01,1\n",
            {},
            "'shop', 'what': give --id",
        ),
        (
            "date,number,amps\n2020-01-01,1,1\n2020-01-01,2,1\n",
            {},
            "which of the columns 'number', 'amps' identifies the series",
        ),
        ("id,date,a,b\na,2020-01-01,1,2\na,2020-01-02,1,2\n", {}, "'a', 'b': give --target"),
        ("id,date,sales,price\na,2020-01-01,1,2\na,2020-01-02,1,2\n", {}, "'sales', 'price': give --target"),
        ("date,note\n2020-01-01,x\n2020-01-02,y\n", {}, "holds numbers: give --target"),
        ("date,y\n2020-01-01,1\n", {"time": "day"}, "--time: there is no column 'day', only 'date', 'y'"),
        ("date,y\n2020-01-01,1\n", {"time": "y", "targets": ["y"]}, "column 'y' is given twice"),
        ("id,date,a,b\nx,2020-01-01,1,2\n", {"id": "id", "targets": ["a", "b"]}, "so --id cannot be given"),
    ],
)
def test_doubt_is_an_error_that_names_candidates_and_option(text, given, message):
    with pytest.raises(CommandError) as caught:
        find_columns(table(text), **given)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_given_columns_settle_it():
    text = "id,date,timestamp,sales,price\na,2020-01-01,5,1,2\na,2020-01-02,6,1,2\n"
    columns = find_columns(table(text), time="timestamp", targets=["price"])
    assert columns == Columns("id", "timestamp", ("price",))
    assert "sales" not in columns and "price" in columns
    assert find_columns(table("x,amps\n1,1\n2,2\n"), targets=["amps"]) == Columns(None, "x", ("amps",))
    assert find_columns(table("amps\n1\n2\n"), targets=["amps"]) == Columns(None, None, ("amps",))
    wide = table("id,date,a,b\nx,2020-01-01,1,2\nx,2020-01-02,1,2\n")
    assert find_columns(wide, targets=["a", "b"]) == Columns(None, "date", ("a", "b"))
    assert is_id_name("Store") and not is_id_name("Store", "other") and is_id_name("other", "other")


@pytest.mark.parametrize(
    "texts, stamps, spelled",
    [
        (["1949-11", "1949-12"], ["1949-11-01", "1949-12-01"], "1950-01"),
        (["2020-01-01", "2020-01-02 12:00"], ["2020-01-01", "2020-01-02 12:00"], None),
        (["13/02/2020", "14/02/2020"], ["2020-02-13", "2020-02-14"], None),
        (["1/2/2020", "13/2/2020"], ["2020-02-01", "2020-02-13"], None),
        (["1/2/2020", "1/13/2020"], ["2020-01-02", "2020-01-13"], None),
        (["Nov 1949", "Dec 1949"], ["1949-11-01", "1949-12-01"], None),
        (["1949Q3", "1949Q4"], ["1949-07-01", "1949-10-01"], None),
        ([20191130, 20191231], ["2019-11-30", "2019-12-31"], 19500101),
        ([201911, 201912], ["2019-11-01", "2019-12-01"], 195001),
        ([1.5, 2.5], [1.5, 2.5], None),
        ([1949, 1950], [1949, 1950], None),
        ([1, 2], [1, 2], None),
    ],
)
def test_times_in_many_spellings(texts, stamps, spelled):
    times = read_times(pd.Series(texts, name="when"))
    expected = (
        pd.Series(stamps) if isinstance(stamps[0], int | float) else pd.to_datetime(pd.Series(stamps), format="ISO8601")
    )
    assert list(times.stamps) == list(expected)
    if spelled is not None:
        assert list(times.spell(pd.Series([pd.Timestamp("1950-01-01")]))) == [spelled]


def test_years_are_dates_unless_the_frequency_is_a_number():
    years = pd.Series([1949, 1950], name="Year")
    times = read_times(years)
    assert list(times.stamps.dt.year) == [1949, 1950]
    assert list(times.spell(pd.to_datetime(pd.Series(["1951-01-01"])))) == [1951]
    assert list(read_times(years, keep_numbers=True).stamps) == [1949, 1950]


def test_time_zones():
    one = read_times(pd.Series(["2020-01-01T00:00+01:00", "2020-01-02T00:00+01:00"], name="when")).stamps
    assert one.dt.tz is not None and one[0].hour == 0
    several = read_times(pd.Series(["2020-01-01T00:00+01:00", "2020-07-01T00:00+02:00"], name="when")).stamps
    assert list(several.dt.hour) == [23, 22]


@pytest.mark.parametrize(
    "texts, settings, message",
    [
        (["01/02/2020", "01/03/2020"], {}, "such as 01/02/2020, which may begin with the day or with the month"),
        (["2020-01-01", "soon"], {}, "holds 'soon' in row 1, which does not read as a date"),
        (["01.02.2020", "x"], {"date_format": "%d.%m.%Y"}, "--date-format: column 'when' is not all in it"),
    ],
)
def test_times_that_cannot_be_read(texts, settings, message):
    with pytest.raises(CommandError) as caught:
        read_times(pd.Series(texts, name="when"), **settings)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_given_format_settles_which_is_the_month():
    times = read_times(pd.Series(["01/02/2020", "01/03/2020"], name="when"), "%d/%m/%Y")
    assert list(times.stamps.dt.month) == [2, 3]
    assert list(times.spell(times.stamps)) == ["01/02/2020", "01/03/2020"]
