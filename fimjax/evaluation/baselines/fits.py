"""Fits on all cores, kept on disk series by series, so that an interrupted run goes on where it stopped."""

import multiprocessing
import os
import signal
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import statsforecast
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from fimjax.errors import EvaluationError
from fimjax.evaluation.baselines.statistical import COMBINED, MEMBERS, combine, fit_and_forecast
from fimjax.evaluation.datasets.dataset import Dataset
from fimjax.evaluation.forecasts import LEVELS, Forecasts, join, write_table

SLOW = ("auto_arima", "auto_ets", "auto_ces", "dynamic_optimized_theta")
"""Models whose fits take long enough to show progress and to be handed out in pairs."""

SAVE_EVERY = 20.0
"""Seconds of fitting that are lost at most when a run is killed."""

THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class FitCache:
    """The fits of one model to one data set by one version of StatsForecast."""

    def __init__(self, root: Path, model: str, dataset: Dataset):
        self.folder = root / f"statsforecast-{statsforecast.__version__}" / model / dataset.info.name
        self.horizon = dataset.info.horizon

    def load(self, dataset: Dataset) -> tuple[Forecasts | None, np.ndarray]:
        """What is known of the series of a data set, and their places in it.

        A fit to other values under the same id is not taken for one of these.
        """
        wanted = {(str(id), fingerprint(y)): i for i, (id, y) in enumerate(zip(dataset.ids, dataset.histories))}
        parts, places = [], []
        for path in sorted(self.folder.glob("part-*.parquet")):
            try:
                forecasts, fingerprints = self._read(path)
            except Exception:  # a damaged file is as good as none: its series are fitted again
                continue
            sound = forecasts.is_finite().all(axis=-1)
            found = [
                wanted.pop((str(id), int(f)), None) if ok else None
                for id, f, ok in zip(forecasts.ids, fingerprints, sound)
            ]
            rows = [row for row, place in enumerate(found) if place is not None]
            if rows:
                parts.append(forecasts.take(np.array(rows)))
                places.extend(found[row] for row in rows)
        return (join(parts) if parts else None), np.array(places, dtype=int)

    def add(self, forecasts: Forecasts, histories: list[np.ndarray]) -> None:
        """Keeps more fits, in a file of their own."""
        table = pa.table(
            {
                "unique_id": forecasts.ids,
                "fingerprint": np.array([fingerprint(y) for y in histories], dtype=np.int64),
                "point": pa.array(list(forecasts.point.astype(np.float32))),
                "quantiles": pa.array(list(forecasts.quantiles.reshape(len(forecasts), -1).astype(np.float32))),
                "seconds": forecasts.seconds.astype(np.float32),
                "elapsed": forecasts.elapsed.astype(np.float32),
                "fallback": forecasts.fallback,
            }
        )
        write_table(table, self.folder / f"part-{time.time_ns():020d}-{os.getpid()}.parquet")

    def _read(self, path: Path) -> tuple[Forecasts, np.ndarray]:
        table = pq.read_table(path).to_pydict()
        rows = len(table["unique_id"])
        forecasts = Forecasts(
            ids=np.array(table["unique_id"], dtype=str),
            point=np.array(table["point"], dtype=np.float64).reshape(rows, self.horizon),
            quantiles=np.array(table["quantiles"], dtype=np.float64).reshape(rows, self.horizon, len(LEVELS)),
            seconds=np.array(table["seconds"]),
            elapsed=np.array(table["elapsed"]),
            fallback=np.array(table["fallback"], dtype=bool),
        )
        return forecasts, np.array(table["fingerprint"])


def fingerprint(history: np.ndarray) -> int:
    """Tells apart histories that share an id."""
    return zlib.crc32(np.ascontiguousarray(history, dtype=np.float64).tobytes())


