"""What does each family of the prior contribute? One small network is trained without each family, and with each alone.

`python -m benchmarks.ablation --train runs/ablation` trains the variants, one per core, and stores their backtests in
the training parts of M1 and M4 (`research.development`); it continues where it stopped. `python -m benchmarks.ablation`
prints the table from the stored results, and `--picture` draws it.

The network is N-BEATS of `configs/small_nbeats.py`, the fastest to train. The whole prior is trained with several
seeds, because differences smaller than theirs mean nothing.
"""

import argparse
import concurrent.futures
import dataclasses
import itertools
import os
import queue
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.processes import ROOT
from benchmarks.table import layout
from configs.small_nbeats import get_config
from fimjax.evaluation.metrics import geometric_mean
from fimjax.files import replacing

RESULTS = Path(__file__).parent / "results" / "ablation.csv"
CONFIG, STEPS, SEEDS = "configs/small_nbeats.py", 1_500, 3
SAMPLE = 250
"""Series of each data set."""

FULL = "the whole prior"
WEIGHTS = {name: weight for name, weight in dataclasses.asdict(get_config().prior.weights).items() if weight}
FAMILIES = tuple(WEIGHTS)

KEY = ["family", "kind", "seed"]


@dataclasses.dataclass(frozen=True)
class Variant:
    """A prior to train with."""

    family: str
    kind: str
    """'without' or 'alone'; '' for the whole prior."""
    seed: int = 0

    @property
    def name(self) -> str:
        return f"{self.kind or 'full'}-{self.family.replace(' ', '_')}-{self.seed}"

    def overrides(self) -> list[str]:
        """The arguments of train.py for this prior."""
        changed = {"without": [self.family], "alone": [f for f in FAMILIES if f != self.family]}.get(self.kind, [])
        pairs = [(f"--prior.weights.{family.replace('_', '-')}", "0") for family in changed]
        if self.kind == "alone":
            pairs.append((f"--prior.weights.{self.family.replace('_', '-')}", "1"))
        return ["--training.seed", str(self.seed), *itertools.chain.from_iterable(pairs)]


def variants() -> list[Variant]:
    """All variants; the whole prior, with which the others are compared, comes first."""
    return (
        [Variant(FULL, "", seed) for seed in range(SEEDS)]
        + [Variant(family, "without") for family in FAMILIES]
        + [Variant(family, "alone") for family in FAMILIES]
    )


def train(variant: Variant, folder: Path, steps: int, core: int) -> None:
    """Trains a variant on one core; continues from its last checkpoint."""
    command = [sys.executable, "train.py", "--config", CONFIG, "--run", str(folder), "--resume", "--no-picture"]
    command += ["--training.steps", str(steps), "--training.validate-every", str(steps), *variant.overrides()]
    _run(command, folder, core)


def evaluate(folder: Path, core: int) -> pd.DataFrame:
    """Backtests a run in the training parts of M1 and M4."""
    table = folder / "development.csv"
    command = [sys.executable, "-m", "research.development", "--model", str(folder), "--sample", str(SAMPLE)]
    _run([*command, "--output", str(table)], folder, core)
    return pd.read_csv(table)


