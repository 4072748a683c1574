"""Reader for the .tsf format of the Monash archive: a header of @ lines, then one series a line."""

import dataclasses
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import numpy as np

from fimjax.errors import EvaluationError

ENCODING = "cp1252"

ATTRIBUTE_TYPES = ("string", "numeric", "date")

DATE = "%Y-%m-%d %H-%M-%S"


@dataclasses.dataclass(frozen=True)
class TsfFile:
    """B series in the order of the file, with frequency and horizon from its header."""

    frequency: str | None
    """A word such as yearly; None if the header has none."""
    horizon: int | None
    names: list[str]
    starts: list[str]  # "" where the file has none
    values: list[np.ndarray]  # B arrays of float64, NaN where a value is missing


def parse_tsf(lines: Iterable[str], file: str) -> TsfFile:
    """Parses the lines of a .tsf file; errors name `file` and the line."""
    number, in_data = 0, False
    header: dict[str, Any] = {}
    attributes: dict[str, str] = {}
    series: dict[str, tuple[str, np.ndarray]] = {}
    try:
        for line in map(str.strip, lines):
            number += 1
            if not line or line.startswith("#"):
                continue
            if in_data:
                name, start, values = _parse_series(line, attributes)
                if name in series:
                    raise ValueError(f"series {name} occurs twice")
                series[name] = start, values
            elif line.lower() == "@data":
                if "series_name" not in attributes:
                    raise ValueError("@data comes before an @attribute series_name")
                in_data = True
            else:
                _parse_header(line, header, attributes)
        if not series:
            raise ValueError("the file ends before its first series")
    except ValueError as error:
        raise EvaluationError(f"{file}, line {number}: {error}") from error
    starts, values = zip(*series.values())
    return TsfFile(header.get("frequency"), header.get("horizon"), list(series), list(starts), list(values))


def _parse_header(line: str, header: dict[str, Any], attributes: dict[str, str]) -> None:
    """Parses @attribute, @frequency and @horizon; other @ lines are ignored."""
    tag, *words = line.split()
    if not tag.startswith("@"):
        raise ValueError(f"{line[:40]!r} is not a line of a .tsf header")
    if tag == "@attribute":
        if len(words) != 2 or words[1] not in ATTRIBUTE_TYPES:
            raise ValueError(f"{line[:40]!r} does not name an attribute and its type, {', '.join(ATTRIBUTE_TYPES)}")
        attributes[words[0]] = words[1]
    elif tag == "@frequency":
        header["frequency"] = " ".join(words)
    elif tag == "@horizon":
        if len(words) != 1 or not words[0].isdecimal():
            raise ValueError(f"{line[:40]!r} does not give a number of steps")
        header["horizon"] = int(words[0])


def _parse_series(line: str, attributes: dict[str, str]) -> tuple[str, str, np.ndarray]:
    """Parses name, start and values from attribute:...:value,value,..."""
    *fields, values = line.split(":")
    if len(fields) != len(attributes):
        raise ValueError(f"{len(fields)} attributes before the values; the header has {len(attributes)}")
    known = dict(zip(attributes, fields))
    start = ""
    for name, text in known.items():
        if attributes[name] == "date":
            start = datetime.strptime(text, DATE).isoformat(sep=" ")
        elif attributes[name] == "numeric":
            float(text)
    numbers = [float("nan") if value == "?" else float(value) for value in values.split(",")]
    return known["series_name"], start, np.array(numbers)
