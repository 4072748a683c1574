"""Fits statistical models on all cores and caches every fit, so an interrupted run continues where it stopped."""

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
"""Slow models: they show a progress bar, and a process gets two series at a time."""

SAVE_EVERY = 20.0
"""Seconds between two writes to the cache: a killed run loses no more work than this."""

THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class FitCache:
    """The cached fits of one model to one data set by one version of StatsForecast."""

    def __init__(self, root: Path, model: str, dataset: Dataset):
        self.folder = root / f"statsforecast-{statsforecast.__version__}" / model / dataset.info.name
        self.horizon = dataset.info.horizon

    def load(self, dataset: Dataset) -> tuple[Forecasts | None, np.ndarray]:
        """Loads the cached fits of a data set's series, and their positions in the data set.

        A fit to other values under the same id is ignored.
        """
        wanted = {(str(id), fingerprint(y)): i for i, (id, y) in enumerate(zip(dataset.ids, dataset.histories))}
        parts: list[Forecasts] = []
        places: list[int | None] = []
        for path in sorted(self.folder.glob("part-*.parquet")):
            try:
                forecasts, fingerprints = self._read(path)
            except Exception:  # a damaged file may raise anything; its series are fitted again
                continue
            finite = np.all(forecasts.is_finite(), axis=-1)
            found = [
                wanted.pop((str(id), int(f)), None) if ok else None
                for id, f, ok in zip(forecasts.ids, fingerprints, finite)
            ]
            rows = [row for row, place in enumerate(found) if place is not None]
            if rows:
                parts.append(forecasts.take(np.array(rows)))
                places.extend(found[row] for row in rows)
        return (join(parts) if parts else None), np.array(places, dtype=int)

    def add(self, forecasts: Forecasts, histories: list[np.ndarray]) -> None:
        """Writes more fits, in a new file."""
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
    """Checksum of a history, because several data sets may share an id."""
    return zlib.crc32(np.ascontiguousarray(history, dtype=np.float64).tobytes())


def statistical_forecasts(
    model: str, dataset: Dataset, cache: Path, *, processes: int | None = None, console: Console | None = None
) -> Forecasts:
    """Forecasts all series with a statistical model: from the cache, or fitted and added to the cache."""
    if model in COMBINED:
        members = [statistical_forecasts(m, dataset, cache, processes=processes, console=console) for m in MEMBERS]
        return combine(model, members)
    store = FitCache(cache, model, dataset)
    _, known = store.load(dataset)
    missing = np.setdiff1d(np.arange(len(dataset)), known)
    if len(missing):
        for indices, forecasts in _fit_in_parallel(model, dataset, missing, processes, console):
            store.add(forecasts, [dataset.histories[i] for i in indices])
    fits, places = store.load(dataset)
    assert fits is not None and len(places) == len(dataset)
    return fits.take(np.argsort(places))


def _fit_in_parallel(
    model: str, dataset: Dataset, indices: np.ndarray, processes: int | None, console: Console | None
) -> Iterator[tuple[np.ndarray, Forecasts]]:
    """Fits series on all cores; yields finished fits every SAVE_EVERY seconds, at the end and when interrupted."""
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
        disable=model not in SLOW,  # the others take a second
    )
    saved = {name: os.environ.get(name) for name in THREAD_SETTINGS}
    os.environ.update(dict.fromkeys(THREAD_SETTINGS, "1"))  # the processes use all cores already
    others = set(multiprocessing.active_children())
    count = processes or os.cpu_count() or 1
    pool = ProcessPoolExecutor(
        count,
        mp_context=multiprocessing.get_context("spawn"),  # forking is unsafe when JAX runs threads
        initializer=_exit_with_parent,
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
                    future.result()  # raises the error of a failed fit, after the others are saved
    except BrokenProcessPool as error:
        raise EvaluationError(
            f"model {model} on {dataset.info.name}: a worker process died, perhaps because memory ran out; "
            "finished fits are saved, and the same command continues from there"
        ) from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()  # do not wait: a single fit can take minutes
        for name, value in saved.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _groups(futures: Iterable[Future], report: Callable[[Future], None]) -> Iterator[list[Future]]:
    """Reports each finished future; yields them in groups every SAVE_EVERY seconds, at the end and when interrupted."""
    group: list[Future] = []
    since = time.monotonic()
    try:
        for future in futures:
            group.append(future)
            report(future)
            if time.monotonic() - since > SAVE_EVERY:
                yield group
                group, since = [], time.monotonic()
    except KeyboardInterrupt:
        yield group
        raise
    yield group


def _exit_with_parent() -> None:
    """Prepares a worker process: it ignores Ctrl-C, which the parent handles, and exits when the parent does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _fit_chunk(
    model: str, ids: np.ndarray, histories: list[np.ndarray], season: int, horizon: int, processes: int
) -> Forecasts:
    """Fits a few series in a worker process, one of `processes` that share the wall time."""
    fits = [fit_and_forecast(model, y, season, horizon) for y in histories]
    point, quantiles, seconds, fallback = (np.array(x) for x in zip(*fits))
    return Forecasts(ids, point, quantiles, seconds, seconds / processes, fallback)
