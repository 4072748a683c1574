"""Timing of programs on a shared machine."""

import os
import sys
import time
from collections.abc import Callable, Hashable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

PACKAGES = ("fimjax", "jax", "statsforecast", "chronos-forecasting", "torch", "pandas", "numpy")

Key = TypeVar("Key", bound=Hashable)


def time_in_turns(programs: Mapping[Key, tuple[Callable[[], Any], float]], repetitions: int) -> dict[Key, list[float]]:
    """Times programs in turns, so that other load on the machine affects all of them alike.

    Args:
        programs: a call and its number of steps, by name.
        repetitions: measured calls of each program; one more call warms up.

    Returns:
        Seconds per step of each measured call.
    """
    seconds: dict[Key, list[float]] = {name: [] for name in programs}
    for _ in range(1 + repetitions):
        for name, (run, steps) in programs.items():
            start = time.perf_counter()
            run()
            seconds[name].append((time.perf_counter() - start) / steps)
    return {name: times[1:] for name, times in seconds.items()}


def describe_machine() -> dict[str, Any]:
    """Cores, processor, load and versions of packages, on which results depend."""
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


def log(text: str) -> None:
    """Prints progress to standard error, apart from the tables."""
    print(text, file=sys.stderr, flush=True)
