"""How are the weights made that ship with fimjax? This script turns a training run into weights with their lineage.

`python -m research.bundle runs/small/fim --average-with runs/small/mean --purpose "forecasts, gaps"`

It writes `config.json` and `model.safetensors`, and the training log of all stages to `research/logs/NAME.jsonl`. The
block `about` of the config has the lineage, one entry a training run:

    "lineage": [
      {"stage": 1, "model": "FIM", "parents": [], "seed": 1, "steps": 86000, "series": 5504000, "minutes": 180.0,
       "checkpoint_step": 86000, "validation_loss": 0.55},
      {"stage": 2, "model": "FIM", "parents": [1], ...}
    ],
    "average": {"1": 0.5, "2": 0.5}

`parents` are the stages that a run started from; several, if it started from averaged parameters. `average` has the
share of each stage in the parameters, and is left out if they are those of the last stage.

What was learned: parameters of runs that started from one another can be averaged, and the average is as good as or
better than either run (research/log.md).
"""

import argparse
import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import jax
import numpy as np

from fimjax.checkpoints.pretrained import DEFAULT, load_pretrained, save_pretrained
from fimjax.checkpoints.runs import load_run
from fimjax.config import Config, differing_keys
from fimjax.files import replacing
from fimjax.models import Params, model_name
from fimjax.training.metrics import METRICS_FILE

WEIGHTS = Path(__file__).parents[1] / "fimjax" / "weights"
LOGS = Path(__file__).parent / "logs"

Which = Literal["best", "latest"]
Stage = dict[str, Any]
Line = dict[str, Any]


def bundle(
    run: Path,
    folder: Path,
    which: Which = "best",
    purpose: str = "",
    parents: Sequence[Path] = (),
    average_with: Path | None = None,
) -> None:
    """Writes a checkpoint of a run as weights, with its lineage and log.

    Args:
        run: folder of a training run.
        folder: folder of the weights.
        which: the checkpoint with the lowest validation loss, or the newest one. The newest one is the right choice if
            the prior changed during the run, because then losses do not compare.
        purpose: description of the weights in `fimjax models`.
        parents: runs or weights that the run started from.
        average_with: one more parent, whose parameters are averaged with the run's.
    """
    config, params = load_run(run, which)
    if average_with is not None:
        params = _average(params, average_with, config)
        parents = (average_with, *parents)
    lineage, log, origins = _join([_read_parent(parent, which) for parent in parents])
    lines = _read_lines(run / METRICS_FILE)
    number = len(lineage) + 1
    lineage.append(
        {"stage": number, "model": model_name(config.model)}
        | {"parents": sorted({stage for origin in origins for stage in origin})}
        | _facts(config, lines, which)
    )
    log += [{"stage": number, **line} for line in lines]
    about: dict[str, Any] = {
        "hardware": f"{_processor()}, {os.cpu_count()} cores",
        "steps": sum(stage["steps"] for stage in lineage),
        "seconds": round(60 * sum(stage["minutes"] for stage in lineage)),
        "lineage": lineage,
    }
    if average_with is not None:
        shares = {stage: share / 2 for stage, share in origins[0].items()} | {number: 0.5}
        about["average"] = {str(stage): share for stage, share in sorted(shares.items())}
    if purpose:
        about["purpose"] = purpose
    save_pretrained(folder, config, params, about)
    with replacing(log_path(folder)) as scratch:
        scratch.write_text("".join(json.dumps(line) + "\n" for line in log))


def log_path(folder: Path) -> Path:
    """Path of the training log of weights: in research/logs for weights that ship, else next to their folder."""
    folder = folder.resolve()
    return (LOGS if folder.parent == WEIGHTS else folder.parent) / f"{folder.name}.jsonl"


def read_lineage(about: dict[str, Any]) -> tuple[list[Stage], dict[int, float]]:
    """Reads the lineage of weights, and the share of each stage in their parameters.

    Weights of fimjax 0.1 have labels such as "before: before: FIM" instead, which do not say which stage was averaged:
    their stages become a chain.
    """
    if "lineage" in about:
        lineage = about["lineage"]
    else:
        lineage = [
            {"stage": i, "model": old["stage"].split(": ")[-1], "parents": [i - 1] if i > 1 else []}
            | {key: old[key] for key in ("seed", "steps", "series", "minutes") if key in old}
            | {"checkpoint_step": old.get("best_step"), "validation_loss": old.get("validation_loss")}
            for i, old in enumerate(about.get("stages", []), start=1)
        ]
    last = {len(lineage): 1.0} if lineage else {}
    return lineage, {int(stage): share for stage, share in about["average"].items()} if "average" in about else last


