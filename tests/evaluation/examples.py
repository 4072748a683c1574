"""Small data sets under the names of real ones, and small models."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fimjax.evaluation.datasets.catalog import dataset_info
from fimjax.evaluation.datasets.dataset import Dataset
from fimjax.evaluation.forecasts import LEVELS, Forecasts


def make_dataset(name="m3_yearly", series=5, length=20, seed=0, population=None, categories=("A", "B")) -> Dataset:
    """Random walks with a season, in the shape of a data set of the catalog."""
    info, rng = dataset_info(name), np.random.default_rng(seed)
    histories, future = [], []
    for _ in range(series):
        steps = length + int(rng.integers(0, 5)) + info.horizon
        level = 100 + np.cumsum(rng.normal(size=steps))
        y = level + 5 * np.sin(2 * np.pi * np.arange(steps) / max(info.season, 2))
        y = y.astype(np.float32).astype(np.float64)
        histories.append(y[: -info.horizon])
        future.append(y[-info.horizon :])
    return Dataset(
        info=info,
        ids=np.array([f"S{i}" for i in range(series)]),
        histories=histories,
        future=np.stack(future),
        categories=np.array([categories[i % len(categories)] for i in range(series)]),
        population=population or series,
    )


def write_dataset(folder, dataset: Dataset, with_categories=True) -> None:
    """Writes a data set to a data folder."""
    rows = {"unique_id": [], "t": [], "y": [], "is_test": []}
    for id, history, future in zip(dataset.ids, dataset.histories, dataset.future):
        n, h = len(history), len(future)
        rows["unique_id"] += [id] * (n + h)
        rows["t"] += range(n + h)
        rows["y"] += [*history, *future]
        rows["is_test"] += [False] * n + [True] * h
    table = pa.table(rows)
    table = table.set_column(2, "y", table["y"].cast(pa.float32()))
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, folder / f"{dataset.info.name}.parquet")
    if with_categories:
        meta = pa.table({"unique_id": dataset.ids, "category": dataset.categories})
        pq.write_table(meta, folder / f"{dataset.info.name}.meta.parquet")


def make_forecasts(dataset: Dataset, seed=0, error=1.0) -> Forecasts:
    """The truth with an error, and quantiles around it."""
    rng = np.random.default_rng(seed)
    n = len(dataset)
    point = dataset.future + error * rng.normal(size=dataset.future.shape)
    return Forecasts(
        ids=dataset.ids,
        point=point,
        quantiles=point[..., None] + np.linspace(-2, 2, len(LEVELS)),
        seconds=np.full(n, 0.2),
        elapsed=np.full(n, 0.1),
        fallback=np.zeros(n, bool),
    )


class Repeater:
    """Repeats the last value through the forecasting interface, with series in reverse order."""

    trained_on = ("m4",)

    def __init__(self, version=None):
        self.calls = 0
        if version:
            self.version = version

    def forecast(self, df, h, *, freq, season_length, quantiles):
        import pandas as pd

        self.calls += 1
        frames = []
        for id, rows in reversed(list(df.groupby("unique_id", sort=False))):
            last = rows["y"].iloc[-1]
            columns = {f"R-q-{level * 100:g}": last + 3 * (level - 0.5) for level in quantiles}
            ds = rows["ds"].iloc[-1] + freq * np.arange(1, h + 1)
            frames.append(pd.DataFrame({"unique_id": id, "ds": ds, "R": last, **columns}))
        return pd.concat(frames, ignore_index=True)


class Broken(Repeater):
    """Returns NaN for one series."""

    def forecast(self, df, h, **rest):
        frame = super().forecast(df, h, **rest)
        frame.loc[frame["unique_id"] == "S2", "R"] = np.nan
        return frame


class BadVersion(Repeater):
    def version(self):
        return "1"


class BadTraining(Repeater):
    trained_on = ("M3",)


class OneName(Repeater):
    trained_on = "m3"


def fails():
    raise RuntimeError("no luck")