def _run(command: list[str], folder: Path, core: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    cores = sorted(os.sched_getaffinity(0))
    own = {cores[core % len(cores)]}
    with (folder / "log.txt").open("a") as log:
        done = subprocess.run(
            command, cwd=ROOT, stdout=log, stderr=log, check=False, preexec_fn=lambda: os.sched_setaffinity(0, own)
        )
    if done.returncode:
        raise RuntimeError(f"{folder.name} failed; see {log.name}")


def train_all(folder: Path, steps: int) -> None:
    """Trains and evaluates the variants that have no results yet, one per core."""
    finished = set(read_results()["variant"]) if RESULTS.is_file() else set()
    cores: queue.Queue[int] = queue.Queue()
    workers = len(os.sched_getaffinity(0))
    for core in range(workers):
        cores.put(core)

    def work(variant: Variant) -> tuple[Variant, pd.DataFrame]:
        core = cores.get()
        try:
            run = folder / variant.name
            train(variant, run, steps, core)
            return variant, evaluate(run, core)
        finally:
            cores.put(core)

    todo = [variant for variant in variants() if variant.name not in finished]
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for future in concurrent.futures.as_completed([pool.submit(work, variant) for variant in todo]):
            variant, found = future.result()
            keep(found.assign(variant=variant.name, family=variant.family, kind=variant.kind, seed=variant.seed))
            print(f"{variant.name}: {score(found)['sCRPS/SNaive']:.4f}", flush=True)


def keep(rows: pd.DataFrame) -> None:
    """Adds rows to the stored results."""
    columns = ["variant", *KEY, "dataset", "sCRPS/SNaive", "MASE/SNaive", "coverage 80"]
    earlier = [read_results()] if RESULTS.is_file() else []
    with replacing(RESULTS) as scratch:
        pd.concat([*earlier, rows[columns]]).to_csv(scratch, index=False, float_format="%.5g")


def read_results() -> pd.DataFrame:
    return pd.read_csv(RESULTS, keep_default_na=False)


def score(rows: pd.DataFrame) -> pd.Series:
    """Means of a run's scores over the data sets."""
    means = geometric_mean(rows[["sCRPS/SNaive", "MASE/SNaive"]], axis=0)
    means["coverage error 80 %"] = (rows["coverage 80"] - 0.8).abs().mean()
    return means


def summarise(results: pd.DataFrame) -> pd.DataFrame:
    """One row per run: the whole prior's seeds, then each family without and alone."""
    rows = results.groupby(["variant", *KEY], sort=False)[["sCRPS/SNaive", "MASE/SNaive", "coverage 80"]]
    return rows.apply(score).reset_index()


def by_family(runs: pd.DataFrame) -> pd.DataFrame:
    """One row a family: its weight, scores without it and with it alone, and the increase of sCRPS without it."""
    full = runs[runs["kind"] == ""]
    base = full[["sCRPS/SNaive", "MASE/SNaive", "coverage error 80 %"]].mean()
    table = pd.DataFrame(index=pd.Index(FAMILIES, name="family"))
    table["weight"] = [f"{WEIGHTS[family]:g}" for family in FAMILIES]
    for kind in ("without", "alone"):
        part = runs[runs["kind"] == kind].set_index("family").reindex(FAMILIES)
        for column in base.index:
            table[f"{kind}: {column}"] = part[column]
    table["sCRPS change without it"] = table["without: sCRPS/SNaive"] / base["sCRPS/SNaive"] - 1
    return table.sort_values("sCRPS change without it", ascending=False)


def report(results: pd.DataFrame) -> str:
    """The table, after the scores of the whole prior with the spread over its seeds."""
    runs = summarise(results)
    full = runs[runs["kind"] == ""]
    lines = [f"{FULL}, {len(full)} seeds (lowest to highest):"]
    for column in ("sCRPS/SNaive", "MASE/SNaive", "coverage error 80 %"):
        lines.append(f"- {column} {full[column].mean():.4f} ({full[column].min():.4f} to {full[column].max():.4f})")
    table = by_family(runs)
    cost = table["sCRPS change without it"].map(lambda x: "" if np.isnan(x) else f"{100 * x:+.1f} %")
    text = table.drop(columns=["weight", "sCRPS change without it"]).map(lambda x: "" if np.isnan(x) else f"{x:.3f}")
    text.insert(0, "weight", table["weight"])
    text["sCRPS change without it"] = cost
    text = text.reset_index()
    return "\n".join(lines) + "\n\n" + layout(list(text.columns), text.values.tolist())


def without_hourly(results: pd.DataFrame) -> pd.DataFrame:
    """The results without M4's hourly series, on which such short runs are far behind the seasonal naive forecast."""
    return results[results["dataset"] != "m4_hourly"]


def draw(results: pd.DataFrame, picture: Path) -> None:
    """Draws sCRPS without each family and with it alone, with the range of the whole prior's seeds."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

    runs = summarise(results)
    full, table = runs.loc[runs["kind"] == "", "sCRPS/SNaive"], by_family(runs).iloc[::-1]
    figure = Figure(figsize=(9.0, 5.0), layout="constrained")
    without, alone = figure.subplots(1, 2, sharey=True)
    for axes, kind, title in ((without, "without", "left out"), (alone, "alone", "alone")):
        axes.axvspan(full.min(), full.max(), color="#0072b2", alpha=0.2, linewidth=0)
        axes.axvline(full.mean(), color="#0072b2", linewidth=1, label="whole prior, range over seeds")
        axes.scatter(table[f"{kind}: sCRPS/SNaive"], np.arange(len(table)), color="#d55e00", zorder=3)
        axes.set_title(f"each family {title}", loc="left", fontsize="medium")
        axes.grid(axis="y", color="#d8dee4")
        axes.spines[["top", "right"]].set_visible(False)
    without.set_yticks(np.arange(len(table)), [f"{name} ({table.loc[name, 'weight']})" for name in table.index])
    alone.set_xscale("log")
    alone.xaxis.set_major_locator(FixedLocator([0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0]))
    alone.xaxis.set_major_formatter("{x:g}")
    alone.xaxis.set_minor_locator(NullLocator())
    without.xaxis.set_major_locator(MaxNLocator(5))
    figure.supxlabel("sCRPS / SeasonalNaive, without hourly series", fontsize="medium")
    figure.legend(*without.get_legend_handles_labels(), loc="outside upper center", fontsize="small", frameon=False)
    figure.savefig(picture, dpi=110)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", type=Path, help="folder for the runs; variants without results are trained")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"optimiser steps of each run (default: {STEPS:,})")
    parser.add_argument("--picture", type=Path, help="PNG file for a chart of the table (needs matplotlib)")
    arguments = parser.parse_args()
    try:
        if arguments.train:
            train_all(arguments.train.absolute(), arguments.steps)
        results = read_results()
        print(f"{report(results)}\n\nWithout hourly series, {report(without_hourly(results))}")
        if arguments.picture:
            draw(without_hourly(results), arguments.picture)
    except (OSError, RuntimeError) as error:
        print(f"ablation: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
