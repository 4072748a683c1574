import datetime
import decimal

import dateutil.tz
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fimjax.errors import InputError
from fimjax.frames.tables import read_frame

quick = settings(max_examples=40, deadline=None, database=None, derandomize=True)
DAYS = pd.date_range("2024-03-30", periods=3)
frames = pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])


def columns(**changes):
    """Two series of three rows, the rows of which take turns."""
    ids = ["b", "a"] * 3
    return {"unique_id": ids, "ds": DAYS.repeat(2).to_numpy(), "y": np.arange(6.0)} | changes


@frames
def test_series_are_read_in_order_of_appearance(frame):
    schema, *series = read_frame(frame(columns()))
    assert list(schema.ids) == ["b", "a"] and schema.zone is None
    for stamps, values, expected in zip(*series, ([0, 2, 4], [1, 3, 5])):
        np.testing.assert_array_equal(stamps, DAYS.to_numpy())
        np.testing.assert_array_equal(values, expected)
        assert stamps.dtype == "datetime64[ns]" and values.dtype == np.float64


@frames
def test_columns_have_names_by_argument(frame):
    there = columns()
    df = frame({"other": ["x"] * 6, "id": there["unique_id"], "value": there["y"], "time": there["ds"]})
    schema, stamps, _ = read_frame(df, id_col="id", time_col="time", target_col="value")
    out = schema.build({"id": schema.ids, "time": stamps[0][:2], "FIM": [1, 2]})
    assert isinstance(out, frame) and list(out.columns) == ["id", "time", "FIM"]


def same(frame):
    """A frame read and built again."""
    schema, stamps, values = read_frame(frame)
    ids = np.repeat(schema.ids, [len(t) for t in stamps])
    return schema.build({"unique_id": ids, "ds": np.concatenate(stamps), "y": np.concatenate(values)})


