"""How a CSV file is written: what separates its fields, and whether its first line holds names."""

import csv
import io
import re

import pandas as pd

from fimjax.cli.guess import is_usual_name
from fimjax.cli.numerals import DECIMAL_COMMA, NUMBER, THOUSANDS
from fimjax.cli.times import looks_like_dates

SEPARATORS = ("\t", ";", ",")
"""In doubt an earlier one: commas are also found in numbers."""

MISSING = {"nan", "na", "n/a", "<na>", "null", "none"}

SAMPLE_BYTES, SAMPLE_ROWS, SAMPLE_FIELDS = 1 << 16, 20, 50
"""What is looked at of a file."""


def read_dialect(data: bytes) -> tuple[str, list[str] | None]:
    """What separates the fields of a file, and names for them if its first line holds none."""
    lines = data[:SAMPLE_BYTES].decode("utf-8-sig", "replace")
    if len(data) > SAMPLE_BYTES:
        lines = lines.rpartition("\n")[0] or lines
    by_separator = {separator: _rows(lines, separator) for separator in SEPARATORS}
    separator = _choose(by_separator)
    rows = by_separator[separator]
    if not rows or not _is_data(rows[0], rows[1:]):
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


def _choose(by_separator: dict[str, list[list[str]]]) -> str:
    """The separator that gives all lines the same number of fields, else the one most often in the first line."""
    for separator, rows in by_separator.items():
        counts = {len(row) for row in rows}
        if len(counts) == 1 and counts != {1}:
            return separator
    firsts = {separator: len(rows[0]) if rows else 0 for separator, rows in by_separator.items()}
    most = max(firsts.values())
    return next(separator for separator, count in firsts.items() if count == most) if most > 1 else ","


def _is_data(first: list[str], others: list[list[str]]) -> bool:
    """Whether the first line of a file is of the kind of the others, and no line of names."""
    first = first[:SAMPLE_FIELDS]
    kinds = [_kind(field) for field in first]
    if not {"date", "number", "missing"} & set(kinds) or any(map(is_usual_name, first)):
        return False
    below = [{_kind(row[i]) for row in others if i < len(row) and row[i]} - {"missing"} for i in range(len(first))]
    if any(kind == "date" and kinds_below == {"date"} for kind, kinds_below in zip(kinds, below)):
        return True
    # Wide tables may have numbers or dates for names, with another name or none above the times.
    return first[0] != "" and not any(
        kinds_below in ({"date"}, {"number"}) and kind not in (*kinds_below, "missing", "empty")
        for kind, kinds_below in zip(kinds, below)
    )


def _kind(field: str) -> str:
    if field == "":
        return "empty"
    if field.casefold() in MISSING:
        return "missing"
    if re.fullmatch(f"{NUMBER}|{DECIMAL_COMMA}|{THOUSANDS}", field):
        return "number"
    return "date" if looks_like_dates(pd.Series([field])) else "text"
