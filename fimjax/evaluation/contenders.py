"""Who takes part: statistical models by name, and anything with the forecasting interface."""

import dataclasses
import importlib
import time
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from fimjax.evaluation.catalog import EvaluationError
from fimjax.evaluation.datasets import Dataset
from fimjax.evaluation.forecasts import LEVELS, Forecasts, level_column
from fimjax.evaluation.published import has_seen


class ForecastingInterface(Protocol):
    """What an object needs to take part. Optional besides: `trained_on`, names of data sets or competitions seen in
    training, and `version`, a string that changes with the forecasts and lets an interrupted evaluation go on."""

    def forecast(
        self, df: pd.DataFrame, h: int, *, freq: int, season_length: int, quantiles: tuple[float, ...]
    ) -> pd.DataFrame:
        """Long frame (unique_id, ds, y) in; unique_id, ds, a point column X and quantiles `X-q-10` (per cent) out."""
        ...


@dataclasses.dataclass(frozen=True)
class Contender:
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


def find_contenders(
    specs: list[str], statistical: tuple[str, ...], seen: dict[str, tuple[str, ...]]
) -> list[Contender]:
    """Contenders by name of a statistical model, or by `label=target`, or by target alone.

    A target is the folder of a training run, or `package.module:object` with the forecasting interface (or a class or
    function that makes one when called without arguments).
    """
    contenders = []
    for spec in specs:
        label, _, target = spec.rpartition("=")
        if not label and target in statistical:
            contenders.append(Contender(target, None))
            continue
        label = label or (Path(target).name if Path(target).is_dir() else target)
        if label in statistical:
            raise EvaluationError(f"model {spec!r}: {label!r} is the name of a statistical model; choose another label")
        model = _load(spec, target, statistical)
        contenders.append(Contender(label, model, tuple(getattr(model, "trained_on", ())) + seen.get(label, ())))
    names = [contender.name for contender in contenders]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise EvaluationError(f"model {twice[0]!r} is asked for twice; give the second one a label: other={twice[0]}")
    strangers = [label for label in seen if label not in names]
    if strangers:
        raise EvaluationError(f"seen: there is no model {strangers[0]!r} in this evaluation")
    return contenders


def _load(spec: str, target: str, statistical: tuple[str, ...]) -> Any:
    if Path(target).is_dir():
        # Here, for JAX takes seconds to import, and statistical models do without.
        from fimjax.forecasting.forecaster import Forecaster
        from fimjax.training.checkpoint import CheckpointError

        try:
            return Forecaster.from_pretrained(target)
        except CheckpointError as error:
            raise EvaluationError(f"model {spec!r}: {error}") from error
    module, colon, attribute = target.partition(":")
    if colon and not module.endswith("/"):
        try:
            found = getattr(importlib.import_module(module), attribute)
            model = found if hasattr(found, "forecast") and not isinstance(found, type) else found()
        except (ImportError, AttributeError, TypeError) as error:
            raise EvaluationError(f"model {spec!r} cannot be loaded: {error}") from error
        if not callable(getattr(model, "forecast", None)):
            raise EvaluationError(f"model {spec!r}: a {type(model).__name__} has no method forecast")
        return model
    if target == "fim":
        raise EvaluationError(
            "model 'fim': no weights come with this version; name a training run, as in fim=runs/tiny/fim"
        )
    raise EvaluationError(
        f"model {spec!r} is unknown: neither {', '.join(statistical)}, nor a folder, nor package.module:object"
    )


def ask(contender: Contender, dataset: Dataset) -> Forecasts:
    """The forecasts of an object with the forecasting interface for every series of a data set."""
    started, busy = time.perf_counter(), time.process_time()
    frame = contender.model.forecast(
        dataset.history_frame(), h=dataset.info.horizon, freq=1, season_length=dataset.info.season, quantiles=LEVELS
    )
    busy, elapsed = time.process_time() - busy, time.perf_counter() - started
    point, quantiles = _read_answer(frame, contender.name, dataset)
    n = len(dataset)
    return Forecasts(
        ids=dataset.ids,
        point=point,
        quantiles=quantiles,
        seconds=np.full(n, busy / n),
        elapsed=np.full(n, elapsed / n),
        fallback=np.zeros(n, bool),
    )


def _read_answer(frame: pd.DataFrame, model: str, dataset: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Point forecasts [N, h] and quantiles [N, h, L] from a frame whose rows may come in any order of series."""
    where = f"model {model} on {dataset.info.name}"
    horizon = dataset.info.horizon
    suffix = f"-{level_column(0.5)}"
    names = [column.removesuffix(suffix) for column in frame.columns if str(column).endswith(suffix)]
    if len(names) != 1:
        raise EvaluationError(f"{where}: its answer needs one column that ends in {suffix!r}, and has {len(names)}")
    columns = [names[0], *(f"{names[0]}-{level_column(level)}" for level in LEVELS)]
    absent = [column for column in ("unique_id", "ds", *columns) if column not in frame.columns]
    if absent:
        raise EvaluationError(f"{where}: its answer has no column {absent[0]!r}")
    place = pd.Index(dataset.ids).get_indexer(frame["unique_id"].astype(str))
    first = np.array([len(y) for y in dataset.histories])
    step = frame["ds"].to_numpy() - first[place]
    expected = len(dataset) * horizon
    fits = (place >= 0) & (step >= 0) & (step < horizon)
    slots = (place * horizon + step)[fits].astype(int)
    if len(frame) != expected or not fits.all() or len(np.unique(slots)) != expected:
        missing = np.setdiff1d(np.arange(expected), slots)
        series = dataset.ids[missing[0] // horizon] if len(missing) else frame["unique_id"].iloc[np.argmin(fits)]
        raise EvaluationError(
            f"{where}: its answer must have the {horizon} steps after each history once; see series {series}"
        )
    cells = np.empty((expected, len(columns)))
    cells[slots] = frame[columns].to_numpy(np.float64)
    cells = cells.reshape(len(dataset), horizon, len(columns))
    return cells[..., 0], np.sort(cells[..., 1:], axis=-1)
