"""Cold start, speed and memory of fimjax and its peers: `python -m benchmarks.forecasting --output figures.json`.

- First forecast: seconds from the start of a fresh process to its first forecast, of one monthly series, with imports.
  "Fresh cache" is the first process with an empty folder for compiled programs, "warm cache" the second one with the
  same. Bytecode is there in both, and files are in the machine's memory: a first run of each contender does not count.
- Speed: one call for each frequency, of a long frame; the same series and horizons, the median and intervals of 80% and
  95%. Each contender stays in a process of its own, has forecast everything once before, and they take turns.
- Memory: see benchmarks/worker.py. fimjax finds its programs compiled: compiling takes memory of its own, which would
  make many series look cheap beside few.
"""

import dataclasses
import json
import os
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import tyro

from benchmarks.contenders import LABELS, is_installed
from benchmarks.processes import Worker
from benchmarks.series import GROUPS
from benchmarks.table import series_per_second, tables

COMPILED = ("fimjax",)
"""Contenders that compile for each shape of their input, and keep what they compiled."""
PACKAGES = ("fimjax", "jax", "statsforecast", "chronos-forecasting", "torch", "pandas", "numpy")


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Measure cold start, speed and memory of fimjax, StatsForecast's AutoETS and Chronos-Bolt-tiny on this machine."""

    series: tuple[int, ...] = (1_000, 100_000)
    """Numbers of series at which memory is measured; the first one is what the others are compared with."""
    batch: int = 4_000
    """Series of a timed batch."""
    sample: int = 200
    """Series of a timed batch for AutoETS, which is slow."""
    repetitions: int = 5
    """How often everything but memory is measured."""
    patience: float = 1_800.0
    """Memory of what would take longer than so many seconds is left out."""
    model: Path | None = None
    """Folder of fimjax's weights; else those that ship, else random ones of configs/small_fim.py."""
    contenders: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME")] = tuple(LABELS)
    """Which of fimjax, auto_ets and chronos_bolt take part."""
    output: Path | None = None
    """File for all figures, as JSON."""
    quick: bool = False
    """Small numbers, to see that everything works: the figures mean little."""

    def settle(self) -> "Arguments":
        """Makes numbers small if asked to, and refuses those that cannot be."""
        for name in self.contenders:
            if name not in LABELS:
                sys.exit(f"contenders: {name!r} is none of {', '.join(LABELS)}")
        if self.repetitions < 1 or min(self.batch, self.sample, *self.series, 10**9) < len(GROUPS):
            sys.exit(f"at least one repetition and {len(GROUPS)} series are needed")
        if self.output is not None and not self.output.resolve().parent.is_dir():
            sys.exit(f"output: there is no folder {self.output.resolve().parent}")
        if not self.quick:
            return self
        return dataclasses.replace(self, series=(50, 100), batch=100, sample=6, repetitions=1, patience=20.0)


def tell(text: str) -> None:
    """Progress, apart from the tables."""
    print(text, file=sys.stderr, flush=True)


def measure_first(contenders: dict[str, dict], repetitions: int, discard: int) -> dict[str, dict[str, list[float]]]:
    """Seconds to the first forecast with a fresh and a warm cache, by contender; the contenders take turns."""
    found = {name: {"fresh": [], "warm": []} for name in contenders}
    for repetition in range(-discard, repetitions):
        for name, settings in contenders.items():
            with tempfile.TemporaryDirectory() as cache:
                for state in ("fresh", "warm") if repetition >= 0 else ("fresh",):
                    started = time.monotonic()
                    with Worker(Path(cache)) as worker:
                        seconds = worker.ask("first", started=started, name=name, **settings)
                    if repetition >= 0:
                        found[name][state].append(seconds)
                        tell(f"{name}: first forecast after {seconds:.2f} s, {state} cache")
    return found


