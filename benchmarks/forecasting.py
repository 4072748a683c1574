"""Cold start, speed and memory of fimjax and its peers: `python -m benchmarks.forecasting --output results.json`.

- First forecast: seconds from the start of a process to its first forecast of one monthly series, imports included.
  "Fresh cache" is the first process with an empty folder for compiled programs, "warm cache" the second one. Bytecode
  exists and files are cached in memory, because a first run of each model is discarded.
- Speed: one call for each frequency with a long frame; all models get the same series and horizons, and forecast the
  median and intervals of 80 % and 95 %. Each model has its own warm process, and the models take turns.
- Memory: see benchmarks/tasks.py. fimjax's programs are compiled beforehand, because compiling needs memory of its own.
"""

import dataclasses
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import tyro

from benchmarks.peers import LABELS, is_installed
from benchmarks.processes import MeasuredProcess
from benchmarks.series import GROUPS
from benchmarks.table import series_per_second, tables
from benchmarks.timing import describe_machine, log

COMPILED = ("fimjax",)
"""Models that compile a program for each shape of their input and cache it."""


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Measure cold start, speed and memory of fimjax, StatsForecast's AutoETS and Chronos-Bolt-tiny on this machine."""

    series: tuple[int, ...] = (1_000, 100_000)
    """Numbers of series for the measurement of memory; the others are compared with the first."""
    batch: int = 4_000
    """Series of a timed batch."""
    sample: int = 200
    """Series of a timed batch for AutoETS, which is slow."""
    repetitions: int = 5
    """Repetitions of everything but memory."""
    patience: float = 1_800.0
    """Skip measurements of memory that would take more than this many seconds."""
    model: Path | None = None
    """Folder of fimjax's weights. Default: the bundled ones, or random ones of configs/small_fim.py."""
    models: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME")] = tuple(LABELS)
    """Models to measure: fimjax, auto_ets, chronos_bolt."""
    output: Path | None = None
    """JSON file for all results."""
    quick: bool = False
    """Small numbers, to check that everything works; the results mean little."""

    def checked(self) -> "Arguments":
        """Rejects invalid numbers, and makes them small for a quick run."""
        for name in self.models:
            if name not in LABELS:
                sys.exit(f"models: {name!r} is none of {', '.join(LABELS)}")
        if self.repetitions < 1 or min(self.batch, self.sample, *self.series, 10**9) < len(GROUPS):
            sys.exit(f"at least one repetition and {len(GROUPS)} series are needed")
        if self.output is not None and not self.output.resolve().parent.is_dir():
            sys.exit(f"output: folder does not exist: {self.output.resolve().parent}")
        if not self.quick:
            return self
        return dataclasses.replace(self, series=(50, 100), batch=100, sample=6, repetitions=1, patience=20.0)


def measure_first(models: dict[str, dict], repetitions: int, discard: int) -> dict[str, dict[str, list[float]]]:
    """Seconds to the first forecast with a fresh and a warm cache, by model; the models take turns."""
    found = {name: {"fresh": [], "warm": []} for name in models}
    for repetition in range(-discard, repetitions):
        for name, settings in models.items():
            with tempfile.TemporaryDirectory() as cache:
                for state in ("fresh", "warm") if repetition >= 0 else ("fresh",):
                    started = time.monotonic()
                    with MeasuredProcess(Path(cache)) as process:
                        seconds = process.run("first", started=started, name=name, **settings)
                    if repetition >= 0:
                        found[name][state].append(seconds)
                        log(f"{name}: first forecast after {seconds:.2f} s, {state} cache")
    return found