def _read_parent(parent: Path, which: Which) -> tuple[list[Stage], list[Line], dict[int, float]]:
    """Lineage, log and shares of a run or of weights."""
    if (parent / METRICS_FILE).exists():
        config, lines = load_run(parent, which)[0], _read_lines(parent / METRICS_FILE)
        stage = {"stage": 1, "model": model_name(config.model), "parents": [], **_facts(config, lines, which)}
        return [stage], [{"stage": 1, **line} for line in lines], {1: 1.0}
    lineage, shares = read_lineage(load_pretrained(parent)[2])
    log = log_path(parent)
    return lineage, _read_lines(log) if log.exists() else [], shares


def _join(
    parents: list[tuple[list[Stage], list[Line], dict[int, float]]],
) -> tuple[list[Stage], list[Line], list[dict[int, float]]]:
    """Joins the lineages and logs of parents under new numbers; a stage that several of them have occurs once."""
    lineage: list[Stage] = []
    log: list[Line] = []
    origins = []
    for stages, lines, shares in parents:
        numbers: dict[int, int] = {}
        added = set()
        for stage in stages:
            renamed = {**stage, "parents": [numbers[number] for number in stage["parents"]]}
            same = next((one for one in lineage if {**one, "stage": 0} == {**renamed, "stage": 0}), None)
            if same is None:
                same = {**renamed, "stage": len(lineage) + 1}
                lineage.append(same)
                added.add(stage["stage"])
            numbers[stage["stage"]] = same["stage"]
        log += [{**line, "stage": numbers[line["stage"]]} for line in lines if line["stage"] in added]
        origins.append({numbers[stage]: share for stage, share in shares.items()})
    return lineage, log, origins


def _average(params: Params, other: Path, config: Config) -> Params:
    """The mean of two sets of parameters of one model."""
    earlier, others, _ = load_pretrained(other)
    differences = differing_keys(earlier.model, config.model, "model.")
    if differences:
        raise SystemExit(f"{other}: its parameters cannot be averaged with the run's: {'; '.join(differences)}")
    return jax.tree.map(lambda a, b: (np.asarray(a) + np.asarray(b)) / 2, params, others)


def _read_lines(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _facts(config: Config, log: list[Line], which: Which) -> dict[str, Any]:
    """Cost and validation loss of a run."""
    validations = [line for line in log if line["phase"] == "validation"]
    chosen = min(validations, key=lambda line: line["loss"]) if which == "best" else validations[-1]
    training = [line for line in log if line["phase"] == "train"]
    series = config.training.batch_size * config.training.log_every
    return {
        "seed": config.training.seed,
        "steps": training[-1]["step"],
        "series": training[-1]["step"] * config.training.batch_size,
        "minutes": round(sum(series / line["series_per_second"] for line in training) / 60, 1),
        "checkpoint_step": chosen["step"],
        "validation_loss": round(chosen["loss"], 5),
    }


def _processor() -> str:
    """Name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of a training run")
    parser.add_argument("--parents", type=Path, nargs="+", default=(), help="runs or weights that the run started from")
    parser.add_argument("--average-with", type=Path, help="a parent whose parameters are averaged with the run's")
    parser.add_argument("--latest", action="store_true", help="take the newest checkpoint instead of the best one")
    parser.add_argument("--purpose", default="", help="description of the weights in `fimjax models`")
    parser.add_argument("--out", type=Path, default=WEIGHTS / DEFAULT, help="folder of the weights")
    arguments = parser.parse_args()
    which: Which = "latest" if arguments.latest else "best"
    bundle(arguments.run, arguments.out, which, arguments.purpose, arguments.parents, arguments.average_with)
    size = sum(file.stat().st_size for file in arguments.out.iterdir()) / 1e6
    print(f"{arguments.out}: {size:.1f} MB; log: {log_path(arguments.out)}")


if __name__ == "__main__":
    main()
