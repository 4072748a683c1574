"""The bundled weights, one folder for each model."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

CONFIG = "config.json"
"""The file that is written last: a folder without it is incomplete."""

DEFAULT = "fim-small"
"""The model that a forecaster uses by default."""


def bundled_folders() -> dict[str, Traversable]:
    """Folders of the bundled models, by name."""
    inside = sorted(files("fimjax.weights").iterdir(), key=lambda entry: entry.name)
    return {folder.name: folder for folder in inside if folder.joinpath(CONFIG).is_file()}


def split_sources(source: str | Path | None) -> list[str | Path | None]:
    """The names or folders in "fim-small+nbeats-small"; a folder may have a + in its own name."""
    if not isinstance(source, str) or "+" not in source or Path(source).exists():
        return [source]
    return [*source.split("+")]
