"""Times as files hold them: dates in many spellings, years, and plain numbers."""

import dataclasses
import datetime
import re
import warnings

import numpy as np
import pandas as pd

from fimjax.commands.messages import CommandError

SPELLINGS = {"%Y-%m": r"[12]\d{3}-(0[1-9]|1[0-2])", "%Y": r"[12]\d{3}"}
"""Dates without a day: how to write more of them."""

DIGITS = {"%Y%m": r"(1[89]|2[01])\d{2}(0[1-9]|1[0-2])", "%Y%m%d": r"(1[89]|2[01])\d{2}(0[1-9]|1[0-2])[0-3]\d"}
"""Dates that look like numbers."""

DATE = re.compile(r"\d{4}|\d+[-/.]\d+[-/.]\d+|[A-Za-z]{3}[a-z]*[-/ ']\d{2}")
"""What a text must have in it to be taken for a date unasked: pandas reads ids such as A1 or May as dates."""

DAY_OR_MONTH = re.compile(r"\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}")

SAMPLE = 200
"""Rows that tell whether a column holds dates."""


@dataclasses.dataclass(frozen=True)
class Times:
    """A column of stamps, and how the file spells them."""

    stamps: pd.Series
    spelling: str | None = None
    """As strftime has it; None for whatever pandas writes."""
    as_numbers: bool = False

    def spell(self, stamps: pd.Series) -> pd.Series:
        """More stamps in the spelling of the file."""
        if self.spelling is None:
            return stamps
        spelled = stamps.dt.strftime(self.spelling)
        return spelled.astype(np.int64) if self.as_numbers else spelled


def looks_like_dates(column: pd.Series) -> bool:
    """Whether the first rows of a column read as dates."""
    sample = column.dropna().head(SAMPLE)
    if pd.api.types.is_datetime64_any_dtype(column):
        return True
    if not len(sample) or pd.api.types.is_bool_dtype(column):
        return False
    if pd.api.types.is_numeric_dtype(column):
        return _spelling(sample) is not None
    if _is_date_objects(sample):
        return True
    texts = sample.astype(str)
    return bool(texts.str.contains(DATE).all()) and (_parse(texts) is not None or _parse(texts, True) is not None)


def could_be_times(column: pd.Series) -> bool:
    """Whether a column holds numbers, or what reads as dates."""
    is_number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    return is_number or looks_like_dates(column)


def read_times(column: pd.Series, date_format: str | None = None, keep_numbers: bool = False) -> Times:
    """Reads a column of times.

    Args:
        column: dates, text or numbers, none missing.
        date_format: how dates are spelled, as strptime has it; they are written back in the same way.
        keep_numbers: numbers are numbers, even such as 1949 or 19490131.
    """
    is_number = pd.api.types.is_numeric_dtype(column)
    if date_format is not None:
        try:
            stamps = pd.to_datetime(column.astype(str), format=date_format)
        except ValueError as error:
            raise CommandError(f"--date-format: column {column.name!r} is not all in it ({_reason(error)})") from error
        return Times(stamps, date_format, as_numbers=is_number)
    if is_number and (keep_numbers or _spelling(column) is None):
        return Times(column)
    if pd.api.types.is_datetime64_any_dtype(column) or _is_date_objects(column):
        return Times(column)
    spelling = _spelling(column)
    if spelling is not None:
        return Times(pd.to_datetime(column.astype(str), format=spelling), spelling, as_numbers=is_number)
    return Times(_read_text(column.astype(str)))


def _spelling(column: pd.Series) -> str | None:
    """How a column writes dates without a day or as digits; None if it does not."""
    is_number = pd.api.types.is_numeric_dtype(column)
    if is_number and not pd.api.types.is_integer_dtype(column):
        return None
    texts = column.astype(str)
    # Any number may lie between 1000 and 2999: its column must say that it is a year.
    says_year = "year" in str(column.name).lower()
    spellings = DIGITS | ({"%Y": SPELLINGS["%Y"]} if says_year else {}) if is_number else SPELLINGS | DIGITS
    for spelling, pattern in spellings.items():
        if re.fullmatch(pattern, texts.iloc[0]) and texts.str.fullmatch(pattern.replace("(", "(?:")).all():
            if not pd.to_datetime(texts, format=spelling, errors="coerce").isna().any():
                return spelling
    return None


def _read_text(texts: pd.Series) -> pd.Series:
    stamps = _parse(texts)
    days_first = _parse(texts, True) if DAY_OR_MONTH.match(texts.iloc[0]) else None
    if stamps is not None and days_first is not None and (stamps != days_first).any():
        example = texts[stamps != days_first].iloc[0]
        day_first, month_first = (
            order.replace("/", re.search(r"\D", example)[0]) for order in ("%d/%m/%Y", "%m/%d/%Y")
        )
        raise CommandError(
            f"column {texts.name!r} holds dates such as {example}, which may begin with the day or with the month: "
            f"give --date-format, such as {day_first} or {month_first}"
        )
    found = stamps if stamps is not None else days_first
    if found is None:
        each = _quietly(lambda: pd.to_datetime(texts, format="mixed", errors="coerce", utc=True))
        row = int(each.isna().argmax())
        raise CommandError(
            f"column {texts.name!r} holds {texts.iloc[row]!r} in row {row}, which does not read as a date "
            "as the others do: give --date-format, or another column as --time"
        )
    return found


def _parse(texts: pd.Series, days_first: bool = False) -> pd.Series | None:
    """Dates if pandas can read them all, those of several time zones in UTC."""
    for settings in ({"format": "ISO8601"}, {"dayfirst": days_first}, {"format": "ISO8601", "utc": True}):
        try:
            stamps = _quietly(lambda: pd.to_datetime(texts, **settings))
        except (ValueError, TypeError, OverflowError):
            continue
        if pd.api.types.is_datetime64_any_dtype(stamps):
            return stamps
    return None


def _quietly(parse):
    """pandas warns of every spelling that it has to guess."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parse()


def _is_date_objects(column: pd.Series) -> bool:
    return pd.api.types.is_object_dtype(column) and isinstance(column.iloc[0], datetime.date)


def _reason(error: Exception) -> str:
    return str(error).partition(". You might want")[0]
