"""Training steps and forward passes of fimjax and of PyTorch, in turns: `python -m benchmarks.training`.

- Both have the same architecture, parameters, loss and optimiser (tests/benchmarks shows that they compute the same),
  and the same batches of the prior, drawn beforehand. PyTorch runs eagerly and by torch.compile, on a thread for each
  core; fimjax on an XLA device for each core.
- fimjax packs observed points and skips empty slots, as in training. "All slots" does without, like PyTorch.
- Everything lives in one process and takes turns, so that whatever else the machine does hits all alike. Ratios are
  of medians.
- FLOP/s count products of matrices only, those of packed rows where rows are packed. The peak is that of large
  products on all cores, measured in the same turns.
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
from benchmarks.forecasting import describe_machine, tell
from benchmarks.products import copy_bandwidth, make_peak
from benchmarks.table import MISSING, layout, spread
from benchmarks.turns import take_turns
from configs import paper_fim, paper_fim_local, small_fim
from fimjax.config import Config
from fimjax.models import build_model, count_params, init_params
from fimjax.prior.sampler import sample_groups
from fimjax.training.parallel import use_cpu_devices

PEAK, SAMPLER = "peak of products", "sampler"
OURS, OUR_SLOTS = "fimjax, a device per core", "fimjax, a device per core, all slots"
OUR_DEVICE = "fimjax, one device"
EAGER, COMPILED = "PyTorch, eager", "PyTorch, torch.compile"


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Measure training steps and forward passes of fimjax and PyTorch on this machine."""

    repetitions: int = 7
    """Turns of each."""
    paper_batch: int = 8
    """Series of a step at the paper's size."""
    shipped_batch: int = 64
    """Series of a step at the shipped size."""
    compile: bool = True
    """Measure torch.compile as well, which takes a minute or two for each program."""
    quick: bool = False
    """The shipped size alone, eager PyTorch, three turns: to see that it works."""
    output: Path | None = None
    """Where to write the figures, as JSON."""
    figures: Path | None = None
    """Print the tables of figures written before, instead of measuring."""


@dataclasses.dataclass
class Timed:
    """One program and what it took."""

    size: str
    task: str  # "step" or "forward"
    name: str
    run: Callable[[], Any]
    steps: int = 1
    flops: float | None = None  # of products, in one step
    megabytes: float | None = None  # on one device
    moved: float | None = None  # bytes that one step reads and writes on one device, as XLA estimates it
    compile_seconds: float | None = None
    seconds: list[float] = dataclasses.field(default_factory=list)  # of one step

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def sizes(arguments: Arguments) -> Iterator[tuple[str, Config, int]]:
    """What is trained: a name, a config in float32, and the number of series in a step."""
    shipped = without_smoothers(small_fim.get_config())
    yield "FIM and FIM-l, shipped", shipped, arguments.shipped_batch
    if arguments.quick:
        return
    paper = paper_fim.get_config()
    everything = dataclasses.replace(paper, model=dataclasses.replace(paper.model, freeze_local=False))
    named = {"FIM-l, paper": paper_fim_local.get_config(), "FIM, FIM-l frozen, paper": paper}
    for name, config in {**named, "FIM, FIM-l trained, paper": everything}.items():
        yield name, _float32(config), arguments.paper_batch


def without_smoothers(config: Config) -> Config:
    """The shipped network as far as PyTorch has its twin: without smoothers, which have no parameters, and by AdamW."""
    return dataclasses.replace(
        config,
        model=dataclasses.replace(config.model, smoothers=False, knows_floor=False),
        training=dataclasses.replace(config.training, optimizer="adamw"),
    )


def _float32(config: Config) -> Config:
    return dataclasses.replace(config, training=dataclasses.replace(config.training, precision="float32"))


