"""`fimjax forecast`, `interpolate`, `backtest` and `anomalies`: series from a file to a table and a figure."""

import argparse
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from fimjax.cli.columns import find_columns, is_id_name, is_time_name
from fimjax.cli.console import CommandError, say, showing_progress
from fimjax.cli.files import (
    STANDARD,
    check_figure,
    check_standard_output,
    check_table,
    read_table,
    write_table,
)
from fimjax.cli.models import load_model
from fimjax.cli.series import FileSeries, describe, read_series
from fimjax.errors import InputError, PretrainedError
from fimjax.files import replacing
from fimjax.frames.tables import CUTOFF
from fimjax.inference.quantiles import read_bounds, read_output_spec
from fimjax.plotting.plot import plot

if TYPE_CHECKING:
    from fimjax.forecaster import Forecaster


def predict_file(arguments: argparse.Namespace) -> None:
    """Reads series, predicts and writes.

    Options are checked before the file is read, and the file before the model is loaded.
    """
    output = None if arguments.output == STANDARD else Path(arguments.output)
    figure = None if arguments.plot is None else Path(arguments.plot)
    check_outputs(arguments.input, output, figure)
    try:
        read_output_spec(arguments.level, getattr(arguments, "quantiles", None))
        read_bounds(arguments.nonnegative, arguments.bounds)
        series = read_file(arguments)
        model = load_model(arguments.model)
        counted = "windows" if arguments.command in ("backtest", "anomalies") else "series"
        with showing_progress(arguments.quiet, counted) as progress:
            model.progress = progress
            predictions = predict(model, series, arguments)
        write(predictions, series, arguments, output, figure)
    except InputError as error:
        raise CommandError(str(error)) from error


def check_outputs(source: str, output: Path | None, figure: Path | None) -> None:
    """Refuses outputs that cannot be written."""
    if output is None:
        check_standard_output()
    else:
        check_table(output)
        if source != STANDARD and output.exists() and Path(source).exists() and output.samefile(source):
            raise CommandError(f"--output: {output} is the input file and would be overwritten")
    if figure is not None:
        check_figure(figure)


def read_file(arguments: argparse.Namespace) -> FileSeries:
    """Reads the series of a file, and prints what was found."""
    date_format = arguments.date_format
    is_date = lambda name: date_format is not None and is_time_name(name, arguments.time)  # 2020.10 is not 2020.1
    is_text = lambda name: is_id_name(name, arguments.id) or is_date(name)
    table = read_table(arguments.input, arguments.format, is_text)
    columns = find_columns(table.frame, arguments.id, arguments.time, arguments.target, date_format)
    name = "series" if arguments.input == STANDARD else Path(arguments.input).name.partition(".")[0]
    series = read_series(table, columns, name, arguments.freq, arguments.season_length, date_format)
    if not arguments.quiet:
        if series.was_sorted:
            say("the rows of the file are not sorted by time: they were sorted")
        if series.times.has_offsets:
            say(f"column {columns.time!r} has several offsets from UTC: its times are converted to UTC")
        say(describe(columns, series.panel, table))
    return series


def predict(model: "Forecaster", series: FileSeries, arguments: argparse.Namespace) -> pd.DataFrame:
    """Calls the method of the forecaster that a command stands for, with series that were read already."""
    bounds = arguments.bounds and tuple(arguments.bounds)
    known = {"nonnegative": arguments.nonnegative, "bounds": bounds}
    try:
        if arguments.command == "anomalies":
            return model.detect_anomalies(
                series.panel, arguments.level, h=arguments.h, n_windows=arguments.windows, **known
            )
        known |= {"level": arguments.level, "quantiles": arguments.quantiles}
        if arguments.command == "interpolate":
            return model.interpolate(series.panel, **known)
        if arguments.command == "backtest":
            return model.cross_validation(
                series.panel, arguments.h, n_windows=arguments.windows, step_size=arguments.step, **known
            )
        return model.forecast(series.panel, arguments.h, calibrate=arguments.calibrate, **known)
    except PretrainedError as error:
        raise CommandError(f"--model: {error}") from error


def write(
    predictions: pd.DataFrame,
    series: FileSeries,
    arguments: argparse.Namespace,
    output: Path | None,
    figure: Path | None,
) -> None:
    """Writes the table and the figure; both files appear only when both are complete."""
    schema = series.panel.schema
    spelled, exact = series.spell(predictions), (schema.id_col, schema.time_col, schema.target_col, CUTOFF)
    with contextlib.ExitStack() as files:
        if figure is not None:
            drawn = plot(series.panel, predictions, max_ids=arguments.max_plots)
            drawn.savefig(files.enter_context(replacing(figure)), format=figure.suffix[1:].lower())
        if output is not None:
            write_table(spelled, output, files.enter_context(replacing(output)), exact)
    if output is None:
        write_table(spelled, None, exact=exact)
    written = [str(path) for path in (output, figure) if path is not None]
    if written and not arguments.quiet:
        say(f"wrote {' and '.join(written)}")
