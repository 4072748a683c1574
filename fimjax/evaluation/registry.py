"""Who takes part: statistical models by name, and anything with the forecasting interface."""

import contextlib
import dataclasses
import importlib
import inspect
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from fimjax.errors import EvaluationError
from fimjax.evaluation.datasets.catalog import is_known
from fimjax.evaluation.datasets.dataset import Dataset
from fimjax.evaluation.forecasts import LEVELS, Forecasts, level_column
from fimjax.evaluation.published import has_seen
from fimjax.weights import DEFAULT, bundled_folders, split_sources

BUNDLED = "fim"
"""The default model among those whose weights ship with fimjax."""


class ForecastingInterface(Protocol):
    """What an object needs to take part. Optional besides: `trained_on`, names of data sets or competitions seen in
    training, and `version`, a string that changes with the forecasts and lets an interrupted evaluation go on."""

    def forecast(
        self, df: pd.DataFrame, h: int, *, freq: int, season_length: int, quantiles: tuple[float, ...]
    ) -> pd.DataFrame:
        """Long frame (unique_id, ds, y) in; unique_id, ds, a point column X and quantiles `X-q-10` (per cent) out."""
        ...


@dataclasses.dataclass(frozen=True)
class BenchmarkModel:
    """A forecaster with the name that it has in the tables."""

    name: str
    model: Any
    """An object with the forecasting interface; None for a statistical model."""
    trained_on: tuple[str, ...] = ()

    @property
    def is_statistical(self) -> bool:
        return self.model is None

    @property
    def version(self) -> str | None:
        """What tells these forecasts from others of the same name; None if the object does not say."""
        return getattr(self.model, "version", None)

    def has_seen(self, dataset: str) -> bool:
        """Whether the model saw a data set in training."""
        return has_seen(self.trained_on, dataset)


def find_models(
    specs: list[str], statistical: tuple[str, ...], seen: dict[str, tuple[str, ...]]
) -> list[BenchmarkModel]:
    """Contenders by name of a statistical model, or by `label=target`, or by target alone.

    A target is `fim` for the default weights, the name of others that ship, the folder of a training run or of saved
    weights, or `package.module:object` with the forecasting interface (or a class or function that makes one when
    called without arguments).
    """
    contenders = []
    for spec in specs:
        if spec in statistical:
            contenders.append(BenchmarkModel(spec, None, seen.get(spec, ())))
            continue
        label, target = _split(spec)
        if label in statistical:
            raise EvaluationError(f"model {spec!r}: {label!r} is the name of a statistical model; choose another label")
        model = _load(spec, target, statistical)
        contenders.append(BenchmarkModel(label, model, _trained_on(spec, model) + seen.get(label, ())))
    names = [contender.name for contender in contenders]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise EvaluationError(f"model {twice[0]!r} is asked for twice")
    strangers = [label for label in seen if label not in names]
    if strangers:
        raise EvaluationError(f"seen: there is no model {strangers[0]!r} in this evaluation")
    return contenders


def _split(spec: str) -> tuple[str, str]:
    """Label and target of a model; a folder is called by its own name unless told."""
    label, equals, target = spec.partition("=")
    if not equals or Path(spec).is_dir():
        label, target = (Path(spec).resolve().name if Path(spec).is_dir() else spec), spec
    # Labels are names of files and of columns.
    if not re.fullmatch(r"\w[\w.:+@ -]{0,99}", label) or label.startswith("paper:"):
        raise EvaluationError(f"model {spec!r}: {label!r} is no name for a model; give it one: name=...")
    return label, target


def _load(spec: str, target: str, statistical: tuple[str, ...]) -> ForecastingInterface:
    ours = (BUNDLED, *bundled_folders())
    is_model = all(part in ours or Path(part).is_dir() for part in split_sources(target))
    if ":" not in target and not is_model:
        raise EvaluationError(
            f"model {spec!r} is unknown: neither {', '.join(ours)}, nor {', '.join(statistical)}, nor a folder, nor "
            "package.module:object"
        )
    if is_model:
        # Here, for JAX takes seconds to import, and statistical models do without.
        from fimjax.forecaster import Forecaster

        try:
            return Forecaster.from_pretrained("+".join(DEFAULT if p == BUNDLED else p for p in split_sources(target)))
        except Exception as error:  # Orbax has many ways to say that a folder is not a checkpoint
            raise EvaluationError(f"model {spec!r} cannot be loaded: {one_line(error)}") from error
    module, _, attribute = target.partition(":")
    try:
        with _working_folder_importable():
            found = getattr(importlib.import_module(module), attribute)
            model = found if hasattr(found, "forecast") and not isinstance(found, type) else found()
    except Exception as error:  # importing runs whatever the module holds
        raise EvaluationError(f"model {spec!r} cannot be loaded: {one_line(error)}") from error
    if not callable(getattr(model, "forecast", None)):
        raise EvaluationError(f"model {spec!r}: a {type(model).__name__} has no method forecast")
    if not isinstance(getattr(model, "version", None), str | None):
        raise EvaluationError(f"model {spec!r}: its version is not text")
    return model