def draw(config: Config, series: int) -> Any:
    """A batch of the prior."""
    groups = -(-series // config.prior.group_size)
    sample = jax.jit(lambda key: sample_groups(key, 0, groups, config.prior))(jax.random.key(1))
    return jax.tree.map(lambda x: x[:series], sample)


def our_programs(size: str, config: Config, sample: Any) -> Iterator[Timed]:
    """fimjax, compiled."""
    every, plain = jax.devices(), jax_training.with_all_slots(config)
    # A call's memory serves for several steps in training; a step at the paper's size is long enough by itself.
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
        tell(f"{size}: {task} of {name} compiled in {seconds:.0f} s")
        memory, moved = jax_training.peak_memory(program) / 1e6, jax_training.bytes_moved(program)
        yield Timed(size, task, name, program.run, program.steps, program.flops, memory, moved, seconds)


def peer_programs(size: str, config: Config, sample: Any, compile: bool) -> Iterator[Timed]:
    """PyTorch, with as many parameters, which is asserted."""
    from benchmarks import torch_training

    model = build_model(config.model)
    expected = count_params(jax.eval_shape(lambda key: init_params(model, key), jax.random.key(0)))
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
            tell(f"{size}: {task} of {name} ready in {time.perf_counter() - start:.0f} s")
            yield Timed(size, task, name, lambda run=run: run(batch), compile_seconds=time.perf_counter() - start)


def sampler(size: str, config: Config, series: int) -> Timed:
    """The drawing of one step's batch on all devices."""
    devices = jax.local_device_count()
    groups = max(1, series // (config.prior.group_size * devices))
    sample = jax.pmap(lambda key: sample_groups(key, 0, groups, config.prior))
    keys = jax.random.split(jax.random.key(0), devices)
    run = lambda: jax.block_until_ready(sample(keys))
    run()
    drawn = groups * config.prior.group_size * devices
    return Timed(size, "sampling", SAMPLER, run, steps=drawn / series)


def steps_table(programs: list[Timed], peak: Timed) -> str:
    """A row for each program, its speed held against the best of PyTorch's."""
    rows = []
    for x in programs:
        peers = [y.median for y in programs if (y.size, y.task) == (x.size, x.task) and y.name in (EAGER, COMPILED)]
        speed = x.flops / x.median if x.flops else None
        rows.append(
            [
                f"{x.size}: {x.task}, {x.name}",
                spread([1e3 * s for s in x.seconds]),
                f"{min(peers) / x.median:.2f}" if peers else MISSING,
                f"{speed / 1e9:.0f}" if speed else "-",
                f"{speed * peak.median / peak.flops:.0%}" if speed else "-",
                f"{x.moved / 1e9:.2f}" if x.moved else "-",
                f"{x.megabytes:,.0f}" if x.megabytes else "-",
                f"{x.compile_seconds:.0f}" if x.compile_seconds else "-",
            ]
        )
    head = ["", "ms", "speed : best PyTorch", "GFLOP/s", "of the peak", "GB moved", "MB", "s to compile"]
    return layout(head, rows)


def facts(programs: list[Timed], samplers: list[Timed], peak: Timed, bandwidth: float) -> list[str]:
    """What the table does not say outright."""
    step = {(x.size, x.name): x.median for x in programs if x.task == "step"}
    best = {size: min(step[size, name] for name in (OURS, OUR_DEVICE)) for size, _ in step}
    lines = [
        f"peak of products: {peak.flops / peak.median / 1e9:.0f} GFLOP/s on all cores",
        f"bandwidth of memory: {bandwidth / 1e9:.1f} GB/s on one device",
    ]
    for x in samplers:
        lines.append(f"{x.size}: sampling takes {x.median / best[x.size]:.1%} of a step")
    for size in dict.fromkeys(x.size for x in programs):
        ratio = step[size, OUR_DEVICE] / step[size, OURS]
        lines.append(f"{size}: a device for each core is {ratio:.2f} times as fast as one device with all of them")
    frozen, trained = (f"FIM, FIM-l {how}, paper" for how in ("frozen", "trained"))
    if frozen in best:
        lines.append(
            f"paper: a frozen FIM-l makes a step cost {best[frozen] / best[trained]:.0%} of training everything"
        )
    return lines


def report(figures: dict[str, Any]) -> str:
    """All tables of what was measured."""
    machine = figures["machine"]
    programs, samplers, (peak,) = (
        [Timed(run=None, **x) for x in figures[kind]] for kind in ("programs", "samplers", "peak")
    )
    facts_found = "\n".join(facts(programs, samplers, peak, figures["bandwidth"]))
    head = f"{machine['cores']} cores ({machine['processor']}), load average {machine['load']}"
    return "\n\n".join([head, steps_table(programs, peak), facts_found])


def main() -> None:
    arguments = tyro.cli(Arguments)
    if arguments.figures is not None:
        print(report(json.loads(arguments.figures.read_text())))
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
        if has_peers:
            some += peer_programs(size, config, sample, arguments.compile)
        samplers.append(sampler(size, config, series))
        timed = [*some, samplers[-1], peak]
        for i, seconds in take_turns({i: (x.run, x.steps) for i, x in enumerate(timed)}, arguments.repetitions).items():
            timed[i].seconds += seconds
        tell(f"{size}: measured")
        programs += [dataclasses.replace(x, run=None) for x in some]  # gives back their memory
    written = lambda some: [{k: v for k, v in vars(x).items() if k != "run"} for x in some]
    figures = {"machine": machine, "bandwidth": copy_bandwidth(), "programs": written(programs)}
    figures |= {"samplers": written(samplers), "peak": written([peak])}
    if arguments.output is not None:
        arguments.output.write_text(json.dumps(figures, indent=2) + "\n")
    print(report(figures))


if __name__ == "__main__":
    main()
