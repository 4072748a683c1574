"""Training runs as weights that ship: `python -m research.bundle runs/fim --local runs/fim_local`.

Several runs of one config, each from a seed of its own, become the members of one model.
"""

import argparse
import dataclasses
import itertools
import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import jax
import numpy as np

from fimjax.checkpoints.pretrained import DEFAULT, load_pretrained, save_pretrained
from fimjax.checkpoints.runs import load_params
from fimjax.config import Config, differing_keys
from fimjax.errors import ConfigError
from fimjax.files import replacing
from fimjax.models import model_name
from fimjax.training.init import fitted
from fimjax.training.losses import Params
from fimjax.training.metrics import METRICS_FILE

WEIGHTS = Path(__file__).parents[1] / "fimjax" / "weights"

Which = Literal["best", "latest"]

LOG = "training.jsonl"
"""The metrics of all stages, a line each, that ship with the weights."""


def bundle(
    runs: list[Path],
    local: Path | None,
    folder: Path,
    which: Which = "best",
    purpose: str = "",
    before: Sequence[Path] = (),
    mean_with: Path | None = None,
) -> None:
    """Writes a checkpoint of each run, with what made it: settings, seed, steps, hardware, time, and the log.

    Args:
        runs: one, or several of one config but for the seed.
        which: the checkpoint with the lowest validation loss, or the newest one, where losses do not compare: the prior
            of a run may have changed on its way.
        purpose: what to take the weights for, as `fimjax models` says it.
        before: the runs, or the weights, that the runs began from, whose stories come first.
        mean_with: a run, or weights, of the same model, whose parameters are averaged with those of the runs. Of
            trainings that began from one another parameters average as answers do, and cost the time of one.
    """
    configs, members = zip(*(load_params(run, which) for run in runs))
    for run, other in zip(runs[1:], configs[1:]):
        _require_alike(configs[0], other, run)
    name = model_name(configs[0].model)
    if mean_with is not None:
        members = [_mean(params, mean_with, configs[0]) for params in members]
        before = (mean_with, *before)
    names = [name] if len(runs) == 1 else [f"{name}, member {i}" for i in range(1, len(runs) + 1)]
    stages = [] if local is None else [("FIM-l", load_params(local)[0], local)]
    stages += zip(names, configs, runs)
    logs = {name: _read_log(path) for name, _, path in stages}
    stories = [_story(earlier, which) for earlier in before]
    facts, earlier_lines = (list(itertools.chain(*parts)) for parts in zip(*stories)) if stories else ([], [])
    facts += [{"stage": name, **_facts(settings, logs[name], which)} for name, settings, _ in stages]
    about = {
        "hardware": f"{_processor()}, {os.cpu_count()} cores",
        "steps": sum(stage["steps"] for stage in facts),
        "seconds": round(60 * sum(stage["minutes"] for stage in facts)),
        "stages": facts,
    }
    if mean_with is not None:
        both = stories[0][0][-1], facts[-1]
        about["mean_of"] = [f"{stage['stage']}, seed {stage['seed']}" for stage in both]
    if purpose:
        about["purpose"] = purpose
    config = dataclasses.replace(configs[0], members=len(runs))
    params = members[0] if len(runs) == 1 else jax.tree.map(lambda *leaves: np.stack(leaves), *members)
    save_pretrained(folder, config, params, about)
    lines = earlier_lines + [json.dumps({"stage": name, **line}) for name, log in logs.items() for line in log]
    with replacing(folder / LOG) as scratch:
        scratch.write_text("\n".join(lines) + "\n")


def _require_alike(config: Config, other: Config, run: Path) -> None:
    """Members differ in their seeds, and in nothing else."""
    same_seed = dataclasses.replace(other.training, seed=config.training.seed)
    differences = differing_keys(config, dataclasses.replace(other, training=same_seed))
    if other.training.seed == config.training.seed:
        differences.append(f"training.seed: {other.training.seed} as the first one's")
    if differences:
        raise SystemExit(f"{run}: no member for the first run: {'; '.join(differences)}")


def _mean(params: Params, other: Path, config: Config) -> Params:
    """The mean of two sets of parameters of one model; the other may have had fewer features."""
    earlier, others, _ = load_pretrained(other)
    try:
        others = fitted(others, earlier.model, config.model)
    except ConfigError as error:
        raise SystemExit(f"{other}: no model to take the mean with: {error}") from error
    return jax.tree.map(lambda a, b: (np.asarray(a) + np.asarray(b)) / 2, params, others)


def _story(before: Path, which: Which) -> tuple[list[dict[str, Any]], list[str]]:
    """Stages and log of an earlier run, or of weights with theirs, as of what came before."""
    if (before / METRICS_FILE).exists():
        settings, log = load_params(before, which)[0], _read_log(before)
        name = model_name(settings.model)
        stages, log = [{"stage": name, **_facts(settings, log, which)}], [{"stage": name, **line} for line in log]
    else:
        stages = load_pretrained(before)[2]["stages"]
        log = [json.loads(line) for line in (before / LOG).read_text().splitlines()]
    told = lambda entry: {**entry, "stage": f"before: {entry['stage']}"}
    return [told(stage) for stage in stages], [json.dumps(told(line)) for line in log]


def _read_log(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / METRICS_FILE).read_text().splitlines()]


def _facts(config: Config, log: list[dict[str, Any]], which: Which) -> dict[str, Any]:
    """What a stage took and what it came to."""
    validations = [line for line in log if line["phase"] == "validation"]
    best = min(validations, key=lambda line: line["loss"]) if which == "best" else validations[-1]
    training = [line for line in log if line["phase"] == "train"]
    series = config.training.batch_size * config.training.log_every
    return {
        "seed": config.training.seed,
        "steps": training[-1]["step"],
        "series": training[-1]["step"] * config.training.batch_size,
        "minutes": round(sum(series / line["series_per_second"] for line in training) / 60, 1),
        "best_step": best["step"],
        "validation_loss": round(best["loss"], 5),
    }


def _processor() -> str:
    """The processor by the name that it gives itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+", help="run of a model that forecasts, or of each of its members")
    parser.add_argument("--local", type=Path, help="run of the FIM-l that the first began from")
    parser.add_argument("--before", type=Path, nargs="+", default=(), help="runs or weights that the runs began from")
    parser.add_argument("--mean-with", type=Path, help="run or weights whose parameters to average the run's with")
    parser.add_argument("--latest", action="store_true", help="the newest checkpoint instead of the best one")
    parser.add_argument("--purpose", default="", help="what to take the weights for, as `fimjax models` says it")
    parser.add_argument("--out", type=Path, default=WEIGHTS / DEFAULT, help="folder of the weights")
    arguments = parser.parse_args()
    which = "latest" if arguments.latest else "best"
    story = {name: getattr(arguments, name) for name in ("purpose", "before", "mean_with")}
    bundle(arguments.runs, arguments.local, arguments.out, which, **story)
    size = sum(file.stat().st_size for file in arguments.out.iterdir()) / 1e6
    print(f"{arguments.out}: {size:.1f} MB")


if __name__ == "__main__":
    main()