@contextlib.contextmanager
def _working_folder_importable() -> Iterator[None]:
    """Modules in the working folder can be imported, wherever the command lies."""
    sys.path.insert(0, os.getcwd())
    try:
        yield
    finally:
        sys.path.remove(os.getcwd())


def _trained_on(spec: str, model: Any) -> tuple[str, ...]:
    """What a model says that it saw in training, by names of the benchmark."""
    said = getattr(model, "trained_on", None) or ()
    names = (said,) if isinstance(said, str) else tuple(said)
    strangers = [name for name in names if not is_known(name)]
    if strangers:
        raise EvaluationError(
            f"model {spec!r}: trained_on has {strangers[0]!r}, no data set or competition of the benchmark"
        )
    return names


def one_line(error: Exception) -> str:
    """What an error says, on one line, with its kind where that says more."""
    text = " ".join(str(error).split())
    return text if isinstance(error, EvaluationError) else f"{type(error).__name__}: {text}" if text else repr(error)


def ask(contender: BenchmarkModel, dataset: Dataset) -> Forecasts:
    """The forecasts of an object with the forecasting interface for every series of a data set."""
    where = f"model {contender.name} on {dataset.info.name}"
    started, busy = time.perf_counter(), time.process_time()
    try:
        info, besides = dataset.info, _told_besides(contender, dataset)
        answer = contender.model.forecast(
            dataset.history_frame(),
            h=info.horizon,
            freq=1,
            season_length=info.reported_season,
            quantiles=LEVELS,
            **besides,
        )
        busy, elapsed = time.process_time() - busy, time.perf_counter() - started
        frame = answer if isinstance(answer, pd.DataFrame) else answer.to_pandas()
    except Exception as error:  # whatever a stranger's model may raise
        raise EvaluationError(f"{where}: {one_line(error)}") from error
    point, quantiles = _read_answer(frame, where, dataset)
    n = len(dataset)
    return Forecasts(
        ids=dataset.ids,
        point=point,
        quantiles=quantiles,
        seconds=np.full(n, busy / n),
        elapsed=np.full(n, elapsed / n),
        fallback=np.zeros(n, bool),
    )


def _told_besides(contender: BenchmarkModel, dataset: Dataset) -> dict[str, bool]:
    """What a history shows, for a model that can be told: that no value is negative."""
    takes = inspect.signature(contender.model.forecast).parameters
    return {"nonnegative": dataset.is_nonnegative} if "nonnegative" in takes else {}


def _read_answer(frame: pd.DataFrame, where: str, dataset: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Point forecasts [N, h] and quantiles [N, h, L] from a frame whose rows may come in any order."""
    suffix = f"-{level_column(0.5)}"
    names = [str(column).removesuffix(suffix) for column in frame.columns if str(column).endswith(suffix)]
    if len(names) != 1:
        raise EvaluationError(f"{where}: its answer needs one column that ends in {suffix!r}, and has {len(names)}")
    columns = [names[0], *(f"{names[0]}-{level_column(level)}" for level in LEVELS)]
    for column in ("unique_id", "ds", *columns):
        if list(frame.columns).count(column) != 1:
            raise EvaluationError(f"{where}: its answer needs one column {column!r}")
        if column != "unique_id" and not pd.api.types.is_numeric_dtype(frame[column]):
            raise EvaluationError(f"{where}: column {column!r} of its answer holds {frame[column].dtype}, not numbers")

    # Each row has its slot: the step of its series.
    horizon, expected = dataset.info.horizon, len(dataset) * dataset.info.horizon
    first = np.array([len(y) for y in dataset.histories])
    ids = frame["unique_id"].astype(str).to_numpy()
    place = pd.Index(dataset.ids).get_indexer(ids)
    step = frame["ds"].to_numpy(np.float64) - first[place]
    fits = (place >= 0) & (step >= 0) & (step < horizon) & (step == np.floor(step))
    slots = np.where(fits, place * horizon + np.where(fits, step, 0), -1).astype(int)
    wrong = ~fits | pd.Series(slots).duplicated().to_numpy()
    missing = np.setdiff1d(np.arange(expected), slots)
    if wrong.any() or len(missing):
        series = ids[np.argmax(wrong)] if wrong.any() else dataset.ids[missing[0] // horizon]
        raise EvaluationError(
            f"{where}: its answer must have the {horizon} steps after each history once; see series {series}"
        )
    cells = np.empty((expected, len(columns)))
    cells[slots] = frame[columns].to_numpy(np.float64)
    cells = cells.reshape(len(dataset), horizon, len(columns))
    return cells[..., 0], np.sort(cells[..., 1:], axis=-1)
