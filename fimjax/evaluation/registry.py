"""The models of a benchmark: statistical models by name, and any object with the forecasting interface."""

import contextlib
import dataclasses
import functools
import importlib
import inspect
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from fimjax.errors import EvaluationError
from fimjax.evaluation.datasets.catalog import is_known
from fimjax.evaluation.datasets.dataset import Dataset
from fimjax.evaluation.forecasts import LEVELS, Forecasts, quantile_column
from fimjax.evaluation.published import is_trained_on
from fimjax.weights import DEFAULT, bundled_folders, split_sources

FIM = "fim"
"""Short name of the default weights."""

CALIBRATED = ":calibrated"
"""Suffix of a fimjax model whose intervals are calibrated on the histories of each data set."""


class ForecastingInterface(Protocol):
    """The method that a model needs to take part in a benchmark.

    Two attributes are optional. `trained_on` names the data sets or competitions in its training data. `version` is a
    string that changes with the forecasts: with it, an interrupted evaluation continues where it stopped.
    """

    def forecast(
        self, df: pd.DataFrame, h: int, *, freq: int, season_length: int, quantiles: tuple[float, ...]
    ) -> pd.DataFrame:
        """Forecasts h steps of every series.

        Args:
            df: long frame with unique_id, ds and y.

        Returns:
            unique_id, ds, a point forecast in column X and quantiles in columns such as `X-q-10` (per cent).
        """
        ...


@dataclasses.dataclass(frozen=True)
class BenchmarkModel:
    """A forecaster with its name in the tables."""

    name: str
    forecaster: Any
    """An object with the forecasting interface; None for a statistical model."""
    trained_on: tuple[str, ...] = ()
    """Data sets or competitions in the training data."""

    @property
    def is_statistical(self) -> bool:
        return self.forecaster is None

    @property
    def version(self) -> str | None:
        """Distinguishes these forecasts from others under the same name; None if the object has no version."""
        return getattr(self.forecaster, "version", None)

    def is_trained_on(self, dataset: str) -> bool:
        """Whether a data set was in the training data."""
        return is_trained_on(self.trained_on, dataset)


class Calibrated:
    """A fimjax forecaster that calibrates its intervals on the histories of each data set."""

    def __init__(self, forecaster: Any):
        self.name, self.version = forecaster.name, f"{forecaster.version}-calibrated"
        self.forecast: Callable[..., pd.DataFrame] = functools.partial(forecaster.forecast, calibrate=True)


def find_models(
    specs: list[str], statistical: tuple[str, ...], trained_on: dict[str, tuple[str, ...]]
) -> list[BenchmarkModel]:
    """Finds the models that the user named.

    Args:
        specs: `target` or `label=target`. A target is a statistical model, `fim` for the default weights, the name of
            other bundled weights, the folder of a training run or of saved weights, or `package.module:object` with
            the forecasting interface (or a class or function without arguments that returns one). The suffix
            `:calibrated` calibrates the intervals of fimjax weights: `fim:calibrated`.
        statistical: names of the statistical models.
        trained_on: more data sets or competitions in the training data, by model.
    """
    models = []
    for spec in specs:
        if spec in statistical:
            models.append(BenchmarkModel(spec, None, trained_on.get(spec, ())))
            continue
        label, target = _split(spec)
        if label in statistical:
            raise EvaluationError(f"model {spec!r}: {label!r} is the name of a statistical model; choose another label")
        forecaster = _load(spec, target, statistical)
        models.append(BenchmarkModel(label, forecaster, _trained_on(spec, forecaster) + trained_on.get(label, ())))
    names = [model.name for model in models]
    duplicates = [name for name in names if names.count(name) > 1]
    if duplicates:
        raise EvaluationError(f"model {duplicates[0]!r} is listed twice")
    unknown = [name for name in trained_on if name not in names]
    if unknown:
        raise EvaluationError(f"trained-on: there is no model {unknown[0]!r} in this evaluation")
    return models


def _split(spec: str) -> tuple[str, str]:
    """Splits a spec into label and target; the label of a folder is its own name by default."""
    label, equals, target = spec.partition("=")
    if not equals or Path(spec).is_dir():
        label, target = (Path(spec).resolve().name if Path(spec).is_dir() else spec), spec
    # Labels become names of files and columns.
    if not re.fullmatch(r"\w[\w.:+@ -]{0,99}", label) or label.startswith("paper:"):
        raise EvaluationError(f"model {spec!r}: {label!r} is not a valid name; choose one: name=...")
    return label, target


def _load(spec: str, target: str, statistical: tuple[str, ...]) -> ForecastingInterface:
    """Loads fimjax weights, or imports another model."""
    bundled = (FIM, *bundled_folders())
    source = target.removesuffix(CALIBRATED)
    if all(part in bundled or Path(str(part)).is_dir() for part in split_sources(source)):
        return _load_weights(spec, source, calibrate=source != target)
    if ":" not in target:
        raise EvaluationError(
            f"model {spec!r} is unknown: it is neither one of {', '.join((*bundled, *statistical))}, nor a folder, nor "
            "package.module:object"
        )
    module, _, attribute = target.partition(":")
    try:
        with _working_folder_importable():
            found = getattr(importlib.import_module(module), attribute)
            model = found if hasattr(found, "forecast") and not isinstance(found, type) else found()
    except Exception as error:  # importing a module runs its code, which may raise anything
        raise EvaluationError(f"model {spec!r} cannot be loaded: {error_in_one_line(error)}") from error
    if not callable(getattr(model, "forecast", None)):
        raise EvaluationError(f"model {spec!r}: a {type(model).__name__} has no method forecast")
    if not isinstance(getattr(model, "version", None), str | None):
        raise EvaluationError(f"model {spec!r}: its version is not a string")
    return model


