"""Effect of three options on the time of a training step at the shipped size: `python -m benchmarks.step_options`.

The options are layers that skip empty slots (`point_capacity`, `query_capacity`), several steps in one call
(`steps_per_dispatch`), which allocates memory once for all of them, and huge pages (`GLIBC_TUNABLES`, which is read
when a process starts, so there are two processes). Programs take turns, and so do processes.
"""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile

import jax
import tyro

from benchmarks import jax_training
from benchmarks.table import layout, spread
from benchmarks.timing import log, time_in_turns
from benchmarks.training import draw
from configs import small_fim
from fimjax.training.parallel import use_cpu_devices

BATCH = 64
SEVERAL = 10
HUGE_PAGES = "glibc.malloc.hugetlb=1"


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Measure a training step with and without each option."""

    repetitions: int = 5
    """Measured calls of each program in a process."""
    rounds: int = 2
    """Runs of each process."""
    worker: bool = False
    """Measure in this process and print JSON."""


def measure(repetitions: int) -> dict[str, list[float]]:
    """Milliseconds per step, by packing and by the number of steps in a call."""
    config = small_fim.get_config()
    sample = draw(config, BATCH)
    programs = {}
    for slots, variant in (("all", jax_training.with_all_slots(config)), ("packed", config)):
        for steps in (1, SEVERAL):
            program = jax_training.make_step(variant, sample, jax.devices(), steps)
            programs[f"{slots} {steps}"] = program.run, steps
    return {name: [1e3 * x for x in times] for name, times in time_in_turns(programs, repetitions).items()}


def in_process(huge: bool, repetitions: int, cache: str) -> dict[str, list[float]]:
    """Measures in a new process, with or without huge pages."""
    environment = {name: value for name, value in os.environ.items() if name != "GLIBC_TUNABLES"}
    environment |= {"JAX_COMPILATION_CACHE_DIR": cache} | ({"GLIBC_TUNABLES": HUGE_PAGES} if huge else {})
    command = [sys.executable, "-m", "benchmarks.step_options", "--worker", "--repetitions", str(repetitions)]
    return json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main() -> None:
    arguments = tyro.cli(Arguments)
    if arguments.worker:
        use_cpu_devices(len(os.sched_getaffinity(0)))
        print(json.dumps(measure(arguments.repetitions)))
        return
    found: dict[tuple[str, bool], list[float]] = {}
    with tempfile.TemporaryDirectory() as cache:
        for turn in range(arguments.rounds):
            for huge in (False, True):
                for name, times in in_process(huge, arguments.repetitions, cache).items():
                    found.setdefault((name, huge), []).extend(times)
            log(f"turn {turn + 1} of {arguments.rounds}")
    rows = [[*name.split(), "huge" if huge else "4 KB", spread(times)] for (name, huge), times in sorted(found.items())]
    print(layout(["slots", "steps per call", "pages", "ms per step"], rows))


if __name__ == "__main__":
    main()
