"""Warnings that name their series, and point at the caller's line wherever in fimjax they are found."""

import sys
import warnings
from typing import Any

MOST_NAMED = 10
"""Series that a warning names."""


def warn_user(message: str) -> None:
    """Warns at the first line outside this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("fimjax."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


def listed(ids: list[Any]) -> str:
    """Series by their ids, as many as one can read."""
    shown = ", ".join(map(repr, ids[:MOST_NAMED]))
    return f"series {shown}" if len(ids) <= MOST_NAMED else f"{len(ids):,} series, such as {shown}"
