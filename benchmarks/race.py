"""FIM, N-BEATS, MQCNN, PatchTST and Chronos-Bolt with one prior, one trainer, one size and twenty minutes each.

`make race` trains them all, forecasts every series of every data set and stores the results:

    python evaluate.py --models runs/race/fim-0,...,seasonal_naive --datasets all --out runs/race/results
    python -m benchmarks.race --runs runs/race --metrics runs/race/results/metrics.csv

`python -m benchmarks.race` prints the paper's tables 1 and 4 with these networks from the stored results. The folder of
a run has the name of its network and its seed: fim-0, patchtst-2.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.table import layout
from fimjax.evaluation.published import STATISTICAL, read_published
from fimjax.evaluation.report.comparison import compare_with_published
from fimjax.evaluation.report.tables import mase_table, scrps_table
from fimjax.files import replacing

RESULTS = Path(__file__).parent / "results"
METRICS, RUNS = RESULTS / "race.csv", RESULTS / "race_runs.csv"

NAMES = {"fim": "FIM", "nbeats": "NBEATS", "mqcnn": "MQCNN", "patchtst": "PatchTST", "chronos_bolt": "Chronos-Bolt"}
"""Names in the tables by names of configs and runs, in the order of the tables."""

STATISTICAL_MODELS = ("seasonal_naive", "auto_arima", "auto_ets", "auto_ces", "dynamic_optimized_theta", "sicoum")

SCORES = ("scrps", "nd", "mase", "mase_pooled", "mase_pooled_naive", "smape", "coverage_80", "coverage_95")
COUNTS = ("series", "population", "trained_on")

UNDISTURBED = 0.75
"""Quantile of a run's logged speeds that counts as its speed, because other load only slows a run down."""


def split_name(run: str) -> tuple[str, int]:
    """Network and seed from the name of a run, such as fim-0."""
    network, _, seed = run.rpartition("-")
    if network not in NAMES or not seed.isdigit():
        raise ValueError(f"run {run!r}: its name is not one of {', '.join(NAMES)} with a seed, such as fim-0")
    return network, int(seed)


def read_run(folder: Path) -> dict[str, object]:
    """Reads size, steps, speed and validation error of a finished run."""
    network, seed = split_name(folder.name)
    config = json.loads((folder / "config.json").read_text())
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    rates = np.array([line["series_per_second"] for line in lines if line["phase"] == "train"])
    rate = np.quantile(rates, UNDISTURBED)
    validations = [line for line in lines if line["phase"] == "validation"]
    steps, batch = config["training"]["steps"], config["training"]["batch_size"]
    if not validations or validations[-1]["step"] < steps:
        raise ValueError(f"run {folder}: not finished")
    return {
        "network": network,
        "seed": seed,
        "parameters": count_parameters(folder),
        "steps": steps,
        "series": steps * batch,
        "series_per_second": round(float(rate)),
        "minutes": round(steps * batch / float(rate) / 60, 1),
        "minutes_as_run": round(float(np.sum(config["training"]["log_every"] * batch / rates)) / 60, 1),
        "validation_mae": round(validations[-1]["mae"], 4),
    }


def count_parameters(folder: Path) -> int:
    """Number of parameters of a run."""
    # Imported here because JAX takes seconds to import and printing does not need it.
    import jax

    from fimjax.forecaster import Forecaster

    return sum(x.size for x in jax.tree.leaves(Forecaster.from_pretrained(folder).params))


