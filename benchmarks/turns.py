"""Programs that take turns, so that whatever else the machine does hits them alike."""

import time
from collections.abc import Callable, Hashable
from typing import Any


def take_turns(
    programs: dict[Hashable, tuple[Callable[[], Any], float]], repetitions: int
) -> dict[Hashable, list[float]]:
    """Seconds of a step in each turn of each program, a call and its number of steps; one turn more warms up."""
    seconds = {name: [] for name in programs}
    for _ in range(1 + repetitions):
        for name, (run, steps) in programs.items():
            start = time.perf_counter()
            run()
            seconds[name].append((time.perf_counter() - start) / steps)
    return {name: times[1:] for name, times in seconds.items()}
