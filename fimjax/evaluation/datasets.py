"""Benchmark series in memory: histories and the test part that follows them."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fimjax.evaluation.catalog import DatasetInfo, EvaluationError, dataset_info

COLUMNS = ("unique_id", "t", "y", "is_test")


@dataclasses.dataclass(frozen=True)
class Dataset:
    """N series of one data set, in the order of the file."""

    info: DatasetInfo
    ids: np.ndarray  # [N], str
    histories: list[np.ndarray]  # N arrays of float64, the training part of each series
    future: np.ndarray  # [N, h], the test part
    categories: np.ndarray  # [N], str; "" where the source has none
    population: int
    """How many series the whole data set has: more than N where this is a sample."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def is_sample(self) -> bool:
        return len(self) < self.population

    def take(self, indices: np.ndarray) -> "Dataset":
        """Some of the series."""
        return dataclasses.replace(
            self,
            ids=self.ids[indices],
            histories=[self.histories[i] for i in indices],
            future=self.future[indices],
            categories=self.categories[indices],
        )

    def history_frame(self) -> pd.DataFrame:
        """The training parts in long format: unique_id, ds (the step, from 0), y."""
        lengths = [len(y) for y in self.histories]
        return pd.DataFrame(
            {
                "unique_id": np.repeat(self.ids, lengths),
                "ds": np.concatenate([np.arange(n) for n in lengths]),
                "y": np.concatenate(self.histories),
            }
        )


def series_file(folder: Path, name: str) -> Path:
    """Where a data folder keeps the series of a data set."""
    return folder / f"{name}.parquet"


def category_file(folder: Path, name: str) -> Path:
    """Where a data folder keeps what else is known of a data set's series."""
    return folder / f"{name}.meta.parquet"


def read_dataset(folder: Path, name: str) -> Dataset:
    """Reads a data set from a data folder: unique_id, t, y and is_test, one row a point."""
    info, path = dataset_info(name), series_file(folder, name)
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise EvaluationError(f"data set {name}: {path} cannot be read ({error})") from error
    absent = [column for column in COLUMNS if column not in table.column_names]
    if absent:
        raise EvaluationError(f"data set {name}: {path} has no column {absent[0]!r}")
    names = table["unique_id"].cast(pa.string()).combine_chunks().dictionary_encode()
    codes, ids = names.indices.to_numpy(), names.dictionary.to_numpy(zero_copy_only=False).astype(str)
    order = np.lexsort((table["t"].to_numpy(), codes))
    codes, y, is_test = (
        codes[order],
        table["y"].to_numpy().astype(np.float64)[order],
        table["is_test"].to_numpy()[order],
    )
    if not np.all(np.isfinite(y)):
        raise EvaluationError(
            f"data set {name}: series {ids[codes[~np.isfinite(y)][0]]} has a value that is not finite"
        )

    starts = np.searchsorted(codes, np.arange(len(ids) + 1))
    ends = starts[1:] - info.horizon
    tests = np.append(0, np.cumsum(is_test))
    wrong = tests[starts[1:]] - tests[starts[:-1]] != info.horizon
    wrong |= tests[starts[1:]] - tests[np.maximum(ends, 0)] != info.horizon
    wrong |= ends <= starts[:-1]
    if wrong.any():
        raise EvaluationError(
            f"data set {name}: series {ids[wrong][0]} does not end in {info.horizon} points of test after a history"
        )
    return Dataset(
        info=info,
        ids=ids,
        histories=[y[start:stop] for start, stop in zip(starts[:-1], ends)],
        future=np.stack([y[stop : stop + info.horizon] for stop in ends]),
        categories=read_categories(folder, name, ids),
        population=len(ids),
    )


def read_categories(folder: Path, name: str, ids: np.ndarray) -> np.ndarray:
    """The category of each series, "" where the folder does not know it."""
    path = category_file(folder, name)
    if not path.is_file():
        return np.full(len(ids), "")
    frame = pq.read_table(path, columns=["unique_id", "category"]).to_pandas()
    known = pd.Series(frame["category"].astype(str).to_numpy(), index=frame["unique_id"].astype(str))
    return known.reindex(ids).fillna("").to_numpy(str)


def differences_from_table3(dataset: Dataset) -> list[str]:
    """What the data set has that table 3 says otherwise: one line each, none when all agrees."""
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