def statistical_forecasts(
    model: str, dataset: Dataset, cache: Path, *, processes: int | None = None, console: Console | None = None
) -> Forecasts:
    """The forecasts of a statistical model, from the cache as far as it goes, fitted and added to it beyond."""
    if model in COMBINED:
        members = [statistical_forecasts(m, dataset, cache, processes=processes, console=console) for m in MEMBERS]
        return combine(model, members)
    store = FitCache(cache, model, dataset)
    _, known = store.load(dataset)
    missing = np.setdiff1d(np.arange(len(dataset)), known)
    if len(missing):
        for indices, forecasts in _fit_in_turns(model, dataset, missing, processes, console):
            store.add(forecasts, [dataset.histories[i] for i in indices])
    forecasts, places = store.load(dataset)
    assert forecasts is not None and len(places) == len(dataset)
    return forecasts.take(np.argsort(places))


def _fit_in_turns(
    model: str, dataset: Dataset, indices: np.ndarray, processes: int | None, console: Console | None
) -> Iterator[tuple[np.ndarray, Forecasts]]:
    """Fits series on all cores; yields what has been done every SAVE_EVERY seconds, and what is left at any end."""
    size = 2 if model in SLOW else 500
    chunks = [indices[i : i + size] for i in range(0, len(indices), size)]
    progress = Progress(
        TextColumn(f"{model} on {dataset.info.name}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(elapsed_when_finished=False),
        console=console or Console(stderr=True),
        # A bar of one second is of no use, and lines in a log file neither.
        disable=model not in SLOW,
    )
    saved = {name: os.environ.get(name) for name in THREAD_SETTINGS}
    os.environ.update({name: "1" for name in THREAD_SETTINGS})  # one process a core is all that the machine can do
    others = set(multiprocessing.active_children())
    count = processes or os.cpu_count() or 1
    pool = ProcessPoolExecutor(
        count,
        # Not by forking: JAX may have threads in this process.
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_live_as_long_as_the_parent,
    )
    try:
        with progress:
            task = progress.add_task(model, total=len(indices))
            info = dataset.info
            futures = {}
            for chunk in chunks:
                histories = [dataset.histories[i] for i in chunk]
                future = pool.submit(_fit_chunk, model, dataset.ids[chunk], histories, info.season, info.horizon, count)
                futures[future] = chunk
            for group in _groups(as_completed(futures), lambda future: progress.advance(task, len(futures[future]))):
                done = [future for future in group if future.exception() is None]
                if done:
                    yield np.concatenate([futures[future] for future in done]), join([f.result() for f in done])
                for future in group:
                    future.result()  # raises what went wrong, now that the rest is kept
    except BrokenProcessPool as error:
        raise EvaluationError(
            f"model {model} on {dataset.info.name}: a process of the pool died, perhaps for want of memory; "
            "what was done is kept, and the same command goes on from there"
        ) from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()  # all is done, or was interrupted: a single fit can take minutes
        for name, value in saved.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _groups(futures: Iterable[Future], tell: Callable[[Future], None]) -> Iterator[list[Future]]:
    """Tells of each future as it is done, and hands them on together every SAVE_EVERY seconds and at any end."""
    group, since = [], time.monotonic()
    try:
        for future in futures:
            group.append(future)
            tell(future)
            if time.monotonic() - since > SAVE_EVERY:
                yield group
                group, since = [], time.monotonic()
    except KeyboardInterrupt:
        yield group
        raise
    yield group


def _live_as_long_as_the_parent() -> None:
    """Prepares a process of the pool: Ctrl-C is the parent's business, and whatever ends the parent ends its pool."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    threading.Thread(target=lambda: (wait([parent.sentinel]), os._exit(1)), daemon=True).start()


def _fit_chunk(
    model: str, ids: np.ndarray, histories: list[np.ndarray], season: int, horizon: int, processes: int
) -> Forecasts:
    """Runs in a process of the pool, one of several that share the clock."""
    answers = [fit_and_forecast(model, y, season, horizon) for y in histories]
    point, quantiles, seconds, fallback = (np.array(x) for x in zip(*answers))
    return Forecasts(ids, point, quantiles, seconds, seconds / processes, fallback)