def measure_speed(contenders: dict[str, dict], sizes: dict[str, int], repetitions: int, cache: Path) -> dict[str, dict]:
    """Seconds by frequency of each repetition, by contender, each in a process that has done it all before."""
    workers = {name: Worker(cache) for name in contenders}
    ask = lambda name, **more: workers[name].ask("speed", name=name, series=sizes[name], **(contenders[name] | more))
    found = {name: {"series": sizes[name], "seconds": []} for name in contenders}
    try:
        for name in contenders:
            ask(name)
        if "auto_ets" in contenders:
            totals = {jobs: sum(ask("auto_ets", jobs=jobs).values()) for jobs in (1, -1)}
            found["auto_ets"]["jobs"] = min(totals, key=totals.get)
        for _ in range(repetitions):
            for name in contenders:
                jobs = {"jobs": found[name]["jobs"]} if "jobs" in found[name] else {}
                found[name]["seconds"].append(ask(name, **jobs))
                rate = series_per_second(found[name]["seconds"][-1], sizes[name])
                tell(f"{name}: {rate:,.1f} series per second")
    finally:
        for worker in workers.values():
            worker.__exit__()
    return found


def measure_memory(
    name: str, settings: dict, sizes: tuple[int, ...], rate: float, patience: float, cache: Path
) -> dict[str, dict]:
    """Memory at each number of series, unless it would take too long at so many series per second."""
    found = {}
    for size in sizes:
        if size / rate > patience:
            found[str(size)] = {"left_out": f"left out: about {size / rate:,.0f} s"}
            continue
        for _ in range(2 if name in COMPILED else 1):  # the last one counts
            with Worker(cache) as worker:
                found[str(size)] = worker.ask("memory", name=name, series=size, **settings)
        tell(f"{name}: peak of {found[str(size)]['peak'] / 1e6:,.0f} MB at {size:,} series")
    return found


def describe_machine() -> dict[str, Any]:
    """What figures depend on besides the code."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    processor = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown")
    load = " ".join(f"{x:.1f}" for x in os.getloadavg())
    return {"cores": len(os.sched_getaffinity(0)), "processor": processor, "load": load, "versions": versions}


def measure(arguments: Arguments, folder: Path) -> dict[str, Any]:
    """All figures, by contender, with the files that it takes in a folder."""
    figures: dict[str, Any] = {"machine": describe_machine(), "contenders": {name: {} for name in arguments.contenders}}
    by_name = figures["contenders"]
    there = {name: {} for name in by_name if is_installed(name)}
    for name in by_name.keys() - there.keys():
        by_name[name]["missing"] = True
    if "fimjax" in there:
        source = arguments.model and str(arguments.model.resolve())
        if source is None:
            with Worker(folder / "cache") as worker:
                source = worker.ask("model", folder=str(folder / "model"))
        label = str(arguments.model) if arguments.model else "random, configs/small_fim.py" if source else "bundled"
        by_name["fimjax"]["note"] = f"weights: {label}"
        there["fimjax"]["model"] = source

    for name, found in measure_first(there, arguments.repetitions, discard=0 if arguments.quick else 1).items():
        by_name[name]["first"] = found
    sizes = {name: arguments.sample if name == "auto_ets" else arguments.batch for name in there}
    for name, found in measure_speed(there, sizes, arguments.repetitions, folder / "cache").items():
        by_name[name]["speed"] = found
    if "auto_ets" in there:
        jobs = by_name["auto_ets"]["speed"]["jobs"]
        by_name["auto_ets"]["note"] = f"n_jobs={jobs} was the faster of 1 and -1; memory with n_jobs=1"
    for name, settings in there.items():
        speed = by_name[name]["speed"]
        rate = max(series_per_second(run, speed["series"]) for run in speed["seconds"])
        by_name[name]["memory"] = measure_memory(
            name, settings, arguments.series, rate, arguments.patience, folder / "cache"
        )
    return figures


def main() -> None:
    arguments = tyro.cli(Arguments).settle()
    with tempfile.TemporaryDirectory(prefix="fimjax-benchmark-") as folder:
        figures = measure(arguments, Path(folder))
    figures["machine"]["load_after"] = " ".join(f"{x:.1f}" for x in os.getloadavg())
    if arguments.output is not None:
        options = {name: str(x) if isinstance(x, Path) else x for name, x in dataclasses.asdict(arguments).items()}
        arguments.output.write_text(json.dumps(figures | {"options": options}, indent=2) + "\n")
    print(tables(figures))


if __name__ == "__main__":
    main()
