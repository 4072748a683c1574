"""Tables read from files and standard input, and written whole or not at all."""

import gzip
import importlib.util
import io
import os
import re
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from fimjax.commands.messages import CommandError

STANDARD = "-"
"""Standard input or output in the place of a file."""

ENDINGS = {".csv": "csv", ".csv.gz": "csv", ".parquet": "parquet"}
"""Formats of tables by how their files are called."""

PICTURES = (".png", ".pdf", ".svg")


def read_table(source: str, format: str | None, is_text: Callable[[str], bool]) -> pd.DataFrame:
    """Reads a table.

    Args:
        source: a file, or - for standard input.
        format: csv or parquet; None to go by the ending.
        is_text: tells by their names which columns of a CSV file are text, whatever they look like: 007 is no number
            in a column of ids.
    """
    name = "standard input" if source == STANDARD else source
    format = format or ("csv" if source == STANDARD else format_of(Path(source), "--format tells what it is"))
    data = sys.stdin.buffer.read() if source == STANDARD else Path(source).read_bytes()
    table = _read_parquet(data, name) if format == "parquet" else _read_csv(_unpack(data, name), name, is_text)
    if not len(table):
        raise CommandError(f"{name}: has no rows")
    table.columns = [str(column).strip() for column in table.columns]
    return table


def format_of(path: Path, hint: str = "") -> str:
    """The format that the ending of a file stands for."""
    for ending, format in ENDINGS.items():
        if path.name.lower().endswith(ending):
            return format
    known = ", ".join(ENDINGS)
    raise CommandError(f"{path}: its ending is none of {known}" + (f"; {hint}" if hint else ""))


def _unpack(data: bytes, name: str) -> bytes:
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise CommandError(f"{name}: is not a whole gzip file ({error})") from error


def _read_csv(data: bytes, name: str, is_text: Callable[[str], bool]) -> pd.DataFrame:
    header = data.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n").partition(b"\n")[0].decode("utf-8", "replace")
    delimiter = next((each for each in (";", "\t") if each in header and "," not in header), ",")
    # Spreadsheets in countries with decimal commas write semicolons between fields.
    decimal = "," if delimiter != "," and re.search(rb"\d,\d", data) else "."
    settings: dict = {"sep": delimiter, "decimal": decimal, "encoding": "utf-8-sig", "low_memory": False}
    fields = [field.strip() for field in header.split(delimiter)]
    if all(re.fullmatch(r"[-+.:/\dTZe ]*\d[-+.:/\dTZe ]*", field) for field in fields):
        names = ["y"] if len(fields) == 1 else [f"column {i + 1}" for i in range(len(fields))]
        settings |= {"header": None, "names": names}
    try:
        columns = pd.read_csv(io.BytesIO(data), nrows=0, **settings).columns
        as_text = {column: _text for column in columns if is_text(column)}
        table = pd.read_csv(io.BytesIO(data), converters=as_text, **settings)
    except pd.errors.EmptyDataError as error:
        raise CommandError(f"{name}: is empty") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{name}: is not text in UTF-8, as a CSV file must be") from error
    except (pd.errors.ParserError, ValueError) as error:
        reason = str(error).removeprefix("Error tokenizing data. C error: ").strip()
        raise CommandError(f"{name}: cannot be read as CSV ({reason})") from error
    if not isinstance(table.index, pd.RangeIndex):
        raise CommandError(f"{name}: its rows have more fields than its first line has names")
    return table


def _text(field: str) -> str | None:
    """Text as it is; pandas takes NA, for one, for a missing value, and not for Namibia."""
    return field.strip() or None


def _read_parquet(data: bytes, name: str) -> pd.DataFrame:
    _require_pyarrow()
    try:
        table = pd.read_parquet(io.BytesIO(data), engine="pyarrow")
    except (OSError, ValueError) as error:  # ArrowInvalid is one
        raise CommandError(f"{name}: is not a parquet file that can be read") from error
    return table if isinstance(table.index, pd.RangeIndex) else table.reset_index()


def _require_pyarrow() -> None:
    if importlib.util.find_spec("pyarrow") is None:
        raise CommandError("parquet files need pyarrow: pip install 'fimjax[parquet]'")


def check_writable(path: Path) -> None:
    """Refuses a path that nothing can be written to, before anything is computed."""
    if path.is_dir():
        raise CommandError(f"{path}: is a folder, not a file to write to")
    if not path.parent.is_dir():
        raise CommandError(f"{path}: there is no folder {path.parent} to write it to")
    if not os.access(path.parent, os.W_OK):
        raise CommandError(f"{path}: the folder {path.parent} cannot be written to")


def check_table(path: Path) -> None:
    """Refuses what no table can be written to."""
    if format_of(path) == "parquet":
        _require_pyarrow()
    check_writable(path)


def check_picture(path: Path) -> None:
    """Refuses what no picture can be written to."""
    if path.suffix.lower() not in PICTURES:
        raise CommandError(f"{path}: its ending is none of {', '.join(PICTURES)}")
    check_writable(path)
    if importlib.util.find_spec("matplotlib") is None:
        raise CommandError("--plot needs matplotlib: pip install 'fimjax[plot]'")


def write_table(table: pd.DataFrame, path: Path | None, scratch: Path | None = None) -> None:
    """Writes a table in the format of its path to a scratch file; as CSV to standard output if there is no path."""
    if path is not None and format_of(path) == "parquet":
        table.to_parquet(scratch, engine="pyarrow", index=False)
        return
    # Twelve digits: more than a forecast has, and all that most values have.
    settings = {"index": False, "float_format": "%.12g", "lineterminator": "\n"}
    if path is None:
        table.to_csv(sys.stdout, **settings)
    else:
        table.to_csv(scratch, compression="gzip" if path.suffix.lower() == ".gz" else None, **settings)