def collect(runs: Path, metrics: Path) -> None:
    """Stores the scores of these runs and facts about them in benchmarks/results."""
    table = pd.read_csv(metrics)
    table = table[table["model"].str.rpartition("-")[0].isin(NAMES) | (table["model"] == "seasonal_naive")]
    is_run = table["model"] != "seasonal_naive"
    table.insert(2, "training_seed", [split_name(m)[1] if r else None for m, r in zip(table["model"], is_run)])
    rows = [read_run(runs / name) for name in table.loc[is_run, "model"].unique()]
    table.loc[is_run, "model"] = [split_name(name)[0] for name in table.loc[is_run, "model"]]
    table = table[["dataset", "model", "training_seed", *SCORES, *COUNTS]].astype({"training_seed": "Int64"})
    with replacing(METRICS) as scratch:
        table.to_csv(scratch, index=False, float_format="%.6g")
    with replacing(RUNS) as scratch:
        pd.DataFrame(rows).to_csv(scratch, index=False)


def mean_over_seeds(table: pd.DataFrame) -> pd.DataFrame:
    """One row for each network and data set: the mean over seeds, with the lowest and highest as bounds."""
    groups = table.groupby(["dataset", "model"], sort=False)
    merged = groups[list(SCORES)].mean().join(groups[list(COUNTS)].first())
    several = groups.size() > 1
    for column in SCORES:
        merged[f"{column}_lo"] = groups[column].min().where(several)
        merged[f"{column}_hi"] = groups[column].max().where(several)
    return merged.reset_index()


def read_metrics() -> pd.DataFrame:
    """Scores of the networks in the format of metrics.csv, with their names in the tables."""
    table = mean_over_seeds(pd.read_csv(METRICS))
    return table.assign(model=table["model"].replace(NAMES))


def read_statistical() -> pd.DataFrame:
    """Bundled scores of the statistical models on their largest samples."""
    table = read_published(STATISTICAL)
    table = table[table["model"].isin(STATISTICAL_MODELS)].sort_values("series", kind="stable")
    return table.drop_duplicates(["dataset", "model"], keep="last")


def markdown(table: pd.DataFrame) -> str:
    return layout(list(table.columns), table.astype(str).values.tolist())


def runs_table() -> str:
    """Sizes of the networks and their training runs."""
    runs = pd.read_csv(RUNS)
    order = {name: i for i, name in enumerate(NAMES)}
    runs = runs.sort_values(
        ["network", "seed"], key=lambda column: column.map(order) if column.name == "network" else column
    )
    runs = runs.assign(network=runs["network"].map(NAMES))
    for column in ("parameters", "steps", "series", "series_per_second"):
        runs[column] = runs[column].map("{:,}".format)
    return markdown(runs.rename(columns=lambda name: name.replace("_", " ")))


def tables() -> str:
    """All tables."""
    networks = read_metrics()
    ours = networks[networks["model"] != "seasonal_naive"]
    in_order = ours.sort_values(
        "model", key=lambda c: c.map({n: i for i, n in enumerate(NAMES.values())}), kind="stable"
    )
    both = pd.concat([in_order, read_statistical()], ignore_index=True)
    datasets = networks["dataset"].unique()
    both = both.sort_values("dataset", key=lambda c: c.map({n: i for i, n in enumerate(datasets)}), kind="stable")
    naive = networks[networks["model"] == "seasonal_naive"]
    comparison = compare_with_published(pd.concat([in_order, naive], ignore_index=True))
    parts = {
        "The runs": runs_table(),
        "Comparison with published scores": markdown(comparison),
        "Table 1: sCRPS": markdown(scrps_table(both)),
        "Table 4: pooled MASE": markdown(mase_table(both)),
    }
    note = (
        "Brackets: the lowest and highest score over seeds for a network, the 95 % interval of a sample for a "
        "statistical model."
    )
    return "\n\n".join(f"{title}\n\n{table}" for title, table in parts.items()) + f"\n\n{note}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, help="folder of the runs whose scores are stored before printing")
    parser.add_argument("--metrics", type=Path, help="metrics.csv of their evaluation")
    arguments = parser.parse_args()
    if bool(arguments.runs) != bool(arguments.metrics):
        parser.error("--runs and --metrics go together")
    try:
        if arguments.runs:
            collect(arguments.runs, arguments.metrics)
        print(tables())
    except (OSError, ValueError) as error:
        print(f"race: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
