"""Numbers as files spell them: with decimal commas, and with separators of thousands, which are refused."""

import pandas as pd

from fimjax.frames.panel import Source

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
DECIMAL_COMMA = r"[-+]?(?:\d+(?:,\d*)?|,\d+)(?:[eE][-+]?\d+)?"
THOUSANDS = r"[-+]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?"
IN_DOUBT = r"[-+]?[1-9]\d{0,2},\d{3}"
"""One thousand two hundred and thirty-four, or a little more than one."""


def read_decimal_commas(column: pd.Series) -> pd.Series | None:
    """The numbers of a column that writes them with decimal commas; None if it does not, or if they may be thousands.

    Text among the numbers stays, for the library to refuse.
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
    """Whether most texts of a column are numbers in one of these spellings."""
    texts = column.astype(str).str.strip()
    return bool(texts.str.fullmatch(f"{NUMBER}|{DECIMAL_COMMA}|{THOUSANDS}").mean() > 0.5)


def refuse_thousands(column: pd.Series, source: Source) -> None:
    """Refuses what the library would only call text."""
    texts = column.astype(str).str.strip()
    found = texts.str.fullmatch(THOUSANDS).to_numpy()
    if found.any():
        row = int(found.argmax())
        in_doubt = texts[found].str.fullmatch(IN_DOUBT).all()
        doubt = ", or perhaps with a decimal comma" if in_doubt else ""
        hint = f", a number with a thousands separator{doubt}: write numbers as 1234.5"
        source.refuse(f"holds {texts.iloc[row]!r}", row, hint)
