"""Training steps and forward passes of fimjax and of PyTorch: `python -m benchmarks.training`.

- Both have the same architecture (that of the lab report), parameters, loss and optimiser; tests/benchmarks checks that
  they compute the same. Both get the same batches of the prior, drawn beforehand. PyTorch runs eagerly and with
  torch.compile, on one thread per core; fimjax on one XLA device per core. The network of the bundled weights has no
  PyTorch counterpart and is measured alone.
- fimjax packs observed points and skips empty slots, as in training. "All slots" does not, like PyTorch.
- All programs live in one process and take turns, so that other load affects them alike. Ratios are ratios of medians.
- FLOP/s count matrix products only; with packing, those of packed rows. The peak is the speed of large matrix products
  on all cores, measured in the same turns.
"""

import dataclasses
import functools
import importlib.util
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import tyro

from benchmarks import jax_training
from benchmarks.flops import copy_bandwidth, make_peak
from benchmarks.table import MISSING, layout, spread
from benchmarks.timing import describe_machine, log, time_in_turns
from configs import paper_fim, paper_fim_local, small_fim
from fimjax.config import Config
from fimjax.models import build_model, count_params, param_shapes
from fimjax.prior.sampler import sample_groups
from fimjax.training.parallel import use_cpu_devices
from research.recipes import frozen_fim

PEAK, SAMPLER = "peak of matrix products", "sampler"
SHIPPED = "FIM and FIM-l, shipped"
"""The network of the bundled weights; it has no PyTorch counterpart."""

OURS, OUR_SLOTS = "fimjax, a device per core", "fimjax, a device per core, all slots"
OUR_DEVICE = "fimjax, one device"
EAGER, COMPILED = "PyTorch, eager", "PyTorch, torch.compile"


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Measure training steps and forward passes of fimjax and PyTorch on this machine."""

    repetitions: int = 7
    """Measured calls of each program."""
    paper_batch: int = 8
    """Series of a step at the paper's size."""
    small_batch: int = 64
    """Series of a step at the small size."""
    compile: bool = True
    """Measure torch.compile as well, which takes one or two minutes for each program."""
    quick: bool = False
    """Only the small size, eager PyTorch and three calls, to check that everything works."""
    output: Path | None = None
    """JSON file for the results."""
    results: Path | None = None
    """Print the tables of an earlier JSON file instead of measuring."""


@dataclasses.dataclass
class Timed:
    """One program and its measurements."""

    size: str
    task: str  # "step" or "forward"
    name: str
    run: Callable[[], Any]
    steps: int = 1
    flops: float | None = None  # of matrix products, in one step
    megabytes: float | None = None  # on one device
    moved: float | None = None  # bytes that one step reads and writes on one device, estimated by XLA
    compile_seconds: float | None = None
    seconds: list[float] = dataclasses.field(default_factory=list)  # per step

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def sizes(arguments: Arguments) -> Iterator[tuple[str, Config, int]]:
    """Name, config in float32 and number of series per step of everything that is trained."""
    small = frozen_fim.get_config()
    everything = dataclasses.replace(small, model=dataclasses.replace(small.model, freeze_local=False))
    yield "FIM, FIM-l trained, report, small", everything, arguments.small_batch
    if arguments.quick:
        return
    yield SHIPPED, small_fim.get_config(), arguments.small_batch
    named = {"FIM-l, paper": paper_fim_local.get_config(), "FIM, FIM-l frozen, paper": paper_fim.get_config()}
    for name, config in named.items():
        yield name, _float32(config), arguments.paper_batch


def _float32(config: Config) -> Config:
    return dataclasses.replace(config, training=dataclasses.replace(config.training, precision="float32"))


