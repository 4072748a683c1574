"""Warnings that point at the caller's line, wherever in fimjax they are found."""

import sys
import warnings


def warn_user(message: str) -> None:
    """Warns at the first line outside this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("fimjax."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)
