"""The command line of evaluation: which models, which data sets, and where the answers go."""

import dataclasses
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pandas as pd
import tyro
from rich.console import Console

from fimjax.evaluation.agreement import agreement_with_fev, agreement_with_paper
from fimjax.evaluation.benchmark import committed_sample, run_benchmark, to_frame, write_metrics
from fimjax.evaluation.catalog import CATALOG, EvaluationError, dataset_info
from fimjax.evaluation.contenders import find_contenders
from fimjax.evaluation.datasets import Dataset, differences_from_table3
from fimjax.evaluation.fits import statistical_forecasts
from fimjax.evaluation.folder import load_dataset, manifest_differences, user_cache
from fimjax.evaluation.forecasts import replacing
from fimjax.evaluation.sampling import take_sample
from fimjax.evaluation.statistical import COMBINED, SINGLE
from fimjax.evaluation.tables import FLAG, mase_table, scrps_table, summary

INTERRUPTED = 130
"""Exit code of a run that Ctrl-C or SIGTERM ended."""


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Evaluate forecasters on M1, M3, M4 and Tourism, against statistical models."""

    models: Annotated[str, tyro.conf.arg(metavar="A,B,...")]
    """Statistical models by name (naive, seasonal_naive, auto_arima, auto_ets, auto_ces, dynamic_optimized_theta,
    sicoum, sicoum_narrow), the folder of a training run, or package.module:object with the forecasting interface; as
    label=target under a name of your choice."""
    datasets: Annotated[str, tyro.conf.arg(metavar="A,B,...")] = "all"
    """Data sets by name, a whole competition (m3), or all."""
    out: Path = Path("results")
    """Folder for forecasts, figures, tables and report."""
    data: Path | None = None
    """Folder with the data sets; else the environment variable FIMJAX_DATA, else the user's cache folder."""
    cache: Path | None = None
    """Folder that keeps fits of statistical models; else one in the user's cache folder."""
    sample: int | None = None
    """Of larger data sets, take a stratified sample of this many series."""
    seed: int = 0
    """Seed of samples and of bootstrap intervals."""
    committed: bool = False
    """Take the statistical models' figures from those that ship with fimjax, on the same series, and fit nothing."""
    processes: int | None = None
    """Processes that fit; one for each core unless told."""
    seen: Annotated[tuple[str, ...], tyro.conf.arg(metavar="MODEL:DATASET")] = ()
    """Say that a model saw a data set, or a whole competition, in training."""
    report: bool = True
    """Write the HTML report (needs matplotlib)."""


def split(text: str, what: str) -> list[str]:
    """The items of a comma-separated list."""
    items = [item.strip() for item in text.split(",") if item.strip()]
    if not items:
        raise EvaluationError(f"{what}: the list is empty")
    return items


def dataset_names(text: str) -> list[str]:
    """Data sets by name, by competition, or all; each once, in the order asked for."""
    names = []
    for item in split(text, "datasets"):
        group = [name for name, info in CATALOG.items() if item in ("all", info.competition)]
        names += group or [dataset_info(item).name]
    return list(dict.fromkeys(names))