ZONES = ["Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "UTC"]
PANDAS_IDS = ["object", "string", "string[pyarrow]", "category", "int64", "int8", "Int64", "uint32", "float64", "int"]
PANDAS_TIMES = ["int64", "int16", "uint8", "Int32", "float64", "float32", "Float64", "int64[pyarrow]"]
PANDAS_DATES = [
    *(f"datetime64[{unit}]" for unit in ("s", "ms", "us", "ns")),
    *(f"datetime64[{unit}, {zone}]" for unit in ("s", "ns") for zone in (*ZONES, "UTC+02:00")),
    pd.DatetimeTZDtype("ns", dateutil.tz.gettz("Europe/Berlin")),
    pd.DatetimeTZDtype("us", datetime.timezone(datetime.timedelta(hours=-3))),
    "date32[pyarrow]",
    "timestamp[us][pyarrow]",
    "timestamp[ms, tz=Europe/Berlin][pyarrow]",
]
POLARS_IDS = [pl.String, pl.Categorical, pl.Enum(list("dcba")), pl.Int64, pl.UInt8, pl.Float32]
POLARS_TIMES = [pl.Int64, pl.Int16, pl.UInt8, pl.Float64, pl.Float32]
POLARS_DATES = [
    pl.Date,
    *(pl.Datetime(unit) for unit in ("ms", "us", "ns")),
    *(pl.Datetime(unit, zone) for unit in ("ms", "ns") for zone in ZONES),
]


@st.composite
def long_columns(draw, ids, times, dates):
    """The dtypes of ids and times, whether times are dates (then in hours), and the columns of a long frame."""
    id_type, time_type = draw(st.sampled_from(ids)), draw(st.sampled_from(times + dates))
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    names = draw(st.permutations(["a", "b", "c", "d"]))
    if "str" not in str(id_type).lower() and id_type not in ("object", "category", *POLARS_IDS[:3]):
        names = [ord(name) for name in names]
    # Around a change of clocks.
    start, scale = (19_800, 24) if time_type in dates else (0, 1)
    rows = [
        (names[i], scale * t)
        for i, length in enumerate(lengths)
        for t in sorted(draw(st.sets(st.integers(start, start + 100), min_size=length, max_size=length)))
    ]
    if draw(st.booleans()):
        rows = sorted(rows, key=lambda row: row[1])
    values = [draw(st.sampled_from([1.5, -2.0, None])) for _ in rows]
    return id_type, time_type, time_type in dates, *zip(*rows), values


@quick
@given(long_columns(PANDAS_IDS, PANDAS_TIMES, PANDAS_DATES))
def test_pandas_goes_round(case):
    id_type, time_type, is_date, ids, times, values = case
    stamps = pd.Series(np.array(times).astype("M8[h]").astype("M8[ns]")) if is_date else pd.Series(times)
    has_zone = is_date and (
        "/" in str(time_type) or "UTC" in str(time_type) or isinstance(time_type, pd.DatetimeTZDtype)
    )
    stamps = stamps.dt.tz_localize("UTC") if has_zone else stamps
    frame = pd.DataFrame(
        {"unique_id": pd.Series(ids).astype(id_type), "ds": stamps.astype(time_type), "y": np.array(values, float)}
    )
    # Built again, the rows of a series follow each other.
    order = np.argsort(pd.factorize(frame["unique_id"])[0], kind="stable")
    expected = frame.iloc[order].reset_index(drop=True)
    found = same(frame.set_index(np.arange(len(frame)) * 7 % 5))
    pd.testing.assert_frame_equal(found, expected, check_index_type="exact")


@quick
@given(long_columns(POLARS_IDS, POLARS_TIMES, POLARS_DATES))
def test_polars_goes_round(case):
    id_type, time_type, is_date, ids, times, values = case
    stamps = pl.Series(np.array(times).astype("M8[h]").astype("M8[ms]")) if is_date else pl.Series(times)
    if getattr(time_type, "time_zone", None):
        stamps = stamps.dt.replace_time_zone("UTC").dt.convert_time_zone(time_type.time_zone)
    frame = pl.DataFrame(
        {
            "unique_id": pl.Series(ids).cast(id_type),
            "ds": stamps.cast(time_type),
            "y": pl.Series([np.nan if y is None else y for y in values]),
        }
    )
    expected = pl.concat(frame.partition_by("unique_id", maintain_order=True))
    assert same(frame).equals(expected) and same(frame).schema == expected.schema


def test_dates_as_objects_come_back_as_such():
    frame = pd.DataFrame({"unique_id": 1, "ds": DAYS.date, "y": [1, 2, 3.0]})
    pd.testing.assert_frame_equal(same(frame), frame)


def test_ids_may_be_of_several_kinds():
    frame = pd.DataFrame({"unique_id": ["1", 1, ("x", 2)], "ds": 1, "y": 1.0})
    schema, *_ = read_frame(frame)
    assert list(schema.ids) == ["1", 1, ("x", 2)]
    pd.testing.assert_frame_equal(same(frame), frame)


def test_an_instant_shown_twice_by_the_clock_is_two():
    hours = pd.date_range("2024-10-26 22:00", periods=6, freq="h", tz="UTC").tz_convert("Europe/Berlin")
    frame = pd.DataFrame({"unique_id": "a", "ds": hours, "y": 1.0})
    schema, stamps, _ = read_frame(frame)
    assert (np.diff(stamps[0]) == np.timedelta64(1, "h")).all() and str(schema.zone) == "Europe/Berlin"
    pd.testing.assert_frame_equal(same(frame), frame)


@pytest.mark.parametrize(
    "y",
    [
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series([1, None, 3], dtype="Float64"),
        pd.Series([1, None, 3], dtype="double[pyarrow]"),
        pd.Series([1, None, 3], dtype="Float32"),
        pd.Series([1, None, np.float32(3)], dtype=object),
        pd.Series([1, pd.NA, 3], dtype=object),
        pl.Series([1, None, 3]),
        pl.Series([1.0, None, 3.0], dtype=pl.Float32),
        pl.Series([1, np.nan, 3], strict=False),
    ],
)
def test_missing_values_are_missing(y):
    frame = pd.DataFrame if isinstance(y, pd.Series) else pl.DataFrame
    _, _, values = read_frame(frame({"unique_id": ["a"] * 3, "ds": [1, 2, 3], "y": y}))
    np.testing.assert_array_equal(values[0], [1, np.nan, 3])


@frames
@pytest.mark.parametrize(
    "changes, message",
    [
        ({"y": np.array([0, 1, 2, np.inf, 4, 5])}, r"column 'y' is infinite in row 3 \(series 'a'\)"),
        ({"y": ["1", "2", "n/a", "3", "4", "5"]}, r"column 'y' holds text: 'n/a' in row 2 \(series 'b'\)"),
        ({"y": ["1", "2", "3", "3", "4", "5"]}, r"column 'y' holds text: '1' in row 0 \(series 'b'\)"),
        ({"y": [True] * 6}, "column 'y' holds booleans, not numbers, in row 0"),
        ({"y": DAYS.repeat(2).to_numpy()}, "column 'y' holds dates, not numbers, in row 0"),
        ({"y": [decimal.Decimal(1)] * 6}, "column 'y' holds .*[dD]ecimal"),
        ({"unique_id": ["b", "a", "b", None, "b", "a"]}, "column 'unique_id' is missing in row 3"),
        ({"ds": [1, 1, 2, None, 3, 3]}, r"column 'ds' is missing in row 3 \(series 'a'\)"),
        ({"ds": [*DAYS, *DAYS[:2], None]}, r"column 'ds' is missing in row 5 \(series 'a'\)"),
        ({"ds": [1.0, 1.0, 2.0, np.inf, 3.0, 3.0]}, r"column 'ds' is infinite in row 3 \(series 'a'\)"),
        ({"ds": [1, 1, 2, 3, 0, 2]}, r"column 'ds' goes back in row 4 \(series 'b'\): sort"),
        ({"ds": [1, 1, 2, 2, 3, 2]}, r"column 'ds' repeats 2 in row 5 \(series 'a'\)"),
        (
            {"ds": DAYS[[0, 0, 1, 1, 1, 2]].to_numpy()},
            r"column 'ds' repeats 2024-03-31 00:00:00 in row 4 \(series 'b'\)",
        ),
        ({"ds": ["2024-01-01"] * 6}, r"'ds' holds text \('2024-01-01'\), not dates .*: convert it with .*to_datetime"),
        ({"ds": [True] * 6}, "column 'ds' holds booleans"),
        ({"ds": [datetime.timedelta(1)] * 6}, "column 'ds' holds durations"),
        ({"ds": [datetime.time(1)] * 6}, "column 'ds' holds"),
        ({"unique_id": [[1], [2]] * 3}, "column 'unique_id' holds"),
    ],
)
def test_a_frame_with_a_fault_is_refused_in_a_sentence(frame, changes, message):
    with pytest.raises(InputError, match=message):
        read_frame(frame(columns(**changes)))


@frames
def test_columns_that_are_missing_are_named(frame):
    df = frame(columns())
    with pytest.raises(InputError, match="the frame has no column 'day', only 'unique_id', 'ds', 'y'"):
        read_frame(df, time_col="day")
    with pytest.raises(InputError, match="different columns, not 'unique_id', 'y', 'y'"):
        read_frame(df, time_col="y")
    with pytest.raises(InputError, match="the frame has no rows"):
        read_frame(df[:0])


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"ds": DAYS.to_period("M").repeat(2)}, "column 'ds' holds periods, .*to_timestamp"),
        ({"ds": [datetime.datetime(2024, 1, 1)] * 5 + ["x"]}, r"'ds' holds objects \(datetime\).* pandas.to_datetime"),
        ({"y": [1.0, "x"] * 3}, r"column 'y' holds text: 'x' in row 1 \(series 'a'\)"),
        ({"y": [1.0, {}] * 3}, r"column 'y' holds a dict, not a number, in row 1 \(series 'a'\)"),
        ({"y": [1j] * 6}, "column 'y' holds complex numbers"),
        ({"y": pd.Categorical([1, 2] * 3)}, "column 'y' holds categories"),
        ({"ds": np.array(["2024", "3000"] * 3, "M8[s]")}, r"'ds' is out of range \(3000-.* in row 1"),
        ({"ds": DAYS[[0, 0, 0, 1, 2, 2]].tz_localize("Asia/Tokyo")}, r"repeats 2024-03-30 00:00:00\+09:00"),
    ],
)
def test_what_only_pandas_can_hold_is_refused_too(changes, message):
    with pytest.raises(InputError, match=message):
        read_frame(pd.DataFrame(columns(**changes)))