def _load_weights(spec: str, source: str, calibrate: bool) -> ForecastingInterface:
    # Imported here because JAX takes seconds to import and statistical models do not need it.
    from fimjax.forecaster import Forecaster

    try:
        parts = [DEFAULT if part == FIM else str(part) for part in split_sources(source)]
        forecaster = Forecaster.from_pretrained("+".join(parts))
    except Exception as error:  # Orbax raises many kinds of errors for a folder that is not a checkpoint
        raise EvaluationError(f"model {spec!r} cannot be loaded: {error_in_one_line(error)}") from error
    return Calibrated(forecaster) if calibrate else forecaster


@contextlib.contextmanager
def _working_folder_importable() -> Iterator[None]:
    """Makes modules in the working folder importable, wherever the command is installed."""
    sys.path.insert(0, os.getcwd())
    try:
        yield
    finally:
        sys.path.remove(os.getcwd())


def _trained_on(spec: str, forecaster: Any) -> tuple[str, ...]:
    """Reads and checks the optional attribute `trained_on` of a forecaster."""
    value = getattr(forecaster, "trained_on", None) or ()
    names = (value,) if isinstance(value, str) else tuple(value)
    unknown = [name for name in names if not is_known(name)]
    if unknown:
        raise EvaluationError(
            f"model {spec!r}: trained_on has {unknown[0]!r}, which is no data set or competition of the benchmark"
        )
    return names


def error_in_one_line(error: Exception) -> str:
    """The message of an error on one line, after the error's type unless it is our own."""
    text = " ".join(str(error).split())
    return text if isinstance(error, EvaluationError) else f"{type(error).__name__}: {text}" if text else repr(error)


def run_model(model: BenchmarkModel, dataset: Dataset) -> Forecasts:
    """Forecasts every series of a data set with a model that is not a statistical one."""
    where, info = f"model {model.name} on {dataset.info.name}", dataset.info
    started, busy = time.perf_counter(), time.process_time()
    try:
        found = model.forecaster.forecast(
            dataset.history_frame(),
            h=info.horizon,
            freq=1,
            season_length=info.reported_season,
            quantiles=LEVELS,
            **_extra_arguments(model, dataset),
        )
        busy, elapsed = time.process_time() - busy, time.perf_counter() - started
        frame = found if isinstance(found, pd.DataFrame) else found.to_pandas()
    except Exception as error:  # somebody else's model may raise anything
        raise EvaluationError(f"{where}: {error_in_one_line(error)}") from error
    point, quantiles = _read_forecast_frame(frame, where, dataset)
    n = len(dataset)
    return Forecasts(
        ids=dataset.ids,
        point=point,
        quantiles=quantiles,
        seconds=np.full(n, busy / n),
        elapsed=np.full(n, elapsed / n),
        fallback=np.zeros(n, bool),
    )


def _extra_arguments(model: BenchmarkModel, dataset: Dataset) -> dict[str, bool]:
    """Tells a model that has the argument `nonnegative` whether the histories have no negative value."""
    accepted = inspect.signature(model.forecaster.forecast).parameters
    return {"nonnegative": dataset.is_nonnegative} if "nonnegative" in accepted else {}


def _read_forecast_frame(frame: pd.DataFrame, where: str, dataset: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Reads point forecasts [B, h] and quantiles [B, h, L] from a frame with rows in any order."""
    suffix = f"-{quantile_column(0.5)}"
    names = [str(column).removesuffix(suffix) for column in frame.columns if str(column).endswith(suffix)]
    if len(names) != 1:
        raise EvaluationError(f"{where}: its forecast needs one column that ends in {suffix!r}, and has {len(names)}")
    columns = [names[0], *(f"{names[0]}-{quantile_column(level)}" for level in LEVELS)]
    for column in ("unique_id", "ds", *columns):
        if list(frame.columns).count(column) != 1:
            raise EvaluationError(f"{where}: its forecast needs one column {column!r}")
        if column != "unique_id" and not pd.api.types.is_numeric_dtype(frame[column]):
            kind = frame[column].dtype
            raise EvaluationError(f"{where}: column {column!r} of its forecast holds {kind}, not numbers")

    # Each row belongs to one slot: a step of a series.
    horizon, expected = dataset.info.horizon, len(dataset) * dataset.info.horizon
    first = np.array([len(y) for y in dataset.histories])
    ids = frame["unique_id"].astype(str).to_numpy()
    position = pd.Index(dataset.ids).get_indexer(ids)
    step = frame["ds"].to_numpy(np.float64) - first[position]
    fits = (position >= 0) & (step >= 0) & (step < horizon) & (step == np.floor(step))
    slots = np.where(fits, position * horizon + np.where(fits, step, 0), -1).astype(int)
    wrong = ~fits | pd.Series(slots).duplicated().to_numpy()
    missing = np.setdiff1d(np.arange(expected), slots)
    if wrong.any() or len(missing):
        series = ids[np.argmax(wrong)] if wrong.any() else dataset.ids[missing[0] // horizon]
        raise EvaluationError(
            f"{where}: its forecast must have each of the {horizon} steps after a history once; see series {series}"
        )
    cells = np.empty((expected, len(columns)))
    cells[slots] = frame[columns].to_numpy(np.float64)
    found = cells.reshape(len(dataset), horizon, len(columns))
    return found[..., 0], np.sort(found[..., 1:], axis=-1)
