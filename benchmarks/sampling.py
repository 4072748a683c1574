"""Series per second of fimjax's prior and of KernelSynth: `python -m benchmarks.sampling --output results.json`.

- All series have 512 points. fimjax's are eight windows of 64 steps with one slot per step and full histories;
  everything else is as in configs/small_fim.py. A series of fimjax has times, values, values without noise and a mask;
  a series of KernelSynth has values.
- A single family is the same compiled sampler, layout and observation included, with one family of positive weight.
- All samplers are warm, live in one process and take turns, so that other load affects them alike.
- "2 devices" means pmap with one device per core. KernelSynth has one process with one thread per core.
"""

import dataclasses
import importlib.util
import itertools
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import numpy as np
import tyro

from benchmarks.kernel_synth import lean_sampler, published_sampler
from benchmarks.table import MISSING, layout, spread
from benchmarks.timing import describe_machine, log
from configs.small_fim import get_config
from fimjax.config import PriorConfig, PriorWeights, WindowConfig
from fimjax.prior.families import FAMILIES
from fimjax.prior.sampler import Sample, sample_groups
from fimjax.training.parallel import use_cpu_devices

WINDOW_STEPS = 64
MIX = "mix of configs/small_fim.py"
PUBLISHED = "KernelSynth, scikit-learn"
LEAN = "KernelSynth, NumPy"
QUICK_MIX = ("chebyshev", "random_walk")

Draw = Callable[[int], Any]
"""Draws the series of the call with this number; every call draws other series."""


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Measure how many synthetic series per second fimjax's prior and KernelSynth draw on this machine."""

    points: int = 512
    """Points of a series, a multiple of 64."""
    batches: tuple[int, ...] = (64, 1_024)
    """Series per call: as in training, and so many that the overhead of a call does not matter."""
    repetitions: int = 7
    """Repetitions of each sampler."""
    least_seconds: float = 0.5
    """Shortest duration of a repetition; it has at least one call."""
    output: Path | None = None
    """JSON file for all results."""
    quick: bool = False
    """Short series, small batches and two families, to check that everything works; the results mean little."""

    def checked(self) -> "Arguments":
        """Rejects invalid numbers, and makes them small for a quick run."""
        group_size = get_config().prior.group_size
        if self.points < 2 * WINDOW_STEPS or self.points % WINDOW_STEPS:
            sys.exit(f"points: {self.points} is no multiple of {WINDOW_STEPS} from {2 * WINDOW_STEPS} on")
        if not self.batches or any(batch < 1 or batch % group_size for batch in self.batches):
            sys.exit(f"batches: {self.batches} are no multiples of {group_size}")
        if self.repetitions < 1:
            sys.exit("repetitions: at least one is needed")
        if self.output is not None and not self.output.resolve().parent.is_dir():
            sys.exit(f"output: folder does not exist: {self.output.resolve().parent}")
        if not self.quick:
            return self
        small = {"points": 2 * WINDOW_STEPS, "batches": (2 * group_size,), "repetitions": 2, "least_seconds": 0.0}
        return dataclasses.replace(self, **small)


@dataclasses.dataclass(frozen=True)
class Sampler:
    """One way to draw a number of series."""

    name: str
    run_by: str
    series: int
    """Series per call."""
    draw: Draw


@dataclasses.dataclass(frozen=True)
class Throughput:
    """Measured speed of a sampler."""

    name: str
    run_by: str
    series: int
    """Series per call."""
    rates: tuple[float, ...]
    """Series per second of each repetition."""


def windows_of(points: int) -> WindowConfig:
    """Windows that hold series of this many points."""
    return WindowConfig(
        count=points // WINDOW_STEPS, slots=WINDOW_STEPS, min_steps=WINDOW_STEPS, max_steps=WINDOW_STEPS, min_history=3
    )


def only(config: PriorConfig, *families: str) -> PriorConfig:
    """The prior with some of its families, with equal weights."""
    return dataclasses.replace(config, weights=PriorWeights(**{name: float(name in families) for name in FAMILIES}))


def on_one_device(config: PriorConfig, windows: WindowConfig, series: int) -> Draw:
    groups, key = series // config.group_size, jax.random.key(0)
    draw = jax.jit(lambda first: sample_groups(key, first, groups, config, windows))
    return lambda call: jax.block_until_ready(draw(call * groups))


def on_all_devices(config: PriorConfig, windows: WindowConfig, series: int) -> Draw:
    groups, key = series // config.group_size // jax.device_count(), jax.random.key(0)
    draw = jax.pmap(lambda first: sample_groups(key, first, groups, config, windows))
    firsts = np.arange(jax.device_count()) * groups
    return lambda call: jax.block_until_ready(draw(call * jax.device_count() * groups + firsts))


def our_samplers(arguments: Arguments) -> Iterator[Sampler]:
    """Each family alone, then the mix."""
    mix = dataclasses.replace(get_config().prior, short_history=0.0)
    windows, devices = windows_of(arguments.points), jax.device_count()
    for family, batch in itertools.product(FAMILIES, arguments.batches):
        yield Sampler(family, "one device", batch, on_one_device(only(mix, family), windows, batch))
    mix = only(mix, *QUICK_MIX) if arguments.quick else mix
    for batch in arguments.batches:
        yield Sampler(MIX, "one device", batch, on_one_device(mix, windows, batch))
    for batch in arguments.batches:
        if devices > 1 and batch % (devices * mix.group_size) == 0:
            yield Sampler(MIX, f"{devices} devices", batch, on_all_devices(mix, windows, batch))