def measure_speed(models: dict[str, dict], sizes: dict[str, int], repetitions: int, cache: Path) -> dict[str, dict]:
    """Seconds by frequency of each repetition, by model; each model has its own warm process."""
    processes = {name: MeasuredProcess(cache) for name in models}
    run = lambda name, **more: processes[name].run("speed", name=name, series=sizes[name], **(models[name] | more))
    found = {name: {"series": sizes[name], "seconds": []} for name in models}
    try:
        for name in models:
            run(name)
        if "auto_ets" in models:
            totals = {jobs: sum(run("auto_ets", jobs=jobs).values()) for jobs in (1, -1)}
            found["auto_ets"]["jobs"] = min(totals, key=totals.get)
        for _ in range(repetitions):
            for name in models:
                jobs = {"jobs": found[name]["jobs"]} if "jobs" in found[name] else {}
                found[name]["seconds"].append(run(name, **jobs))
                rate = series_per_second(found[name]["seconds"][-1], sizes[name])
                log(f"{name}: {rate:,.1f} series per second")
    finally:
        for process in processes.values():
            process.__exit__()
    return found


def measure_memory(
    name: str, settings: dict, sizes: tuple[int, ...], rate: float, patience: float, cache: Path
) -> dict[str, dict]:
    """Memory at each number of series, unless it would take too long at `rate` series per second."""
    found = {}
    for size in sizes:
        if size / rate > patience:
            found[str(size)] = {"left_out": f"left out: about {size / rate:,.0f} s"}
            continue
        for _ in range(2 if name in COMPILED else 1):  # the last one counts
            with MeasuredProcess(cache) as process:
                found[str(size)] = process.run("memory", name=name, series=size, **settings)
        log(f"{name}: peak of {found[str(size)]['peak'] / 1e6:,.0f} MB at {size:,} series")
    return found


def measure(arguments: Arguments, folder: Path) -> dict[str, Any]:
    """Measures everything; temporary files go to a folder."""
    results: dict[str, Any] = {"machine": describe_machine(), "models": {name: {} for name in arguments.models}}
    by_name = results["models"]
    installed = {name: {} for name in by_name if is_installed(name)}
    for name in by_name.keys() - installed.keys():
        by_name[name]["missing"] = True
    if "fimjax" in installed:
        source = arguments.model and str(arguments.model.resolve())
        if source is None:
            with MeasuredProcess(folder / "cache") as process:
                source = process.run("model", folder=str(folder / "model"))
        label = str(arguments.model) if arguments.model else "random, configs/small_fim.py" if source else "bundled"
        by_name["fimjax"]["note"] = f"weights: {label}"
        installed["fimjax"]["model"] = source

    for name, found in measure_first(installed, arguments.repetitions, discard=0 if arguments.quick else 1).items():
        by_name[name]["first"] = found
    sizes = {name: arguments.sample if name == "auto_ets" else arguments.batch for name in installed}
    for name, found in measure_speed(installed, sizes, arguments.repetitions, folder / "cache").items():
        by_name[name]["speed"] = found
    if "auto_ets" in installed:
        jobs = by_name["auto_ets"]["speed"]["jobs"]
        by_name["auto_ets"]["note"] = f"n_jobs={jobs} was the faster of 1 and -1; memory with n_jobs=1"
    for name, settings in installed.items():
        speed = by_name[name]["speed"]
        rate = max(series_per_second(run, speed["series"]) for run in speed["seconds"])
        by_name[name]["memory"] = measure_memory(
            name, settings, arguments.series, rate, arguments.patience, folder / "cache"
        )
    return results


def main() -> None:
    arguments = tyro.cli(Arguments).checked()
    with tempfile.TemporaryDirectory(prefix="fimjax-benchmark-") as folder:
        results = measure(arguments, Path(folder))
    results["machine"]["load_after"] = " ".join(f"{x:.1f}" for x in os.getloadavg())
    if arguments.output is not None:
        options = {name: str(x) if isinstance(x, Path) else x for name, x in dataclasses.asdict(arguments).items()}
        arguments.output.write_text(json.dumps(results | {"options": options}, indent=2) + "\n")
    print(tables(results))


if __name__ == "__main__":
    main()