def test_what_is_no_frame_says_so():
    df = pd.DataFrame(columns())
    with pytest.raises(InputError, match="the input is a list, not a frame of pandas or polars"):
        read_frame([1, 2])
    with pytest.raises(InputError, match=r"the input is a LazyFrame: call collect\(\) first"):
        read_frame(pl.LazyFrame(columns()))
    with pytest.raises(InputError, match="the input is a Table of pyarrow"):
        read_frame(pl.DataFrame(columns()).to_arrow())
    with pytest.raises(InputError, match=r"no column 'unique_id', .* in the index: call reset_index\(\)"):
        read_frame(df.set_index("unique_id"))
    with pytest.raises(InputError, match="the frame has column 'y' 2 times"):
        read_frame(pd.concat([df, df[["y"]]], axis=1))
    read_frame(pd.concat([df, df[["y", "y"]].set_axis(["x", "x"], axis=1)], axis=1))


@pytest.mark.parametrize("ids", [pl.Series([object()] * 6, dtype=pl.Object), pl.Series([float("nan")] * 6)])
def test_ids_of_polars_that_are_none(ids):
    with pytest.raises(InputError, match="column 'unique_id' (holds Object|is missing in row 0)"):
        read_frame(pl.DataFrame(columns(unique_id=ids)))


