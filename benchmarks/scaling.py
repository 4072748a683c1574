"""How does the cost of a training step grow with its input? `python -m benchmarks.scaling --picture scaling.png`.

Window length, number of windows and batch size belong to a training step at the shipped size; query times to a forward
pass of the same batch. All batches are one batch, cut or repeated, because speed depends on how much is observed and
not on the values. All sizes of a kind take turns.
"""

import dataclasses
import os
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import tyro

from benchmarks import jax_training
from benchmarks.table import layout, spread
from benchmarks.timing import describe_machine, log, time_in_turns
from benchmarks.training import draw
from configs import small_fim
from fimjax.config import Config
from fimjax.models import build_model, init_params
from fimjax.prior.sampler import Sample
from fimjax.training.parallel import use_cpu_devices

BATCH = 64
REPEATED = 2
KINDS = {
    "slots of a window": (12, 24, 48, 96),
    "windows": (3, 5, 9, 17),
    "series of a batch": (16, 32, 64, 128),
    "query times": (24, 96, 384, 1_536),
}


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Measure how the cost of a step grows with the size of its batch."""

    repetitions: int = 5
    """Measured calls of each size."""
    quick: bool = False
    """Only the two smallest sizes of each kind and two calls, to check that everything works."""
    picture: Path | None = None
    """PNG file for the curves (needs matplotlib)."""


def resize(sample: Sample, axis: int, length: int) -> Sample:
    """Cuts or repeats a batch along one of its axes: series, windows or slots."""

    def change(x: jax.Array) -> jax.Array:
        return x if x.ndim <= axis else jnp.take(x, jnp.arange(length) % x.shape[axis], axis=axis)

    return jax.tree.map(change, sample)


def with_windows(config: Config, windows: int) -> Config:
    return dataclasses.replace(config, windows=dataclasses.replace(config.windows, count=windows))


def make_forward(config: Config, sample: Sample, times: int) -> Callable[[], Any]:
    """A forward pass of a batch with this many query times in the target window, on all devices."""
    model = build_model(config.model, config.windows.count)
    params = jax.jit(lambda key: init_params(model, key))(jax.random.key(0))
    samples = jax_training.split_batch(sample, jax.device_count())

    def forward(sample: Sample) -> jax.Array:
        past = sample.past()
        ahead = jnp.linspace(0.0, 1.0, times)[None, :] * past.duration[:, None]
        return model.apply({"params": params}, past, past.origin[:, None] + ahead)

    compiled = jax.pmap(forward).lower(samples).compile()
    return lambda: jax.block_until_ready(compiled(samples))


def make_programs(kind: str, sizes: tuple[int, ...]) -> dict[int, tuple[Callable[[], Any], int]]:
    """A program and its number of steps, by size."""
    config, programs = small_fim.get_config(), {}
    sample = draw(config, BATCH)
    axis = list(KINDS)[:3][::-1].index(kind) if kind != "query times" else None
    for size in sizes:
        if axis is None:
            programs[size] = make_forward(config, sample, size), 1
        else:
            resized = with_windows(config, size) if kind == "windows" else config
            step = jax_training.make_step(resized, resize(sample, axis, size), jax.devices(), REPEATED)
            programs[size] = step.run, REPEATED
        log(f"{kind}: {size} compiled")
    return programs


def table(results: dict[str, dict[int, list[float]]]) -> str:
    rows = []
    for kind, found in results.items():
        least = min(found)
        for size, times in found.items():
            ratio = statistics.median(times) / statistics.median(found[least])
            rows.append([kind, f"{size:,}", spread(times), f"{size / least:.1f}", f"{ratio:.2f}"])
    return layout(["", "size", "ms", "relative size", "relative ms"], rows)


def draw_picture(results: dict[str, dict[int, list[float]]], path: Path) -> None:
    """One chart for each kind: medians with their spread, and a proportional cost for comparison."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3), layout="constrained")
    for axes, (kind, found) in zip(figure.subplots(1, len(results)), results.items()):
        sizes, middle = list(found), [statistics.median(times) for times in found.values()]
        ends = [[m - min(times) for m, times in zip(middle, found.values())]]
        ends.append([max(times) - m for m, times in zip(middle, found.values())])
        axes.errorbar(sizes, middle, yerr=ends, marker="o", color="tab:blue", capsize=3, label="measured")
        proportional = [middle[-1] * size / sizes[-1] for size in sizes]
        axes.plot(sizes, proportional, color="0.6", linestyle="--", label="proportional")
        axes.set(xscale="log", yscale="log", xlabel=kind, xticks=sizes, xticklabels=[f"{size:,}" for size in sizes])
        axes.set_yticks(middle, [f"{m:.0f}" for m in middle])
        axes.minorticks_off()
        axes.set_ylabel("ms per forward pass" if kind == "query times" else "ms per training step")
        axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=130)


def main() -> None:
    arguments = tyro.cli(Arguments)
    use_cpu_devices(len(os.sched_getaffinity(0)))
    machine, results = describe_machine(), {}
    repetitions = 2 if arguments.quick else arguments.repetitions
    for kind, sizes in KINDS.items():
        programs = make_programs(kind, sizes[:2] if arguments.quick else sizes)
        seconds = time_in_turns(programs, repetitions)
        results[kind] = {size: [1e3 * x for x in times] for size, times in seconds.items()}
    if arguments.picture is not None:
        draw_picture(results, arguments.picture)
    print(f"{machine['cores']} cores ({machine['processor']}), load average {machine['load']}\n")
    print(table(results))


if __name__ == "__main__":
    main()
