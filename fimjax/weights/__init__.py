"""The weights that ship with fimjax, a folder for each model."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

CONFIG = "config.json"
"""The file without which a folder is not whole."""

DEFAULT = "fim-small"
"""The model that a forecaster uses unless it is told otherwise."""


def bundled_folders() -> dict[str, Traversable]:
    """Folders of the models that ship, by name."""
    inside = sorted(files("fimjax.weights").iterdir(), key=lambda entry: entry.name)
    return {folder.name: folder for folder in inside if folder.joinpath(CONFIG).is_file()}


def split_sources(source: str | Path | None) -> list[str | Path | None]:
    """The names or folders in "fim-small+nbeats-small"; a folder may have a + in its own name."""
    if not isinstance(source, str) or "+" not in source or Path(source).exists():
        return [source]
    return source.split("+")
