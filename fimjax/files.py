"""Files that appear as a whole or not at all, and where fimjax keeps what can be made again."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import platformdirs

CACHE_SETTING = "FIMJAX_CACHE"
"""Environment variable with the folder for all that fimjax keeps between runs."""


def user_cache() -> Path:
    """The folder for what can be made again: data, fits, compiled programs."""
    named = os.environ.get(CACHE_SETTING)
    return Path(named).expanduser() if named else platformdirs.user_cache_path("fimjax", appauthor=False)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to write to, which takes the place of another only when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield scratch
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)
