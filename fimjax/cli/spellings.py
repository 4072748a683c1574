"""Numbers and times as files spell them: decimal commas, dates in many formats, years, and plain numbers."""

import dataclasses
import datetime
import re
import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np
import pandas as pd

from fimjax.cli.console import CommandError
from fimjax.frames.columns import Source

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
DECIMAL_COMMA = r"[-+]?(?:\d+(?:,\d*)?|,\d+)(?:[eE][-+]?\d+)?"
THOUSANDS = r"[-+]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?"
IN_DOUBT = r"[-+]?[1-9]\d{0,2},\d{3}"
"""1,234 is 1234 with a thousands separator, or 1.234 with a decimal comma."""


SPELLINGS = {"%Y-%m": r"[12]\d{3}-(0[1-9]|1[0-2])", "%Y": r"[12]\d{3}"}
"""Formats of dates without a day."""

DIGITS = {"%Y%m": r"(1[89]|2[01])\d{2}(0[1-9]|1[0-2])", "%Y%m%d": r"(1[89]|2[01])\d{2}(0[1-9]|1[0-2])[0-3]\d"}
"""Dates that look like numbers."""

DATE = re.compile(r"\d{4}|\d+[-/.]\d+[-/.]\d+|[A-Za-z]{3}[a-z]*[-/ ']\d{2}")
"""What a text must contain to be taken for a date; pandas also reads ids such as A1 or May as dates."""

DAY_OR_MONTH = re.compile(r"\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}")

OFFSET = re.compile(r"([-+]\d{2}(?::?\d{2})?|Z)\s*$")

SAMPLE = 200
"""Rows that are read to decide whether a column holds dates."""


def read_decimal_commas(column: pd.Series) -> pd.Series | None:
    """The numbers of a column with decimal commas; None if it has none, or if they may separate thousands.

    Text among the numbers stays and is refused later.
    """
    if column.dtype != object:
        return None
    texts = column.dropna().astype(str).str.strip()
    fits = texts.str.fullmatch(DECIMAL_COMMA)
    with_comma = texts[fits & texts.str.contains(",", regex=False)]
    if not len(with_comma) or with_comma.str.fullmatch(IN_DOUBT).all() or fits.mean() <= 0.5:
        return None
    if texts[~fits].str.fullmatch(NUMBER).any():  # 1,5 beside 1.500
        return None
    found = column.copy()
    found[texts[fits].index] = texts[fits].str.replace(",", ".")
    return pd.to_numeric(found) if fits.all() else found


def looks_like_numbers(column: pd.Series) -> bool:
    """Whether most texts of a column are numbers with a decimal point, a decimal comma, or thousands separators."""
    texts = column.astype(str).str.strip()
    return bool(texts.str.fullmatch(f"{NUMBER}|{DECIMAL_COMMA}|{THOUSANDS}").mean() > 0.5)


def refuse_thousands(column: pd.Series, source: Source) -> None:
    """Refuses numbers with thousands separators, which would only be called text later."""
    texts = column.astype(str).str.strip()
    found = texts.str.fullmatch(THOUSANDS).to_numpy()
    if found.any():
        row = int(found.argmax())
        in_doubt = texts[found].str.fullmatch(IN_DOUBT).all()
        doubt = ", or perhaps with a decimal comma" if in_doubt else ""
        hint = f", a number with a thousands separator{doubt}: write numbers as 1234.5"
        source.refuse(f"holds {texts.iloc[row]!r}", row, hint)


@dataclasses.dataclass(frozen=True)
class Times:
    """A column of timestamps, and how the file spells them."""

    stamps: pd.Series
    spelling: str | None = None
    """A format of strftime; None for the format of pandas."""
    as_numbers: bool = False
    has_offsets: bool = False
    """Whether the file has several offsets from UTC, so that the timestamps are in UTC."""

    def spell(self, stamps: pd.Series) -> pd.Series:
        """Timestamps in the spelling of the file."""
        if self.spelling is None:
            return stamps
        spelled = stamps.dt.strftime(self.spelling)
        return spelled.astype(np.int64) if self.as_numbers else spelled

    def can_spell(self, stamps: pd.Series) -> bool:
        """Whether that spelling loses nothing; a file with years cannot spell months."""
        if self.spelling is None:
            return True
        try:
            return bool((pd.to_datetime(stamps.dt.strftime(self.spelling), format=self.spelling) == stamps).all())
        except (ValueError, TypeError):
            return False


def looks_like_dates(column: pd.Series, date_format: str | None = None) -> bool:
    """Whether the first rows of a column are dates, in a given format if there is one."""
    sample = column.dropna().head(SAMPLE)
    if date_format is not None and len(sample):
        return bool(_quietly(lambda: _read_format(sample.astype(str), date_format, errors="coerce")).notna().all())
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


def could_be_times(column: pd.Series, date_format: str | None = None) -> bool:
    """Whether a column holds numbers or dates."""
    if date_format is not None:
        return looks_like_dates(column, date_format)
    is_number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    return is_number or looks_like_dates(column)


