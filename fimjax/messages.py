"""Warnings that name their series and point at the caller's line."""

import sys
import warnings
from typing import Any

MAX_NAMED = 10
"""Most series that a warning names."""


def warn_user(message: str) -> None:
    """Warns at the first line outside this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("fimjax."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


def list_series(ids: list[Any]) -> str:
    """The ids of some series, shortened if there are many."""
    shown = ", ".join(map(repr, ids[:MAX_NAMED]))
    return f"series {shown}" if len(ids) <= MAX_NAMED else f"{len(ids):,} series, such as {shown}"
