"""Tables in files and standard streams: how a CSV file is written, reading, and writing whole files or none."""

import csv
import gzip
import importlib.util
import io
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fimjax.cli.columns import is_usual_name
from fimjax.cli.console import CommandError
from fimjax.cli.spellings import DECIMAL_COMMA, NUMBER, THOUSANDS, looks_like_dates, read_decimal_commas

STANDARD = "-"
"""Stands for standard input or output instead of a file."""

ENDINGS = {".csv": "csv", ".csv.gz": "csv", ".parquet": "parquet"}
"""Formats of tables by the ending of their file."""

FIGURES = (".png", ".pdf", ".svg")

SEPARATORS = ("\t", ";", ",")
"""In doubt an earlier one is chosen, because numbers also contain commas."""

MISSING = {"nan", "na", "n/a", "<na>", "null", "none"}

SAMPLE_BYTES, SAMPLE_ROWS, SAMPLE_FIELDS = 1 << 16, 20, 50
"""How much of a file is read to find its separator and header."""


@dataclass(frozen=True)
class Table:
    """The content of a file."""

    frame: pd.DataFrame
    place: Callable[[int], str]
    """The name of a row in messages, such as 'line 3'."""
    decimal_commas: tuple[str, ...] = ()
    """Columns whose numbers have decimal commas."""


def read_table(source: str, format: str | None, is_text: Callable[[str], bool]) -> Table:
    """Reads a table.

    Args:
        source: a file, or - for standard input.
        format: csv or parquet; None to go by the ending.
        is_text: whether a column of a CSV file is text, by its name: 007 is not a number in a column of ids.
    """
    name = "standard input" if source == STANDARD else source
    format = format or ("csv" if source == STANDARD else format_of(Path(source), "give --format"))
    data = _read_standard_input() if source == STANDARD else Path(source).read_bytes()
    table = _read_parquet(data, name) if format == "parquet" else _read_csv(_unpack(data, name), name, is_text)
    if not len(table.frame):
        raise CommandError(f"{name}: has no rows")
    return table


def _read_standard_input() -> bytes:
    if sys.stdin is None:
        raise CommandError("standard input is closed: give a file")
    return sys.stdin.buffer.read()


def format_of(path: Path, hint: str = "") -> str:
    """The format that the ending of a file stands for."""
    if path.is_dir():
        raise CommandError(f"{path}: is a folder, not a file")
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
        raise CommandError(f"{name}: is not a complete gzip file ({error})") from error


def _read_csv(data: bytes, name: str, is_text: Callable[[str], bool]) -> Table:
    delimiter, names = detect_dialect(data)
    settings: dict = {"sep": delimiter, "encoding": "utf-8-sig", "low_memory": False, "skipinitialspace": True}
    if names is not None:
        settings |= {"header": None, "names": names}
    try:
        columns = pd.read_csv(io.BytesIO(data), nrows=0, **settings).columns
        as_text = {column: _text for column in columns if is_text(str(column).strip())}
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
    table.columns = [str(column).strip() for column in table.columns]
    if table.columns.has_duplicates:  # pandas has renamed identical names already
        twice = table.columns[table.columns.duplicated()][0]
        raise CommandError(f"{name}: has more than one column {twice!r}")
    numbers = {column: read_decimal_commas(table[column]) for column in table.columns if not is_text(column)}
    numbers = {column: found for column, found in numbers.items() if found is not None}
    place = _places(data, len(table), has_names=names is None)
    return Table(table.assign(**numbers), place, tuple(numbers))


def _places(data: bytes, rows: int, has_names: bool) -> Callable[[int], str]:
    """Names the line of a row, if every line that is not blank is a row."""

    def place(row: int) -> str:
        lines = [number for number, line in enumerate(data.split(b"\n"), start=1) if line.strip()]
        return f"line {lines[row + has_names]}" if len(lines) == rows + has_names else f"row {row}"

    return place


def _text(field: str) -> str | None:
    """Text as it is, because pandas takes NA for a missing value, not for Namibia."""
    return field.strip() or None


def detect_dialect(data: bytes) -> tuple[str, list[str] | None]:
    """The separator of a file's fields, and names for them if its first line has none."""
    lines = data[:SAMPLE_BYTES].decode("utf-8-sig", "replace")
    if len(data) > SAMPLE_BYTES:
        lines = lines.rpartition("\n")[0] or lines
    by_separator = {separator: _rows(lines, separator) for separator in SEPARATORS}
    separator = _choose_separator(by_separator)
    rows = by_separator[separator]
    if not rows or not _has_no_header(rows[0], rows[1:]):
        return separator, None
    return separator, ["y"] if len(rows[0]) == 1 else [f"column {i + 1}" for i in range(len(rows[0]))]