def peer_samplers(arguments: Arguments, processes: int) -> Iterator[Sampler]:
    """KernelSynth; the published form runs only small batches, because it takes seconds for them."""
    run_by = f"{processes} process{'es' if processes > 1 else ''}"
    points, smallest = arguments.points, min(arguments.batches)
    yield Sampler(PUBLISHED, run_by, smallest, published_sampler(smallest, points, processes))
    for batch in arguments.batches:
        yield Sampler(LEAN, run_by, batch, lean_sampler(batch, points, processes))


def warm_up(ours: list[Sampler], peers: list[Sampler], points: int) -> None:
    """Compiles fimjax's samplers, starts KernelSynth's processes, and checks what all of them draw."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
        for sampler, drawn in zip(ours, threads.map(lambda sampler: sampler.draw(0), ours)):
            check(sampler, drawn, points)
            log(f"{sampler.name}, {sampler.run_by}, {sampler.series:,} a call: ready")
    for sampler in peers:
        check(sampler, sampler.draw(0), points)


def check(sampler: Sampler, drawn: Sample | np.ndarray, points: int) -> None:
    """Checks that a call draws the right number of finite points."""
    values = np.asarray(drawn.noisy if isinstance(drawn, Sample) else drawn)
    if values.size != sampler.series * points or not np.isfinite(values).all():
        raise RuntimeError(f"{sampler.name}: {values.shape} is not {sampler.series} finite series of {points} points")
    if isinstance(drawn, Sample) and not np.all(drawn.valid):
        raise RuntimeError(f"{sampler.name}: some points are not there")


def take_turn(sampler: Sampler, calls: Iterator[int], least_seconds: float) -> float:
    """Series per second of one or more calls."""
    start, series, seconds = time.perf_counter(), 0, 0.0
    while series == 0 or seconds < least_seconds:
        sampler.draw(next(calls))
        series, seconds = series + sampler.series, time.perf_counter() - start
    return series / seconds


def measure(samplers: list[Sampler], repetitions: int, least_seconds: float) -> list[Throughput]:
    """Series per second of warm samplers, in turns."""
    calls = itertools.count(1)  # call 0 was the first
    rates = {sampler: [] for sampler in samplers}
    for repetition in range(repetitions):
        for sampler in samplers:
            rates[sampler].append(take_turn(sampler, calls, least_seconds))
        log(f"turn {repetition + 1} of {repetitions}")
    return [Throughput(x.name, x.run_by, x.series, tuple(found)) for x, found in rates.items()]


def table(found: list[Throughput], points: int, batches: tuple[int, ...]) -> str:
    """A row for each sampler, a column for each number of series per call."""
    cells = {(x.name, x.run_by, x.series): x for x in found}
    peers = [statistics.median(x.rates) for x in found if x.name in (PUBLISHED, LEAN)]
    rows = []
    for name, run_by in dict.fromkeys((x.name, x.run_by) for x in found):
        row = [cells.get((name, run_by, batch)) for batch in batches]
        ratio = max(statistics.median(x.rates) for x in row if x) / max(peers) if peers else None
        rates = [spread(x.rates, 0 if min(x.rates) > 100 else 1) if x else "-" for x in row]
        rows.append([name, run_by, *rates, f"{ratio:.3g}" if ratio else "-"])
    if not peers:
        rows += [[name, MISSING, *["-"] * len(batches), "-"] for name in (PUBLISHED, LEAN)]
    head = [f"series of {points} points per second", "run by", *(f"{batch:,} per call" for batch in batches)]
    return layout([*head, "best / best of KernelSynth"], rows)


def main() -> None:
    arguments = tyro.cli(Arguments).checked()
    cores = len(os.sched_getaffinity(0))
    use_cpu_devices(cores)
    machine = describe_machine()
    has_peers = importlib.util.find_spec("sklearn") is not None
    if has_peers:
        machine["versions"]["scikit-learn"] = metadata.version("scikit-learn")
    ours = list(our_samplers(arguments))
    peers = list(peer_samplers(arguments, cores)) if has_peers else []
    warm_up(ours, peers, arguments.points)
    found = measure(ours + peers, arguments.repetitions, arguments.least_seconds)
    machine["load_after"] = " ".join(f"{x:.1f}" for x in os.getloadavg())
    if arguments.output is not None:
        options = {name: str(x) if isinstance(x, Path) else x for name, x in dataclasses.asdict(arguments).items()}
        results = {"machine": machine, "options": options, "samplers": [dataclasses.asdict(x) for x in found]}
        arguments.output.write_text(json.dumps(results, indent=2) + "\n")
    print(f"{machine['cores']} cores ({machine['processor']}), load average {machine['load']}")
    print(table(found, arguments.points, arguments.batches))


if __name__ == "__main__":
    main()
