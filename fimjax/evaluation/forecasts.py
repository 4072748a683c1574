"""What every model of the benchmark answers, and its file."""

import dataclasses
import hashlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fimjax.errors import EvaluationError
from fimjax.evaluation.datasets.dataset import Dataset
from fimjax.files import replacing

INTERVALS = (20, 40, 60, 80, 95)
"""Central intervals, in per cent, whose bounds every model gives."""

LEVELS = (0.025, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.975)
"""Quantile levels: the bounds of INTERVALS and the median."""


ABOUT = "fimjax"
"""Key of what a file of forecasts says of itself."""


def level_index(level: float) -> int:
    """Where a quantile level stands in LEVELS."""
    return int(np.argmin(np.abs(np.array(LEVELS) - level)))


def interval_indices(interval: int) -> tuple[int, int]:
    """Where the lower and the upper bound of a central interval stand in LEVELS."""
    return level_index(0.5 - interval / 200), level_index(0.5 + interval / 200)


@dataclasses.dataclass(frozen=True)
class Forecasts:
    """Forecasts of N series for h steps."""

    ids: np.ndarray  # [N], str
    point: np.ndarray  # [N, h]
    quantiles: np.ndarray  # [N, h, L], at LEVELS
    seconds: np.ndarray  # [N], processor seconds that each took
    elapsed: np.ndarray  # [N], seconds on the clock, where series share the cores evenly
    fallback: np.ndarray  # [N], True where the model failed and another answered

    def __len__(self) -> int:
        return len(self.ids)

    def is_finite(self) -> np.ndarray:
        """[N, h], where point and quantiles are numbers, also in the precision that files have."""
        with np.errstate(over="ignore"):
            point, quantiles = self.point.astype(np.float32), self.quantiles.astype(np.float32)
        return np.isfinite(point) & np.isfinite(quantiles).all(axis=-1)

    def take(self, indices: np.ndarray) -> "Forecasts":
        """Some of the series."""
        return Forecasts(*(getattr(self, field.name)[indices] for field in dataclasses.fields(self)))


def join(parts: list[Forecasts]) -> Forecasts:
    """Forecasts of several groups of series as one."""
    names = [field.name for field in dataclasses.fields(Forecasts)]
    return Forecasts(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def require_finite(forecasts: Forecasts, model: str, dataset: str) -> None:
    """Refuses forecasts that no metric could be computed from."""
    finite = forecasts.is_finite()
    if not finite.all():
        series, step = np.argwhere(~finite)[0]
        raise EvaluationError(
            f"model {model} on {dataset}: the forecast of series {forecasts.ids[series]} is not finite "
            f"at step {step + 1} ({np.sum(~finite.all(axis=-1))} of {len(forecasts)} series)"
        )


def level_column(level: float) -> str:
    """The name of a quantile's column, in per cent: q-2.5, q-10, ..., q-97.5."""
    return f"q-{level * 100:g}"


def write_forecasts(path: Path, dataset: Dataset, forecasts: Forecasts, version: str | None) -> None:
    """Long format, one row a step: unique_id, t, y, the point forecast and the quantiles."""
    series, horizon = forecasts.point.shape
    first = np.array([len(y) for y in dataset.histories])
    columns = {
        "unique_id": pa.array(np.repeat(forecasts.ids, horizon)).dictionary_encode(),
        "t": (first[:, None] + np.arange(horizon)).ravel().astype(np.int32),
        "y": dataset.future.ravel().astype(np.float32),
        "point": forecasts.point.ravel().astype(np.float32),
    }
    for i, level in enumerate(LEVELS):
        columns[level_column(level)] = forecasts.quantiles[..., i].ravel().astype(np.float32)
    about = {"version": version, "data": fingerprint(dataset), "seconds": forecasts.seconds.sum()}
    about |= {"elapsed": forecasts.elapsed.sum()}
    write_table(pa.table(columns).replace_schema_metadata({ABOUT: json.dumps(about)}), path)


def read_forecasts(path: Path, dataset: Dataset, version: str | None) -> Forecasts | None:
    """Forecasts written earlier, if they are of these very series by this very version; else None."""
    if version is None or not path.is_file():
        return None
    n, shape = len(dataset), dataset.future.shape
    read = lambda table, name: table[name].to_numpy().astype(np.float64).reshape(shape)
    try:
        table = pq.read_table(path)
        about = json.loads(table.schema.metadata[ABOUT.encode()])
        if (about["version"], about["data"]) != (version, fingerprint(dataset)):
            return None
        found = Forecasts(
            ids=dataset.ids,
            point=read(table, "point"),
            quantiles=np.stack([read(table, level_column(level)) for level in LEVELS], axis=-1),
            seconds=np.full(n, about["seconds"] / n),
            elapsed=np.full(n, about["elapsed"] / n),
            fallback=np.zeros(n, bool),
        )
    except Exception:  # whatever is wrong with the file: the forecasts are made again
        return None
    return found if found.is_finite().all() else None


def fingerprint(dataset: Dataset) -> str:
    """Tells apart copies and samples of a data set by values alone, for sources name and order series as they like."""
    return hashlib.sha256("".join(sorted(series_fingerprints(dataset))).encode()).hexdigest()[:12]


def series_fingerprints(dataset: Dataset) -> list[str]:
    """Tells apart the series of a data set, by their values in the precision that data folders have."""
    return [
        hashlib.sha256(np.concatenate([past, future]).astype(np.float32).tobytes()).hexdigest()[:12]
        for past, future in zip(dataset.histories, dataset.future)
    ]


def write_table(table: pa.Table, path: Path) -> None:
    """Writes a parquet file as a whole or not at all."""
    with replacing(path) as scratch:
        pq.write_table(table, scratch, compression="zstd")
