"""Which operations take the time of a training step? `python -m benchmarks.profile_step`, on one device.

JAX's profiler times each operation that XLA runs. The table sums them by kind: products of dense layers and inside
attention, reductions, data movement and element-wise operations. "All slots" is the step without packing.
"""

import collections
import dataclasses
import re
import tempfile
from pathlib import Path
from typing import Any

import jax
import tyro

from benchmarks.jax_training import with_all_slots
from benchmarks.table import layout
from benchmarks.training import draw
from configs import small_fim
from fimjax.config import Config
from fimjax.models import build_model, init_params
from fimjax.prior.sampler import Sample
from fimjax.training.step import TrainStep

REPEATED = 8
DENSE, INSIDE, REDUCTIONS, MOVES, REST = (
    "products of dense layers",
    "products inside attention",
    "reductions",
    "gathers, copies, transposes",
    "element-wise",
)


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Print the time of a training step by kind of operation."""

    series: int = 32
    """Series per step; 32 is what one of two devices has in training."""


def kind_of(operation: str) -> str:
    """Classifies an operation of the compiled program by its text."""
    name = (re.findall(r'op_name="([^"]*)"', operation) or [""])[-1]
    last = name.rsplit("/", 1)[-1]
    if " dot(" in operation or "dot_general" in last or ("__ynn_fusion" in operation and "reduce" not in last):
        return INSIDE if re.search(r"bn[qt][dt],bn", name) else DENSE
    if "reduce" in last or " reduce(" in operation:
        return REDUCTIONS
    if re.search(r"gather|copy|transpose|concatenate|slice|pad", operation.split(" fusion(")[0] + last):
        return MOVES
    return REST


def profile(config: Config, sample: Sample) -> tuple[dict[str, float], float]:
    """Milliseconds of a gradient by kind of operation, and XLA's estimate of the gigabytes that it moves."""
    model = build_model(config.model, config.windows.count)
    params = jax.jit(lambda key: init_params(model, key))(jax.random.key(0))
    gradient = TrainStep(config, model, groups=1).total_gradient

    def several(params: Any, sample: Sample) -> Any:
        # Several per call, as in training, because the first one allocates the memory.
        step = lambda _, params: jax.tree.map(lambda p, g: p - 1e-6 * g, params, gradient(params, sample)[2])
        return jax.lax.fori_loop(0, REPEATED, step, params)

    compiled = jax.jit(several).lower(params, sample).compile()
    jax.block_until_ready(compiled(params, sample))
    text = dict(re.findall(r"^\s*(?:ROOT )?%?([\w.\-]+) = (.*)$", compiled.as_text(), re.MULTILINE))
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            jax.block_until_ready(compiled(params, sample))
        (trace,) = Path(folder).rglob("*.xplane.pb")
        found = collections.Counter()
        for plane in jax.profiler.ProfileData.from_file(str(trace)).planes:
            for line in plane.lines:
                for event in line.events:
                    operation = dict(event.stats).get("hlo_op")
                    if operation in text and not re.search(r"\b(while|call|conditional)\(", text[operation]):
                        found[kind_of(f"{operation} {text[operation]}")] += event.duration_ns / 1e6 / REPEATED
    return dict(found), compiled.cost_analysis().get("bytes accessed", 0.0) / 1e9


def main() -> None:
    arguments = tyro.cli(Arguments)
    config = small_fim.get_config()
    sample = draw(config, arguments.series)
    ours, slots = (profile(x, sample) for x in (config, with_all_slots(config)))
    kinds = (DENSE, INSIDE, REDUCTIONS, MOVES, REST)
    rows = [[kind, *(f"{found.get(kind, 0.0):.1f}" for found, _ in (slots, ours))] for kind in kinds]
    rows.append(["total", *(f"{sum(found.values()):.1f}" for found, _ in (slots, ours))])
    rows.append(["GB moved", *(f"{moved:.2f}" for _, moved in (slots, ours))])
    print(layout([f"ms of a gradient of {arguments.series} series", "all slots", "packed"], rows))


if __name__ == "__main__":
    main()
