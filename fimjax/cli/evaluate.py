"""`fimjax evaluate`: scores models on the benchmark's data sets and writes tables and a report."""

import dataclasses
import io
import os
import signal
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import tyro
from rich.console import Console

from fimjax.errors import EvaluationError
from fimjax.evaluation.baselines.bundled import bundled_series
from fimjax.evaluation.baselines.fits import statistical_forecasts
from fimjax.evaluation.baselines.statistical import COMBINED, SINGLE
from fimjax.evaluation.datasets.catalog import CATALOG, dataset_info, is_known
from fimjax.evaluation.datasets.dataset import Dataset, differences_from_table3
from fimjax.evaluation.datasets.folder import data_folder, load_dataset, manifest_differences
from fimjax.evaluation.datasets.sampling import take_sample
from fimjax.evaluation.forecasts import AllForecasts, Forecasts
from fimjax.evaluation.registry import find_models
from fimjax.evaluation.report.agreement import agreement_with_fev, agreement_with_paper
from fimjax.evaluation.report.comparison import compare_with_published, comparison_note
from fimjax.evaluation.report.tables import FLAG, Resampled, mase_table, scrps_table, summary
from fimjax.evaluation.runner import run_benchmark, to_frame, write_metrics
from fimjax.files import replacing, user_cache

OUTPUTS = (
    "metrics.csv",
    "metrics.json",
    "summary.csv",
    "comparison.csv",
    "table1_scrps.csv",
    "table4_mase.csv",
    "agreement_paper.csv",
    "agreement_fev.csv",
    "report.html",
)
"""All files that an evaluation may write, except forecasts."""

MISTAKE, INTERRUPTED = 2, 130
"""Exit codes of a run that failed, and of one that Ctrl-C or SIGTERM ended."""


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Evaluate forecasters on M1, M3, M4 and Tourism, next to statistical models."""

    models: Annotated[str, tyro.conf.arg(metavar="A,B,...")]
    """Models to evaluate: fim or the name of other bundled weights; fim:calibrated for calibrated intervals; a
    statistical model (naive, seasonal_naive, auto_arima, auto_ets, auto_ces, dynamic_optimized_theta, sicoum,
    sicoum_narrow); the folder of a training run; or package.module:object with the forecasting interface. Write
    label=model to choose the name in the tables."""
    datasets: Annotated[str, tyro.conf.arg(metavar="A,B,...")] = "all"
    """Names of data sets or of whole competitions (m3), or all."""
    out: Path = Path("results")
    """Folder for forecasts, tables and report."""
    data: Path | None = None
    """Folder with the data sets. Default: the environment variable FIMJAX_DATA, else the user's cache folder."""
    cache: Path | None = None
    """Folder for the fits of statistical models. Default: a folder in the user's cache folder."""
    sample: int | None = None
    """Evaluate a stratified sample of this many series of each larger data set."""
    seed: int = 0
    """Seed of samples and bootstrap intervals."""
    bundled_scores: bool = False
    """Use the scores of statistical models that ship with fimjax, on the same series, instead of fitting them."""
    processes: int | None = None
    """Number of processes that fit statistical models. Default: one a core."""
    trained_on: Annotated[tuple[str, ...], tyro.conf.arg(metavar="MODEL:DATASET")] = ()
    """Mark a model as trained on a data set or a whole competition."""
    report: bool = True
    """Write the HTML report (needs matplotlib)."""


def split(text: str, argument: str) -> list[str]:
    """Splits a comma-separated list."""
    items = [item.strip() for item in text.split(",") if item.strip()]
    if not items:
        raise EvaluationError(f"{argument}: the list is empty")
    return items


def dataset_names(text: str) -> list[str]:
    """Expands a list of data sets, competitions or `all`; each data set occurs once, in the user's order."""
    names = []
    for item in split(text, "datasets"):
        group = [name for name, info in CATALOG.items() if item in ("all", info.competition)]
        names += group or [dataset_info(item).name]
    return list(dict.fromkeys(names))