def _rows(lines: str, separator: str) -> list[list[str]]:
    rows = []
    for row in csv.reader(io.StringIO(lines, newline=""), delimiter=separator, skipinitialspace=True):
        if any(field.strip() for field in row) or len(row) > 1:
            rows.append([field.strip() for field in row])
        if len(rows) > SAMPLE_ROWS:
            break
    return rows


def _choose_separator(by_separator: dict[str, list[list[str]]]) -> str:
    """The separator that gives all lines the same number of fields, else the most common one in the first line."""
    for separator, rows in by_separator.items():
        counts = {len(row) for row in rows}
        if len(counts) == 1 and counts != {1}:
            return separator
    firsts = {separator: len(rows[0]) if rows else 0 for separator, rows in by_separator.items()}
    most = max(firsts.values())
    return next(separator for separator, count in firsts.items() if count == most) if most > 1 else ","


def _has_no_header(first: list[str], others: list[list[str]]) -> bool:
    """Whether the first line of a file has the same kinds of fields as the others, so that it is not a header."""
    first = first[:SAMPLE_FIELDS]
    kinds = [_kind(field) for field in first]
    if not {"date", "number", "missing"} & set(kinds) or any(map(is_usual_name, first)):
        return False
    below = [{_kind(row[i]) for row in others if i < len(row) and row[i]} - {"missing"} for i in range(len(first))]
    if any(kind == "date" and kinds_below == {"date"} for kind, kinds_below in zip(kinds, below)):
        return True
    # Headers of wide tables may be numbers or dates, with another name or none above the times.
    return first[0] != "" and not any(
        kinds_below in ({"date"}, {"number"}) and kind not in (*kinds_below, "missing", "empty")
        for kind, kinds_below in zip(kinds, below)
    )


def _kind(field: str) -> str:
    """The kind of a field: empty, missing, number, date or text."""
    if field == "":
        return "empty"
    if field.casefold() in MISSING:
        return "missing"
    if re.fullmatch(f"{NUMBER}|{DECIMAL_COMMA}|{THOUSANDS}", field):
        return "number"
    return "date" if looks_like_dates(pd.Series([field])) else "text"


def _read_parquet(data: bytes, name: str) -> Table:
    _require_pyarrow()
    try:
        table = pd.read_parquet(io.BytesIO(data), engine="pyarrow")
    except (OSError, ValueError) as error:  # ArrowInvalid is one
        raise CommandError(f"{name}: is not a parquet file that can be read") from error
    table = table if isinstance(table.index, pd.RangeIndex) else table.reset_index()
    table.columns = [str(column).strip() for column in table.columns]
    return Table(table, lambda row: f"row {row}")


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
    """Refuses a path that no table can be written to."""
    if format_of(path) == "parquet":
        _require_pyarrow()
    check_writable(path)


def check_figure(path: Path) -> None:
    """Refuses a path that no figure can be written to."""
    if path.suffix.lower() not in FIGURES:
        raise CommandError(f"{path}: its ending is none of {', '.join(FIGURES)}")
    check_writable(path)
    if importlib.util.find_spec("matplotlib") is None:
        raise CommandError("--plot needs matplotlib: pip install 'fimjax[plot]'")


def check_standard_output() -> None:
    """Refuses to write to a closed standard output."""
    if sys.stdout is None:
        raise CommandError("standard output is closed")


def write_table(table: pd.DataFrame, path: Path | None, scratch: Path | None = None, exact: Iterable[str] = ()) -> None:
    """Writes a table to a scratch file, in the format of its path; without a path, as CSV to standard output.

    Args:
        exact: columns whose numbers are written with all digits; others get twelve.
    """
    if path is not None and format_of(path) == "parquet":
        table.to_parquet(scratch, engine="pyarrow", index=False)
        return
    floats = [column for column in exact if column in table and pd.api.types.is_float_dtype(table[column])]
    table = table.assign(**{column: table[column].map(_spell, na_action="ignore") for column in floats})
    settings = {"index": False, "float_format": "%.12g", "lineterminator": "\n"}
    if path is None:
        _write_standard_output(table.to_csv(**settings))
    else:
        table.to_csv(scratch, compression="gzip" if path.suffix.lower() == ".gz" else None, **settings)


def _spell(number: float) -> str:
    short = f"{number:.12g}"
    return short if float(short) == number else repr(float(number))


def _write_standard_output(text: str) -> None:
    try:
        text.encode(sys.stdout.encoding or "utf-8", sys.stdout.errors or "strict")
    except UnicodeEncodeError as error:
        letter = error.object[error.start]
        raise CommandError(
            f"standard output takes {error.encoding} only, which has no {letter!r}: give --output, or set "
            "PYTHONIOENCODING=utf-8"
        ) from error
    sys.stdout.write(text)