def read_seen(items: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """MODEL:DATASET pairs by model."""
    seen: dict[str, tuple[str, ...]] = {}
    for item in items:
        model, colon, dataset = item.rpartition(":")
        if not colon or not any(dataset in (name, info.competition) for name, info in CATALOG.items()):
            raise EvaluationError(
                f"seen: {item!r} is not MODEL:DATASET with a data set or competition of the benchmark"
            )
        seen[model] = (*seen.get(model, ()), dataset)
    return seen


def load_all(arguments: Arguments, names: list[str], console: Console) -> Iterator[Dataset]:
    """The data sets, one after the other, sampled as asked for; differences from table 3 are told."""
    for name in names:
        dataset = load_dataset(name, arguments.data, console=console)
        for difference in (*manifest_differences(arguments.data, dataset.info), *differences_from_table3(dataset)):
            console.print(f"note: {difference}")
        size = committed_sample(name) if arguments.committed and arguments.sample is None else arguments.sample
        yield take_sample(dataset, size, arguments.seed)


def evaluate(arguments: Arguments, console: Console) -> None:
    """Runs the benchmark and writes what it found."""
    if arguments.sample is not None and arguments.sample < 1:
        raise EvaluationError(f"sample: {arguments.sample} is not a number of series")
    names = dataset_names(arguments.datasets)
    contenders = find_contenders(split(arguments.models, "models"), (*SINGLE, *COMBINED), read_seen(arguments.seen))
    fits = arguments.cache or user_cache() / "fits"

    def fit(model: str, dataset: Dataset):
        return statistical_forecasts(model, dataset, fits, processes=arguments.processes, console=console)

    rows, answers = [], {}
    datasets = load_all(arguments, names, console)
    for answer in run_benchmark(
        contenders, datasets, None if arguments.committed else fit, arguments.out, arguments.seed
    ):
        rows.append(answer.row)
        write_metrics(to_frame(rows), arguments.out)
        if answer.forecasts is not None:
            answers[answer.dataset.info.name, answer.contender.name] = (answer.dataset, answer.forecasts)
        console.print(describe(answer.row), highlight=False, soft_wrap=True)
    metrics = to_frame(rows)
    tables = all_tables(metrics)
    for file, (_, _, table) in tables.items():
        with replacing(arguments.out / f"{file}.csv") as scratch:
            table.to_csv(scratch, index=False, float_format="%.4f")
    if arguments.report:
        from fimjax.evaluation.report import write_report

        write_report(metrics, answers, list(tables.values()), arguments.out / "report.html")
    show(tables["summary"][2])
    print(f"wrote {arguments.out}: " + ", ".join(sorted(p.name for p in arguments.out.iterdir() if p.name[0] != ".")))


def describe(row: dict) -> str:
    """A row in a line of text."""
    size = f"{row['series']:,} of {row['population']:,} series"
    fallbacks = f", {row['fallbacks']} fallbacks" if row["fallbacks"] else ""
    flag = f" {FLAG} seen in training" if row["seen"] else ""
    return (
        f"{row['dataset']:<18}{row['model']:<24}sCRPS {row['scrps']:.4f}  MASE {row['mase']:6.3f}  "
        f"80 % covers {100 * row['coverage_80']:2.0f} %  ({size}{fallbacks}, {row['source']}){flag}"
    )


def all_tables(metrics: pd.DataFrame) -> dict[str, tuple[str, str, pd.DataFrame]]:
    """Title, note and cells of each table, by the name of its file."""
    flag = f"{FLAG} marks models that saw the data set in training"
    tables = {
        "summary": ("Summary", f"Over the data sets that all models have; {flag}.", summary(metrics)),
        "table1_scrps": ("sCRPS (the paper's table 1)", f"Lower is better; {flag}.", scrps_table(metrics)),
        "table4_mase": (
            "Pooled MASE (the paper's table 4)",
            f"Errors over those of the last-value forecast; lower is better; {flag}.",
            mase_table(metrics),
        ),
    }
    checks = {
        "agreement_paper": ("Our statistical models and the paper's", agreement_with_paper(metrics)),
        "agreement_fev": ("Our statistical models and fev's", agreement_with_fev(metrics)),
    }
    for name, (title, table) in checks.items():
        if len(table):
            tables[name] = (title, "The same models, fitted here and published elsewhere.", table)
    return tables


def show(table: pd.DataFrame) -> None:
    """Prints the summary for the eye: the columns that fit a terminal."""
    short = {
        "model": "model",
        "scrps, weighted": "sCRPS",
        "mase, weighted": "MASE",
        "scrps / sicoum": "sCRPS/SiCoUM",
        "mase / seasonal_naive": "MASE/SNaive",
        "ahead of sicoum": "ahead",
        "coverage difference": "off coverage",
        "series per second": "series/s",
    }
    table = table[[column for column in short if column in table.columns]].rename(columns=short)
    print(table.to_string(index=False, float_format="{:.3f}".format))


def main(argv: list[str] | None = None) -> int:
    """Runs an evaluation; returns the exit code."""
    arguments = tyro.cli(Arguments, prog="evaluate.py", args=argv)
    console = Console(stderr=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as orderly as Ctrl-C
    try:
        evaluate(arguments, console)
    except EvaluationError as error:
        print(f"evaluate.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("evaluate.py: interrupted; the same command goes on from here", file=sys.stderr)
        return INTERRUPTED
    return 0