def draw(config: Config, series: int) -> Any:
    """Draws a batch from the prior."""
    groups = -(-series // config.prior.group_size)
    sample = jax.jit(lambda key: sample_groups(key, 0, groups, config.prior, config.windows))(jax.random.key(1))
    return jax.tree.map(lambda x: x[:series], sample)


def our_programs(size: str, config: Config, sample: Any) -> Iterator[Timed]:
    """Compiles fimjax's programs."""
    every, plain = jax.devices(), jax_training.with_all_slots(config)
    # As in training, a call makes several steps and allocates memory once; large steps are long enough on their own.
    step = functools.partial(jax_training.make_step, repeated=1 if "paper" in size else 4)
    variants = [
        ("step", OURS, step, config, every),
        ("step", OUR_SLOTS, step, plain, every),
        ("step", OUR_DEVICE, step, config, every[:1]),
        ("forward", OURS, jax_training.make_forward, config, every),
        ("forward", OUR_SLOTS, jax_training.make_forward, plain, every),
    ]
    for task, name, make, variant, devices in variants:
        start = time.perf_counter()
        program = make(variant, sample, devices)
        seconds = time.perf_counter() - start
        log(f"{size}: {task} of {name} compiled in {seconds:.0f} s")
        memory, moved = jax_training.peak_memory(program) / 1e6, jax_training.bytes_moved(program)
        yield Timed(size, task, name, program.run, program.steps, program.flops, memory, moved, seconds)


def peer_programs(size: str, config: Config, sample: Any, compile: bool) -> Iterator[Timed]:
    """Prepares PyTorch's programs and checks that their models have as many parameters as fimjax's."""
    from benchmarks import torch_training

    expected = count_params(param_shapes(build_model(config.model, config.windows.count)))
    batch = torch_training.to_torch(jax.device_get(sample))
    for compiled in (False, True) if compile else (False,):
        name = COMPILED if compiled else EAGER
        step = torch_training.make_step(config, None, compiled)
        found = sum(x.numel() for x in step.model.parameters())
        if found != expected:
            raise AssertionError(f"{size}: PyTorch's model has {found:,} parameters, fimjax's {expected:,}")
        forward = torch_training.make_forward(config, None, compiled)
        for task, run in (("step", step), ("forward", forward)):
            start = time.perf_counter()
            run(batch)
            run(batch)
            log(f"{size}: {task} of {name} ready in {time.perf_counter() - start:.0f} s")
            yield Timed(size, task, name, lambda run=run: run(batch), compile_seconds=time.perf_counter() - start)


def sampler(size: str, config: Config, series: int) -> Timed:
    """Draws one step's batch on all devices."""
    devices = jax.local_device_count()
    groups = max(1, series // (config.prior.group_size * devices))
    sample = jax.pmap(lambda key: sample_groups(key, 0, groups, config.prior, config.windows))
    keys = jax.random.split(jax.random.key(0), devices)
    run = lambda: jax.block_until_ready(sample(keys))
    run()
    drawn = groups * config.prior.group_size * devices
    return Timed(size, "sampling", SAMPLER, run, steps=drawn / series)


def steps_table(programs: list[Timed], peak: Timed) -> str:
    """A row for each program, with its speed relative to the fastest PyTorch program."""
    rows = []
    for x in programs:
        peers = [y.median for y in programs if (y.size, y.task) == (x.size, x.task) and y.name in (EAGER, COMPILED)]
        speed = x.flops / x.median if x.flops else None
        rows.append(
            [
                f"{x.size}: {x.task}, {x.name}",
                spread([1e3 * s for s in x.seconds]),
                f"{min(peers) / x.median:.2f}" if peers else "-" if x.size == SHIPPED else MISSING,
                f"{speed / 1e9:.0f}" if speed else "-",
                f"{speed * peak.median / peak.flops:.0%}" if speed else "-",
                f"{x.moved / 1e9:.2f}" if x.moved else "-",
                f"{x.megabytes:,.0f}" if x.megabytes else "-",
                f"{x.compile_seconds:.0f}" if x.compile_seconds else "-",
            ]
        )
    head = ["", "ms", "speed / best PyTorch", "GFLOP/s", "of the peak", "GB moved", "MB", "s to compile"]
    return layout(head, rows)


def facts(programs: list[Timed], samplers: list[Timed], peak: Timed, bandwidth: float) -> list[str]:
    """Sentences about the results."""
    step = {(x.size, x.name): x.median for x in programs if x.task == "step"}
    best = {size: min(step[size, name] for name in (OURS, OUR_DEVICE)) for size, _ in step}
    lines = [
        f"peak of matrix products: {peak.flops / peak.median / 1e9:.0f} GFLOP/s on all cores",
        f"memory bandwidth: {bandwidth / 1e9:.1f} GB/s on one device",
    ]
    for x in samplers:
        lines.append(f"{x.size}: sampling takes {x.median / best[x.size]:.1%} of a step")
    for size in dict.fromkeys(x.size for x in programs):
        ratio = step[size, OUR_DEVICE] / step[size, OURS]
        lines.append(f"{size}: one device per core is {ratio:.2f} times as fast as one device with all cores")
    frozen, trained = (f"FIM, FIM-l {how}, paper" for how in ("frozen", "trained"))
    if frozen in best:
        lines.append(f"paper: a frozen FIM-l reduces the cost of a step to {best[frozen] / best[trained]:.0%}")
    return lines


def report(results: dict[str, Any]) -> str:
    """All tables."""
    machine = results["machine"]
    programs, samplers, (peak,) = (
        [Timed(run=None, **x) for x in results[kind]] for kind in ("programs", "samplers", "peak")
    )
    facts_found = "\n".join(facts(programs, samplers, peak, results["bandwidth"]))
    head = f"{machine['cores']} cores ({machine['processor']}), load average {machine['load']}"
    return "\n\n".join([head, steps_table(programs, peak), facts_found])


def main() -> None:
    arguments = tyro.cli(Arguments)
    if arguments.results is not None:
        print(report(json.loads(arguments.results.read_text())))
        return
    if arguments.quick:
        arguments = dataclasses.replace(arguments, repetitions=3, compile=False)
    cores = len(os.sched_getaffinity(0))
    use_cpu_devices(cores)
    machine = describe_machine()
    has_peers = importlib.util.find_spec("torch") is not None
    if has_peers:
        import torch

        torch.set_num_threads(cores)
    run_peak, flops = make_peak()
    run_peak()
    peak, programs, samplers = Timed("", "", PEAK, run_peak, flops=flops), [], []
    for size, config, series in sizes(arguments):
        sample = draw(config, series)
        some = list(our_programs(size, config, sample))
        if has_peers and size != SHIPPED:
            some += peer_programs(size, config, sample, arguments.compile)
        samplers.append(sampler(size, config, series))
        timed = [*some, samplers[-1], peak]
        runs = {i: (x.run, x.steps) for i, x in enumerate(timed)}
        for i, seconds in time_in_turns(runs, arguments.repetitions).items():
            timed[i].seconds += seconds
        log(f"{size}: measured")
        programs += [dataclasses.replace(x, run=None) for x in some]  # frees their memory
    written = lambda some: [{k: v for k, v in vars(x).items() if k != "run"} for x in some]
    results = {"machine": machine, "bandwidth": copy_bandwidth(), "programs": written(programs)}
    results |= {"samplers": written(samplers), "peak": written([peak])}
    if arguments.output is not None:
        arguments.output.write_text(json.dumps(results, indent=2) + "\n")
    print(report(results))


if __name__ == "__main__":
    main()