def read_trained_on(items: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Groups MODEL:DATASET pairs by model."""
    trained_on: dict[str, tuple[str, ...]] = {}
    for item in items:
        model, colon, dataset = item.rpartition(":")
        if not colon or not is_known(dataset):
            raise EvaluationError(
                f"trained-on: {item!r} is not MODEL:DATASET with a data set or competition of the benchmark"
            )
        trained_on[model] = (*trained_on.get(model, ()), dataset)
    return trained_on


def load_datasets(
    arguments: Arguments, names: list[str], statistical: list[str], console: Console
) -> Iterator[Dataset]:
    """Loads and samples one data set after the other, and prints where it differs from table 3."""
    for name in names:
        dataset = load_dataset(name, arguments.data, console=console)
        for difference in (*manifest_differences(arguments.data, dataset.info), *differences_from_table3(dataset)):
            console.print(f"note: {difference}", markup=False, soft_wrap=True)
        if arguments.bundled_scores and arguments.sample is None and statistical:
            yield bundled_series(dataset, statistical)
        else:
            yield take_sample(dataset, arguments.sample, arguments.seed)


def check(arguments: Arguments) -> None:
    """Rejects settings that would otherwise fail only after hours."""
    if arguments.sample is not None and arguments.sample < 1:
        raise EvaluationError(f"sample: {arguments.sample} is not a number of series")
    if arguments.processes is not None and arguments.processes < 1:
        raise EvaluationError(f"processes: {arguments.processes} is not a number of processes")
    if arguments.seed < 0:
        raise EvaluationError(f"seed: {arguments.seed} is negative")
    data_folder(arguments.data)
    for folder in (arguments.out, arguments.cache or user_cache()):
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()


def evaluate(arguments: Arguments, console: Console) -> None:
    """Runs the benchmark and writes its results."""
    names = dataset_names(arguments.datasets)
    trained_on = read_trained_on(arguments.trained_on)
    models = find_models(split(arguments.models, "models"), (*SINGLE, *COMBINED), trained_on)
    check(arguments)
    out, fits = arguments.out, arguments.cache or user_cache() / "fits"

    def fit(model: str, dataset: Dataset) -> Forecasts:
        return statistical_forecasts(model, dataset, fits, processes=arguments.processes, console=console)

    rows, all_forecasts, resampled = [], {}, {}
    datasets = load_datasets(arguments, names, [model.name for model in models if model.is_statistical], console)
    for result in run_benchmark(models, datasets, None if arguments.bundled_scores else fit, out, arguments.seed):
        key = result.dataset.info.name, result.model.name
        rows.append(result.row)
        resampled[key] = result.resampled
        if result.forecasts is not None:
            all_forecasts[key] = (result.dataset, result.forecasts)
        console.print(describe(result.row), markup=False, highlight=False, soft_wrap=True)
    write_results(to_frame(rows), all_forecasts, resampled, arguments)


def write_results(
    metrics: pd.DataFrame, all_forecasts: AllForecasts, resampled: Resampled, arguments: Arguments
) -> None:
    """Writes metrics, tables and report, and deletes files of an earlier evaluation that it did not replace."""
    out, tables = arguments.out, make_tables(metrics, resampled)
    written = write_metrics(metrics, out)
    for file, (_, _, table) in tables.items():
        written.append(out / f"{file}.csv")
        with replacing(written[-1]) as scratch:
            table.to_csv(scratch, index=False, float_format="%.4f")
    if arguments.report:
        from fimjax.evaluation.report.report import write_report

        written.append(out / "report.html")
        write_report(metrics, all_forecasts, list(tables.values()), written[-1])
    for stale in (out / name for name in OUTPUTS):
        if stale not in written:
            stale.unlink(missing_ok=True)
    print_summary(tables["summary"][2])
    if "comparison" in tables:
        print_comparison(*tables["comparison"])
    print(f"wrote {', '.join(path.name for path in written)} and forecasts/ to {out}")


def describe(row: dict[str, Any]) -> str:
    """Describes a result in one line."""
    size = f"{row['series']:,} of {row['population']:,} series"
    fallbacks = f", {row['fallbacks']} fallbacks" if row["fallbacks"] else ""
    flag = f" {FLAG} trained on it" if row["trained_on"] else ""
    return (
        f"{row['dataset']:<18}{row['model']:<24}sCRPS {row['scrps']:.4f}  MASE {row['mase']:6.3f}  "
        f"80 % covers {100 * row['coverage_80']:2.0f} %  ({size}{fallbacks}, {row['source']}){flag}"
    )


def make_tables(metrics: pd.DataFrame, resampled: Resampled) -> dict[str, tuple[str, str, pd.DataFrame]]:
    """Makes title, note and cells of each table, by the name of its file."""
    flag = f"{FLAG} marks models that were trained on the data set"
    tables = {
        "summary": ("Summary", f"Over the data sets that all models have; {flag}.", summary(metrics, resampled)),
    }
    comparison = compare_with_published(metrics)
    if len(comparison):
        tables["comparison"] = ("Comparison with published scores", comparison_note(metrics), comparison)
    tables |= {
        "table1_scrps": ("sCRPS (the paper's table 1)", f"Lower is better; {flag}.", scrps_table(metrics)),
        "table4_mase": (
            "Pooled MASE (the paper's table 4)",
            f"Errors relative to the last-value forecast; lower is better; {flag}.",
            mase_table(metrics),
        ),
    }
    checks = {
        "agreement_paper": ("Our statistical models and the paper's", agreement_with_paper(metrics)),
        "agreement_fev": ("Our statistical models and fev's", agreement_with_fev(metrics)),
    }
    for name, (title, table) in checks.items():
        if len(table):
            tables[name] = (title, "The same models, fitted by us and as published.", table)
    return tables


def print_summary(table: pd.DataFrame) -> None:
    """Prints the columns of the summary that fit a terminal."""
    short = {
        "model": "model",
        "scrps, weighted": "sCRPS",
        "mase, weighted": "MASE",
        "scrps / sicoum": "sCRPS/SiCoUM",
        "mase / seasonal_naive": "MASE/SNaive",
        "ahead of sicoum": "ahead",
        "coverage difference": "coverage error",
        "series per second": "series/s",
    }
    table = table[[column for column in short if column in table.columns]].rename(columns=short)
    print(table.to_string(index=False, float_format="{:.3f}".format))


def print_comparison(title: str, note: str, table: pd.DataFrame) -> None:
    """Prints the comparison with published scores and its note."""
    print(f"\n{title}\n{table.set_index('measure').rename_axis(None).to_string()}\n{textwrap.fill(note, 100)}\n")


def main(argv: list[str] | None = None, prog: str = "fimjax evaluate") -> int:
    """Runs an evaluation and returns the exit code.

    Args:
        argv: arguments; by default those of the process.
        prog: name of the command in its help and error messages.
    """
    arguments = tyro.cli(Arguments, prog=prog, args=argv)
    console = Console(stderr=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends the run like Ctrl-C
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # some terminals have no †
    try:
        evaluate(arguments, console)
    except EvaluationError as error:
        return fail(prog, str(error), MISTAKE)
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # otherwise the interpreter prints an error when it exits
    except OSError as error:
        return fail(prog, f"{error.filename}: {error.strerror}" if error.filename else str(error), MISTAKE)
    except KeyboardInterrupt:
        return fail(prog, "interrupted; the same command continues from here", INTERRUPTED)
    return 0


def fail(prog: str, reason: str, code: int) -> int:
    """Prints why an evaluation ended and returns the exit code."""
    print(f"{prog}: {reason}", file=sys.stderr)
    return code
