"""A data set in memory: the history and the test part of each series."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fimjax.errors import EvaluationError
from fimjax.evaluation.datasets.catalog import DatasetInfo, dataset_info

COLUMNS = ("unique_id", "t", "y", "is_test")


@dataclasses.dataclass(frozen=True)
class Dataset:
    """B series of one data set, in the order of the file."""

    info: DatasetInfo
    ids: np.ndarray  # [B], str
    histories: list[np.ndarray]  # B arrays of float64, the training part of each series
    future: np.ndarray  # [B, h], the test part
    categories: np.ndarray  # [B], str; "" where the source has none
    population: int
    """Number of series in the whole data set: more than B if this is a sample."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def is_sample(self) -> bool:
        return len(self) < self.population

    @property
    def is_nonnegative(self) -> bool:
        """Whether no value of the histories is negative; the test parts are not looked at."""
        return all(np.min(y, initial=np.inf) >= 0 for y in self.histories)

    def take(self, indices: np.ndarray) -> "Dataset":
        """Selects series by position."""
        return dataclasses.replace(
            self,
            ids=self.ids[indices],
            histories=[self.histories[i] for i in indices],
            future=self.future[indices],
            categories=self.categories[indices],
        )

    def history_frame(self) -> pd.DataFrame:
        """The histories in long format: unique_id, ds (the step, from 0), y."""
        lengths = [len(y) for y in self.histories]
        return pd.DataFrame(
            {
                "unique_id": np.repeat(self.ids, lengths),
                "ds": np.concatenate([np.arange(n) for n in lengths]),
                "y": np.concatenate(self.histories),
            }
        )


def series_file(folder: Path, name: str) -> Path:
    """Path of the series of a data set in a data folder."""
    return folder / f"{name}.parquet"


def category_file(folder: Path, name: str) -> Path:
    """Path of the categories of a data set's series in a data folder."""
    return folder / f"{name}.meta.parquet"


def read_dataset(folder: Path, name: str) -> Dataset:
    """Reads a data set from a data folder: one row per point, with unique_id, t, y and is_test."""
    info, path = dataset_info(name), series_file(folder, name)
    table = _read(path, name, COLUMNS)
    names = table["unique_id"].combine_chunks().dictionary_encode()
    codes, ids = names.indices.to_numpy(), names.dictionary.to_numpy(zero_copy_only=False).astype(str)
    order = np.lexsort((table["t"].to_numpy(), codes))
    codes, t, y, is_test = (x[order] for x in (codes, *(table[column].to_numpy() for column in COLUMNS[1:])))

    starts = np.searchsorted(codes, np.arange(len(ids) + 1))
    ends = starts[1:] - info.horizon
    tests = np.append(0, np.cumsum(is_test))
    whole = (tests[starts[1:]] - tests[starts[:-1]] == info.horizon) & (ends > starts[:-1])
    whole &= tests[starts[1:]] - tests[np.maximum(ends, 0)] == info.horizon
    _reject(name, ids[~whole], f"does not end in a test part of {info.horizon} points after a history")
    _reject(name, ids[codes[~np.isfinite(y)]], "has a value that is not finite")
    gaps = (np.diff(t) != 1) & (np.diff(codes) == 0)
    _reject(name, ids[codes[1:][gaps]], "has a repeated or missing step")
    return Dataset(
        info=info,
        ids=ids,
        histories=[y[start:stop] for start, stop in zip(starts[:-1], ends)],
        future=np.stack([y[stop : stop + info.horizon] for stop in ends]),
        categories=_read_categories(folder, name, ids),
        population=len(ids),
    )


def _reject(name: str, ids: np.ndarray, fault: str) -> None:
    """Raises an error that names the first of the faulty series, if there are any."""
    if len(ids):
        raise EvaluationError(f"data set {name}: series {ids[0]} {fault}")


def _read_categories(folder: Path, name: str, ids: np.ndarray) -> np.ndarray:
    """Reads the category of each series; "" where it is unknown."""
    path = category_file(folder, name)
    if not path.is_file():
        return np.full(len(ids), "")
    frame = _read(path, name, ("unique_id", "category")).to_pandas().drop_duplicates("unique_id")
    return frame.set_index("unique_id")["category"].reindex(ids).fillna("").to_numpy(str)


TYPES = {"unique_id": pa.string(), "category": pa.string(), "t": pa.int64(), "y": pa.float64(), "is_test": pa.bool_()}


def _read(path: Path, name: str, columns: tuple[str, ...]) -> pa.Table:
    """Reads columns of a parquet file and checks their types and that no value is missing."""
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise EvaluationError(f"data set {name}: {path} cannot be read ({' '.join(str(error).split())})") from error
    found = {}
    for column in columns:
        if column not in table.column_names:
            raise EvaluationError(f"data set {name}: {path} has no column {column!r}")
        try:
            found[column] = table[column].cast(TYPES[column])
        except pa.ArrowException as error:
            kind = TYPES[column]
            raise EvaluationError(
                f"data set {name}: column {column!r} of {path} holds {table[column].type}, not {kind}"
            ) from error
        if found[column].null_count and column != "category":
            raise EvaluationError(f"data set {name}: column {column!r} of {path} has missing values")
    if not table.num_rows:
        raise EvaluationError(f"data set {name}: {path} has no rows")
    return pa.table(found)


def differences_from_table3(dataset: Dataset) -> list[str]:
    """Lists where a data set differs from table 3, one sentence each."""
    lengths = np.array([len(y) for y in dataset.histories]) + dataset.info.horizon
    found = {"series": dataset.population}
    if not dataset.is_sample:
        found |= {"shortest": int(lengths.min()), "longest": int(lengths.max())}
    expected = dataclasses.asdict(dataset.info)
    return [
        f"{dataset.info.name}: {key} is {value:,} here, {expected[key]:,} in the paper's table 3"
        for key, value in found.items()
        if value != expected[key]
    ]