def test_objects_of_polars_are_no_times():
    dates = pl.Series([datetime.date(2024, 1, 1)] * 6, dtype=pl.Object)
    with pytest.raises(InputError, match=r"column 'ds' holds objects \(date\), not dates or numbers"):
        read_frame(pl.DataFrame(columns(ds=dates)))


@pytest.mark.parametrize(
    "times, stamps, message",
    [
        (pl.Series([126, 127], dtype=pl.Int8), np.array([128]), "column 'ds' holds Int8, which cannot be 128"),
        (pd.Series([126, 127], dtype="Int8"), np.array([128]), "column 'ds' holds Int8, which cannot be 128"),
        (
            pl.Series([datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)]),
            np.array(["2024-01-01T01"], "M8[ns]"),
            "holds Date, .* be 2024-01-01 01:00:00",
        ),
        (pd.Series(DAYS[:2].as_unit("s")), np.array([1], "M8[ns]"), r"holds datetime64\[s\], which cannot be"),
    ],
)
def test_stamps_that_a_column_cannot_hold_are_refused(times, stamps, message):
    frame = pd.DataFrame if isinstance(times, pd.Series) else pl.DataFrame
    schema, found, _ = read_frame(frame({"unique_id": ["a"] * 2, "ds": times, "y": [1.0, 2.0]}))
    schema.check_stamps(found[0])
    with pytest.raises(InputError, match=message):
        schema.check_stamps(stamps)
    with pytest.raises(InputError, match=message):
        schema.build({"unique_id": schema.ids, "ds": stamps, "FIM": np.zeros(1)})
    with pytest.raises(InputError, match="there is no series 'x'"):
        schema.build({"unique_id": np.array(["x"], object)})
