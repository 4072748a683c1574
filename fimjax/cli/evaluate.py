"""The command line of evaluation: which models, which data sets, and where the answers go."""

import dataclasses
import os
import signal
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pandas as pd
import tyro
from rich.console import Console

from fimjax.errors import EvaluationError
from fimjax.evaluation.baselines.committed import committed_series
from fimjax.evaluation.baselines.fits import statistical_forecasts
from fimjax.evaluation.baselines.statistical import COMBINED, SINGLE
from fimjax.evaluation.datasets.catalog import CATALOG, dataset_info, is_known
from fimjax.evaluation.datasets.dataset import Dataset, differences_from_table3
from fimjax.evaluation.datasets.folder import data_folder, load_dataset, manifest_differences
from fimjax.evaluation.datasets.sampling import take_sample
from fimjax.evaluation.forecasts import Forecasts
from fimjax.evaluation.registry import find_models
from fimjax.evaluation.report.agreement import agreement_with_fev, agreement_with_paper
from fimjax.evaluation.report.comparison import verdict, verdict_note
from fimjax.evaluation.report.tables import FLAG, Resampled, mase_table, scrps_table, summary
from fimjax.evaluation.runner import run_benchmark, to_frame, write_metrics
from fimjax.files import replacing, user_cache

OUTPUTS = (
    "metrics.csv",
    "metrics.json",
    "summary.csv",
    "verdict.csv",
    "table1_scrps.csv",
    "table4_mase.csv",
    "agreement_paper.csv",
    "agreement_fev.csv",
    "report.html",
)
"""All that an evaluation may write besides forecasts."""

Answers = dict[tuple[str, str], tuple[Dataset, Forecasts]]
"""Forecasts at hand, by data set and model."""

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
        if not colon or not is_known(dataset):
            raise EvaluationError(
                f"seen: {item!r} is not MODEL:DATASET with a data set or competition of the benchmark"
            )
        seen[model] = (*seen.get(model, ()), dataset)
    return seen


def load_all(arguments: Arguments, names: list[str], statistical: list[str], console: Console) -> Iterator[Dataset]:
    """The data sets, one after the other, sampled as asked for; differences from table 3 are told."""
    for name in names:
        dataset = load_dataset(name, arguments.data, console=console)
        for difference in (*manifest_differences(arguments.data, dataset.info), *differences_from_table3(dataset)):
            console.print(f"note: {difference}", markup=False, soft_wrap=True)
        if arguments.committed and arguments.sample is None and statistical:
            yield committed_series(dataset, statistical)
        else:
            yield take_sample(dataset, arguments.sample, arguments.seed)


def check(arguments: Arguments) -> None:
    """Refuses settings that would fail only after hours."""
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
    """Runs the benchmark and writes what it found."""
    names = dataset_names(arguments.datasets)
    contenders = find_models(split(arguments.models, "models"), (*SINGLE, *COMBINED), read_seen(arguments.seen))
    check(arguments)
    out, fits = arguments.out, arguments.cache or user_cache() / "fits"

    def fit(model: str, dataset: Dataset) -> Forecasts:
        return statistical_forecasts(model, dataset, fits, processes=arguments.processes, console=console)

    rows, answers, resampled = [], {}, {}
    datasets = load_all(arguments, names, [c.name for c in contenders if c.is_statistical], console)
    for answer in run_benchmark(contenders, datasets, None if arguments.committed else fit, out, arguments.seed):
        key = answer.dataset.info.name, answer.contender.name
        rows.append(answer.row)
        resampled[key] = answer.resampled
        if answer.forecasts is not None:
            answers[key] = (answer.dataset, answer.forecasts)
        console.print(describe(answer.row), markup=False, highlight=False, soft_wrap=True)
    write_results(to_frame(rows), answers, resampled, arguments)


def write_results(metrics: pd.DataFrame, answers: Answers, resampled: Resampled, arguments: Arguments) -> None:
    """Figures, tables and report; what an earlier evaluation left of them is replaced as a whole."""
    out, tables = arguments.out, all_tables(metrics, resampled)
    written = write_metrics(metrics, out)
    for file, (_, _, table) in tables.items():
        written.append(out / f"{file}.csv")
        with replacing(written[-1]) as scratch:
            table.to_csv(scratch, index=False, float_format="%.4f")
    if arguments.report:
        from fimjax.evaluation.report.report import write_report

        written.append(out / "report.html")
        write_report(metrics, answers, list(tables.values()), written[-1])
    for stale in (out / f"{name}" for name in OUTPUTS):
        if stale not in written:
            stale.unlink(missing_ok=True)
    show(tables["summary"][2])
    if "verdict" in tables:
        show_verdict(*tables["verdict"])
    print(f"wrote {', '.join(path.name for path in written)} and forecasts/ to {out}")


def describe(row: dict) -> str:
    """A row in a line of text."""
    size = f"{row['series']:,} of {row['population']:,} series"
    fallbacks = f", {row['fallbacks']} fallbacks" if row["fallbacks"] else ""
    flag = f" {FLAG} seen in training" if row["seen"] else ""
    return (
        f"{row['dataset']:<18}{row['model']:<24}sCRPS {row['scrps']:.4f}  MASE {row['mase']:6.3f}  "
        f"80 % covers {100 * row['coverage_80']:2.0f} %  ({size}{fallbacks}, {row['source']}){flag}"
    )


def all_tables(metrics: pd.DataFrame, resampled: Resampled) -> dict[str, tuple[str, str, pd.DataFrame]]:
    """Title, note and cells of each table, by the name of its file."""
    flag = f"{FLAG} marks models that saw the data set in training"
    tables = {
        "summary": ("Summary", f"Over the data sets that all models have; {flag}.", summary(metrics, resampled)),
    }
    judged = verdict(metrics)
    if len(judged):
        tables["verdict"] = ("Beside the published figures", verdict_note(metrics), judged)
    tables |= {
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


def show_verdict(title: str, note: str, table: pd.DataFrame) -> None:
    """Prints the verdict with its measures on the left, and how to read it below."""
    print(f"\n{title}\n{table.set_index('measure').rename_axis(None).to_string()}\n{textwrap.fill(note, 100)}\n")


def main(argv: list[str] | None = None) -> int:
    """Runs an evaluation; returns the exit code."""
    arguments = tyro.cli(Arguments, prog="evaluate.py", args=argv)
    console = Console(stderr=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as orderly as Ctrl-C
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # a terminal without † is no reason to fail
    try:
        evaluate(arguments, console)
    except EvaluationError as error:
        return fail(str(error), 2)
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # nobody reads any more, and the interpreter would complain when it ends
    except OSError as error:
        return fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), 2)
    except KeyboardInterrupt:
        return fail("interrupted; the same command goes on from here", INTERRUPTED)
    return 0


def fail(reason: str, code: int) -> int:
    """Says in a sentence why an evaluation ended, and returns the exit code."""
    print(f"evaluate.py: {reason}", file=sys.stderr)
    return code
