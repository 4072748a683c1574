"""Forecasts of a data set in memory and on disk."""

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
"""Central prediction intervals that every model forecasts, in per cent."""

LEVELS = (0.025, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.975)
"""Quantile levels: the bounds of INTERVALS and the median."""

METADATA_KEY = "fimjax"
"""Key of our metadata in a parquet file of forecasts."""


def level_index(level: float) -> int:
    """Position of a quantile level in LEVELS."""
    return int(np.argmin(np.abs(np.array(LEVELS) - level)))


def interval_indices(interval: int) -> tuple[int, int]:
    """Positions of the lower and upper bound of a central interval in LEVELS."""
    return level_index(0.5 - interval / 200), level_index(0.5 + interval / 200)


@dataclasses.dataclass(frozen=True)
class Forecasts:
    """Forecasts of B series for h steps."""

    ids: np.ndarray  # [B], str
    point: np.ndarray  # [B, h]
    quantiles: np.ndarray  # [B, h, L], at LEVELS
    seconds: np.ndarray  # [B], processor time
    elapsed: np.ndarray  # [B], wall time; series that are forecast together share it evenly
    fallback: np.ndarray  # [B], True where the model failed and SeasonalNaive replaced it

    def __len__(self) -> int:
        return len(self.ids)

    def is_finite(self) -> np.ndarray:
        """Whether point and quantiles are finite in the float32 of our files: [B, h]."""
        with np.errstate(over="ignore"):
            point, quantiles = self.point.astype(np.float32), self.quantiles.astype(np.float32)
        return np.isfinite(point) & np.isfinite(quantiles).all(axis=-1)

    def take(self, indices: np.ndarray) -> "Forecasts":
        """Selects series by position."""
        return Forecasts(*(getattr(self, field.name)[indices] for field in dataclasses.fields(self)))


AllForecasts = dict[tuple[str, str], tuple[Dataset, Forecasts]]
"""Forecasts by data set and model."""


def join(parts: list[Forecasts]) -> Forecasts:
    """Concatenates the forecasts of several groups of series."""
    names = [field.name for field in dataclasses.fields(Forecasts)]
    return Forecasts(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def require_finite(forecasts: Forecasts, model: str, dataset: str) -> None:
    """Raises an error if a forecast is not finite."""
    finite = forecasts.is_finite()
    if not finite.all():
        series, step = np.argwhere(~finite)[0]
        raise EvaluationError(
            f"model {model} on {dataset}: the forecast of series {forecasts.ids[series]} is not finite "
            f"at step {step + 1} ({np.sum(~finite.all(axis=-1))} of {len(forecasts)} series)"
        )


def quantile_column(level: float) -> str:
    """Column name of a quantile, in per cent: q-2.5, q-10, ..., q-97.5."""
    return f"q-{level * 100:g}"


def write_forecasts(path: Path, dataset: Dataset, forecasts: Forecasts, version: str | None) -> None:
    """Writes a parquet file with one row per step: unique_id, t, y, point forecast and quantiles."""
    series, horizon = forecasts.point.shape
    first = np.array([len(y) for y in dataset.histories])
    columns = {
        "unique_id": pa.array(np.repeat(forecasts.ids, horizon)).dictionary_encode(),
        "t": (first[:, None] + np.arange(horizon)).ravel().astype(np.int32),
        "y": dataset.future.ravel().astype(np.float32),
        "point": forecasts.point.ravel().astype(np.float32),
    }
    for i, level in enumerate(LEVELS):
        columns[quantile_column(level)] = forecasts.quantiles[..., i].ravel().astype(np.float32)
    metadata = {
        "version": version,
        "data": fingerprint(dataset),
        "seconds": forecasts.seconds.sum(),
        "elapsed": forecasts.elapsed.sum(),
    }
    write_table(pa.table(columns).replace_schema_metadata({METADATA_KEY: json.dumps(metadata)}), path)


def read_forecasts(path: Path, dataset: Dataset, version: str | None) -> Forecasts | None:
    """Reads earlier forecasts; None unless they are by the same version and for the same series."""
    if version is None or not path.is_file():
        return None
    n, shape = len(dataset), dataset.future.shape
    try:
        table = pq.read_table(path)
        read = lambda name: table[name].to_numpy().astype(np.float64).reshape(shape)
        metadata = json.loads(table.schema.metadata[METADATA_KEY.encode()])
        if (metadata["version"], metadata["data"]) != (version, fingerprint(dataset)):
            return None
        found = Forecasts(
            ids=dataset.ids,
            point=read("point"),
            quantiles=np.stack([read(quantile_column(level)) for level in LEVELS], axis=-1),
            seconds=np.full(n, metadata["seconds"] / n),
            elapsed=np.full(n, metadata["elapsed"] / n),
            fallback=np.zeros(n, bool),
        )
    except Exception:  # a damaged file may raise anything; its forecasts are made again
        return None
    return found if found.is_finite().all() else None


def fingerprint(dataset: Dataset) -> str:
    """Identifies a data set or sample by its values, because copies differ in names and order of the series."""
    return hashlib.sha256("".join(sorted(series_fingerprints(dataset))).encode()).hexdigest()[:12]


def series_fingerprints(dataset: Dataset) -> list[str]:
    """Identifies each series by its values in float32, the precision of a data folder."""
    return [
        hashlib.sha256(np.concatenate([past, future]).astype(np.float32).tobytes()).hexdigest()[:12]
        for past, future in zip(dataset.histories, dataset.future)
    ]


def write_table(table: pa.Table, path: Path) -> None:
    """Writes a parquet file atomically."""
    with replacing(path) as scratch:
        pq.write_table(table, scratch, compression="zstd")
