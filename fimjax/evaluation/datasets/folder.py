"""The folder of the benchmark's data: the user's choice or the cache; missing data sets are downloaded into it."""

import os
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from fimjax.errors import EvaluationError
from fimjax.evaluation.datasets.archive import MANIFEST, SOURCES, Source, fetch_dataset, read_manifest
from fimjax.evaluation.datasets.catalog import DatasetInfo, dataset_info
from fimjax.evaluation.datasets.dataset import Dataset, read_dataset, series_file
from fimjax.files import user_cache

DATA_SETTING = "FIMJAX_DATA"
"""Environment variable with the data folder."""

SUBFOLDER = "bench"
"""Subfolder with the benchmark's data in a folder that holds other data as well."""

WORDS = {"YS": "yearly", "QS": "quarterly", "MS": "monthly", "W": "weekly", "D": "daily", "h": "hourly"}
"""The archive's words for the catalog's frequencies."""


def data_folder(folder: Path | None = None) -> Path:
    """The given folder, else the one in FIMJAX_DATA, else one in the user's cache."""
    named = os.environ.get(DATA_SETTING)
    chosen = folder or named
    if not chosen:
        return user_cache() / "data"
    found = Path(chosen).expanduser()
    if not found.is_dir():
        origin = f" ({DATA_SETTING})" if folder is None else ""
        raise EvaluationError(f"data folder {found}{origin} does not exist")
    return found


def load_dataset(
    name: str,
    folder: Path | None = None,
    *,
    download: bool = True,
    console: Console | None = None,
    sources: Mapping[str, Source] = SOURCES,
) -> Dataset:
    """Loads a data set from the data folder, after downloading it if it is missing."""
    info, root = dataset_info(name), data_folder(folder)
    place = _find(root, name)
    if place is None:
        remedy = "name the folder that has it with --data or FIMJAX_DATA"
        if not download:
            raise EvaluationError(f"data set {name} is not in {root}; allow the download or {remedy}")
        place = root / SUBFOLDER if (root / SUBFOLDER).is_dir() else root
        try:
            fetch_dataset(info, sources[name], place, console)
        except EvaluationError as error:
            raise EvaluationError(f"{error}, and it is not in {root}; {remedy}") from error
    return read_dataset(place, name)


def manifest_differences(folder: Path | None, info: DatasetInfo) -> list[str]:
    """Lists where the manifest of a data folder differs from the catalog, one sentence each."""
    place = _find(data_folder(folder), info.name)
    if place is None:
        return []
    entry = next((entry for entry in read_manifest(place) if entry["dataset"] == info.name), {})
    expected = {"seasonality": info.season, "horizon": info.horizon, "frequency": WORDS.get(info.frequency)}
    return [
        f"{info.name}: {key} is {entry[key]} in {place / MANIFEST}, {value} in the paper's table 3"
        for key, value in expected.items()
        if entry.get(key) is not None and entry[key] != value
    ]


def _find(root: Path, name: str) -> Path | None:
    """The folder with a data set: the root or its subfolder."""
    return next((place for place in (root, root / SUBFOLDER) if series_file(place, name).is_file()), None)