def read_times(
    column: pd.Series,
    date_format: str | None = None,
    keep_numbers: bool = False,
    place: Callable[[int], str] = lambda row: f"row {row}",
) -> Times:
    """Reads a column of times.

    Args:
        column: dates, text or numbers, none missing.
        date_format: how dates are spelled, as a format of strptime; predictions are written in the same format.
        keep_numbers: whether numbers such as 1949 or 19490131 stay numbers.
        place: the name of a row in messages.
    """
    is_number = pd.api.types.is_numeric_dtype(column)
    is_whole = pd.api.types.is_integer_dtype(column)
    if date_format is not None:
        if is_number and not is_whole:
            raise CommandError(
                f"--date-format: column {column.name!r} was read as numbers, in which 2020.1 and 2020.10 are the same; "
                "dates are read as text in the column given as --time, if the file is CSV"
            )
        texts = column.astype(str)
        try:
            stamps = _read_format(texts, date_format)
        except ValueError as error:
            raise CommandError(f"--date-format: column {column.name!r} is not all in it ({_reason(error)})") from error
        return Times(stamps, date_format, as_numbers=is_whole, has_offsets=_has_offsets(texts, stamps))
    if is_number and (keep_numbers or _spelling(column) is None):
        return Times(column)
    if pd.api.types.is_datetime64_any_dtype(column) or _is_date_objects(column):
        return Times(column)
    spelling = _spelling(column)
    if spelling is not None:
        return Times(pd.to_datetime(column.astype(str), format=spelling), spelling, as_numbers=is_number)
    texts = column.astype(str)
    stamps = _read_text(texts, place)
    return Times(stamps, has_offsets=_has_offsets(texts, stamps))


def _read_format(texts: pd.Series, date_format: str, errors: Literal["raise", "coerce"] = "raise") -> pd.Series:
    """Dates in a format; those with several offsets are in UTC."""
    read = lambda utc: _quietly(lambda: pd.to_datetime(texts, format=date_format, errors=errors, utc=utc))
    if "%z" not in date_format:
        return read(False)
    stamps = read(True)
    if _has_offsets(texts, stamps):
        return stamps
    return read(False)


def _has_offsets(texts: pd.Series, stamps: pd.Series) -> bool:
    """Whether texts have several offsets from UTC."""
    return stamps.dt.tz is not None and texts.str.extract(OFFSET)[0].nunique() > 1


def _spelling(column: pd.Series) -> str | None:
    """The format of dates without a day or of digits; None if the column has no such dates."""
    is_number = pd.api.types.is_numeric_dtype(column)
    if is_number and not pd.api.types.is_integer_dtype(column):
        return None
    texts = column.astype(str)
    # Many numbers lie between 1000 and 2999, so the column's name must say that they are years.
    says_year = "year" in str(column.name).lower()
    spellings = DIGITS | ({"%Y": SPELLINGS["%Y"]} if says_year else {}) if is_number else SPELLINGS | DIGITS
    for spelling, pattern in spellings.items():
        if re.fullmatch(pattern, texts.iloc[0]) and texts.str.fullmatch(pattern.replace("(", "(?:")).all():
            if not pd.to_datetime(texts, format=spelling, errors="coerce").isna().any():
                return spelling
    return None


def _read_text(texts: pd.Series, place: Callable[[int], str]) -> pd.Series:
    stamps = _parse(texts)
    days_first = _parse(texts, True) if DAY_OR_MONTH.match(texts.iloc[0]) else None
    if stamps is not None and days_first is not None and (stamps != days_first).any():
        example = texts[stamps != days_first].iloc[0]
        sign, year = re.sub(r"\d", "", example)[0], "%Y" if re.search(r"\d{4}", example) else "%y"
        day_first, month_first = (sign.join((*order, year)) for order in (("%d", "%m"), ("%m", "%d")))
        raise CommandError(
            f"column {texts.name!r} holds dates such as {example}, which may begin with the day or with the month: "
            f"give --date-format, such as {day_first} or {month_first}"
        )
    found = stamps if stamps is not None else days_first
    if found is None:
        each = _quietly(lambda: pd.to_datetime(texts, format="mixed", errors="coerce", utc=True))
        row = int(each.isna().argmax())
        raise CommandError(
            f"column {texts.name!r} holds {texts.iloc[row]!r} in {place(row)}, which does not read as a date "
            "as the others do: give --date-format, or another column as --time"
        )
    return found


def _parse(texts: pd.Series, days_first: bool = False) -> pd.Series | None:
    """Dates if pandas can read all of them; those with several offsets are in UTC."""
    for settings in ({"format": "ISO8601"}, {"dayfirst": days_first}, {"format": "ISO8601", "utc": True}):
        try:
            stamps = _quietly(lambda: pd.to_datetime(texts, **settings))
        except (ValueError, TypeError, OverflowError):
            continue
        if pd.api.types.is_datetime64_any_dtype(stamps):
            return stamps
    return None


def _quietly(parse: Callable[[], pd.Series]) -> pd.Series:
    """Reads without the warnings of pandas about formats that it has to guess."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parse()


def _is_date_objects(column: pd.Series) -> bool:
    return pd.api.types.is_object_dtype(column) and isinstance(column.iloc[0], datetime.date)


def _reason(error: Exception) -> str:
    return str(error).partition(". You might want")[0]
