"""The weights that ship with fimjax, a folder for each model."""

from importlib.resources import files
from importlib.resources.abc import Traversable

CONFIG = "config.json"
"""The file without which a folder is not whole."""


def bundled_folders() -> dict[str, Traversable]:
    """Folders of the models that ship, by name."""
    inside = sorted(files("fimjax.weights").iterdir(), key=lambda entry: entry.name)
    return {folder.name: folder for folder in inside if folder.joinpath(CONFIG).is_file()}
