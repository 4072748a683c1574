"""The commands that read series from a file and write a table of answers, and perhaps a picture of it."""

import argparse
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from fimjax.cli.files import (
    STANDARD,
    check_picture,
    check_standard_output,
    check_table,
    read_table,
    write_table,
)
from fimjax.cli.guess import guess_roles, is_id_name, is_time_name
from fimjax.cli.messages import CommandError, say
from fimjax.cli.model import load_model
from fimjax.cli.progress import showing_progress
from fimjax.cli.series import Series, describe, read_series
from fimjax.errors import InputError
from fimjax.files import replacing
from fimjax.frames.inputs import read_inputs
from fimjax.inference.output import read_bounds, read_output_spec

if TYPE_CHECKING:
    from fimjax.forecaster import Forecaster


def answer_file(arguments: argparse.Namespace) -> None:
    """Reads, answers and writes.

    Options that no series allows are refused before the file is read, and the file before the model is loaded; with
    --quiet a frequency or season that does not fit the series only thereafter.
    """
    output = None if arguments.output == STANDARD else Path(arguments.output)
    picture = None if arguments.plot is None else Path(arguments.plot)
    check_outputs(arguments.input, output, picture)
    try:
        read_output_spec(arguments.level, getattr(arguments, "quantiles", None))
        read_bounds(arguments.nonnegative, arguments.bounds)
        series = read_file(arguments)
        model = load_model(arguments.model)
        counted = "windows" if arguments.command in ("backtest", "anomalies") else "series"
        with showing_progress(arguments.quiet, counted) as progress:
            model.progress = progress
            answers = ask(model, series, arguments)
        write(answers, series, arguments, output, picture)
    except InputError as error:
        raise CommandError(str(error)) from error


def check_outputs(source: str, output: Path | None, picture: Path | None) -> None:
    """Refuses outputs that cannot be written."""
    if output is None:
        check_standard_output()
    else:
        check_table(output)
        if source != STANDARD and output.exists() and Path(source).exists() and output.samefile(source):
            raise CommandError(f"--output: {output} is the file with the series, which would be lost")
    if picture is not None:
        check_picture(picture)


def read_file(arguments: argparse.Namespace) -> Series:
    """The series of a file; says what was taken for what."""
    date_format = arguments.date_format
    is_date = lambda name: date_format is not None and is_time_name(name, arguments.time)  # 2020.10 is not 2020.1
    is_text = lambda name: is_id_name(name, arguments.id) or is_date(name)
    table = read_table(arguments.input, arguments.format, is_text)
    roles = guess_roles(table.frame, arguments.id, arguments.time, arguments.target, date_format)
    name = "series" if arguments.input == STANDARD else Path(arguments.input).name.partition(".")[0]
    keep_numbers = isinstance(arguments.freq, int | float)
    series = read_series(table, roles, name, date_format, keep_numbers)
    if not arguments.quiet:
        inputs = read_inputs(series.frame, arguments.freq, arguments.season_length, *series.columns.values())
        if series.was_sorted:
            say("the rows of the file are not in the order of time: sorted")
        if series.times.has_offsets:
            say(f"column {roles.time!r} has several offsets from UTC: its times are taken and answered in UTC")
        say(describe(roles, inputs, table))
    return series


def ask(model: "Forecaster", series: Series, arguments: argparse.Namespace) -> pd.DataFrame:
    """The library's answer to a command."""
    from fimjax.errors import PretrainedError

    try:
        return ask_model(model, series, arguments)
    except PretrainedError as error:
        raise CommandError(f"--model: {error}") from error


def ask_model(model: "Forecaster", series: Series, arguments: argparse.Namespace) -> pd.DataFrame:
    """The same, with the errors of the library."""
    settings = {
        "freq": arguments.freq,
        "season_length": arguments.season_length,
        "nonnegative": arguments.nonnegative,
        "bounds": arguments.bounds and tuple(arguments.bounds),
        **series.columns,
    }
    if arguments.command == "anomalies":
        return model.detect_anomalies(
            series.frame, arguments.level, h=arguments.h, n_windows=arguments.windows, **settings
        )
    settings |= {"level": arguments.level, "quantiles": arguments.quantiles}
    if arguments.command == "interpolate":
        return model.interpolate(series.frame, **settings)
    if arguments.command == "backtest":
        return model.cross_validation(
            series.frame, arguments.h, n_windows=arguments.windows, step_size=arguments.step, **settings
        )
    return model.forecast(series.frame, arguments.h, calibrate=arguments.calibrate, **settings)


def write(
    answers: pd.DataFrame, series: Series, arguments: argparse.Namespace, output: Path | None, picture: Path | None
) -> None:
    """Writes the table and the picture; both files appear only when both are complete."""
    spelled, exact = series.spell(answers), (series.id, series.time, series.target, "cutoff")
    with contextlib.ExitStack() as files:
        if picture is not None:
            draw(
                answers,
                series,
                arguments.max_plots,
                files.enter_context(replacing(picture)),
                picture.suffix[1:].lower(),
            )
        if output is not None:
            write_table(spelled, output, files.enter_context(replacing(output)), exact)
    if output is None:
        write_table(spelled, None, exact=exact)
    written = [str(path) for path in (output, picture) if path is not None]
    if written and not arguments.quiet:
        say(f"wrote {' and '.join(written)}")


def draw(answers: pd.DataFrame, series: Series, max_series: int, path: Path, format: str) -> None:
    """The picture of answers; what it looks like goes by their columns."""
    from fimjax.plotting.plot import plot

    figure = plot(series.frame, answers, max_ids=max_series, **series.columns)
    figure.savefig(path, format=format)
