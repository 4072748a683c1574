"""Atomic writes, and the cache folder."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import platformdirs

CACHE_SETTING = "FIMJAX_CACHE"
"""Environment variable that names the cache folder."""


def user_cache() -> Path:
    """The cache folder, for data sets, fitted baselines and compiled programs."""
    named = os.environ.get(CACHE_SETTING)
    return Path(named).expanduser() if named else platformdirs.user_cache_path("fimjax", appauthor=False)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file that replaces `path` when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield scratch
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)
