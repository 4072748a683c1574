"""Tables in files and on standard input and output."""

import gzip
import importlib.util
import io
import os
import sys
from pathlib import Path

import pandas as pd
import pytest

from fimjax.cli.console import CommandError
from fimjax.cli.files import check_figure, check_table, read_table, write_table

NO_TEXT = lambda name: False
CSV = "ds,y\n2020-01-01,1\n2020-01-02,2.5\n"


def standard_input(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def refusal(call, *arguments):
    with pytest.raises(CommandError) as caught:
        call(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def without(monkeypatch):
    """Makes a package look as if it were not installed."""
    find = importlib.util.find_spec
    return lambda missing: monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == missing else find(name)
    )


@pytest.mark.parametrize(
    "name, data",
    [
        ("a.csv", CSV.encode()),
        ("A.CSV", CSV.encode("utf-8-sig")),
        ("a.csv.gz", gzip.compress(CSV.encode(), mtime=0)),
        ("a.csv", CSV.replace(",", ";").encode()),
        ("a.csv", CSV.replace(",", ";").replace("2.5", "2,5").encode()),
        ("a.csv", CSV.replace(",", "\t").replace("\n", "\r\n").encode()),
        ("a.csv", CSV.partition("\n")[2].encode()),
    ],
    ids=["csv", "mark", "gzip", "semicolons", "decimal commas", "tabs", "no header"],
)
def test_csv_files(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    table = read_table(str(tmp_path / name), None, NO_TEXT).frame
    assert table.to_numpy().tolist() == [["2020-01-01", 1.0], ["2020-01-02", 2.5]]


def test_numbers_alone(tmp_path, monkeypatch):
    standard_input(monkeypatch, b"1.5\n2\n-3e1\n")
    assert read_table("-", None, NO_TEXT).frame["y"].tolist() == [1.5, 2, -30]


def test_ids_are_text_and_no_country_is_missing(monkeypatch):
    standard_input(monkeypatch, b"id,y\n007,1\nNA,2\n,3\n")
    ids = read_table("-", None, lambda name: name == "id").frame["id"]
    assert ids[:2].tolist() == ["007", "NA"] and ids.isna().tolist() == [False, False, True]


def test_parquet_there_and_back(tmp_path, monkeypatch):
    table = pd.DataFrame({"ds": pd.date_range("2020", periods=2), "y": [1, 2]})
    write_table(table, Path("x.parquet"), tmp_path / "scratch")
    pd.testing.assert_frame_equal(read_table(str(tmp_path / "scratch"), "parquet", NO_TEXT).frame, table)
    standard_input(monkeypatch, (tmp_path / "scratch").read_bytes())
    pd.testing.assert_frame_equal(read_table("-", "parquet", NO_TEXT).frame, table)
    table.set_index("ds").to_parquet(tmp_path / "indexed.parquet")
    assert list(read_table(str(tmp_path / "indexed.parquet"), None, NO_TEXT).frame.columns) == ["ds", "y"]


def test_csv_is_written_for_people(tmp_path, capsys):
    table = pd.DataFrame({"ds": pd.date_range("2020", periods=2), "y": [0.1 + 0.2, None]})
    text = "ds,y\n2020-01-01,0.3\n2020-01-02,\n"
    write_table(table, Path("x.csv"), tmp_path / "plain")
    assert (tmp_path / "plain").read_text() == text
    write_table(table, Path("x.csv.gz"), tmp_path / "packed")
    assert gzip.decompress((tmp_path / "packed").read_bytes()).decode() == text
    write_table(table, None)
    assert capsys.readouterr().out == text


@pytest.mark.parametrize(
    "name, data, message",
    [
        ("a.xlsx", b"", "its ending is none of .csv, .csv.gz, .parquet; give --format"),
        ("a.csv", b"", "is empty"),
        ("a.csv", b"ds,y\n", "has no rows"),
        ("a.csv", b"ds,y\n\xff\xfe,1\n", "is not text in UTF-8"),
        ("a.csv", b"ds,y\n1,2\n1,2,3\n", "cannot be read as CSV (Expected 2 fields in line 3, saw 3)"),
        ("a.csv", b"ds,y\n1,2,3\n1,2,3\n", "more fields than its first line has names"),
        ("a.csv", b"ds,y ,y\n1,2,3\n", "has more than one column 'y'"),
        ("a.csv.gz", gzip.compress(CSV.encode(), mtime=0)[:30], "is not a complete gzip file"),
        ("a.parquet", b"PAR1", "is not a parquet file"),
    ],
)
def test_what_cannot_be_read(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    assert message in refusal(read_table, str(tmp_path / name), None, NO_TEXT)


def test_what_cannot_be_written(tmp_path):
    assert "none of .csv, .csv.gz, .parquet" in refusal(check_table, tmp_path / "a.json")
    assert "there is no folder" in refusal(check_table, tmp_path / "b" / "a.csv")
    (tmp_path / "folder.csv").mkdir()
    assert "is a folder" in refusal(check_table, tmp_path / "folder.csv")
    assert "none of .png, .pdf, .svg" in refusal(check_figure, tmp_path / "a.gif")


def test_a_folder_that_is_read_only(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "cannot be written to" in refusal(check_table, tmp_path / "a.csv")


def test_what_is_not_installed_is_reported(tmp_path, without):
    without("pyarrow")
    assert "pip install 'fimjax[parquet]'" in refusal(check_table, tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"")
    assert "pip install 'fimjax[parquet]'" in refusal(read_table, str(tmp_path / "b.parquet"), None, NO_TEXT)
    without("matplotlib")
    assert "pip install 'fimjax[plot]'" in refusal(check_figure, tmp_path / "a.png")
