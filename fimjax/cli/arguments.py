"""The arguments of all commands. Imports nothing that takes time, so that --help does not."""

import argparse
import re
from importlib.metadata import version
from typing import NoReturn

ANSWERS = ("forecast", "interpolate", "backtest", "anomalies")
"""The commands that read series and write answers."""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence, instead of after the list of all options."""

    def __init__(self, *arguments, **settings):
        super().__init__(*arguments, **settings)
        # That of argparse takes -1e3 for an option.
        self._negative_number_matcher = re.compile(r"^-(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$")

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    """Reads the command line; ends the process after --help and mistakes."""
    parser = Parser(
        prog="fimjax",
        description="Forecasts, fills and checks time series without training: a model in JAX that was trained on "
        "synthetic series alone.",
    )
    parser.add_argument("--version", action="version", version=f"fimjax {version('fimjax')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    _add_forecast(commands)
    _add_interpolate(commands)
    _add_backtest(commands)
    _add_anomalies(commands)
    _add(commands, "models", "list the models that ship with fimjax")
    _add_export(commands)
    return parser.parse_args(argv)


def _add(commands: argparse._SubParsersAction, name: str, purpose: str) -> argparse.ArgumentParser:
    return commands.add_parser(name, help=purpose, description=purpose[0].upper() + purpose[1:] + ".")


def _add_forecast(commands: argparse._SubParsersAction) -> None:
    parser = _add(commands, "forecast", "forecast the next steps of every series in a file")
    _add_input(parser)
    parser.add_argument("--h", type=count, required=True, metavar="STEPS", help="steps to forecast")
    _add_columns(parser)
    _add_quantiles(parser)
    parser.add_argument(
        "--calibrate",
        action="store_true",
        help="widen or narrow intervals by how far off those of the last steps of all series were; for many series",
    )
    _add_knowledge(parser)
    _add_output(parser)


def _add_interpolate(commands: argparse._SubParsersAction) -> None:
    parser = _add(commands, "interpolate", "estimate the curve under the points of every series, gaps included")
    _add_input(parser)
    _add_columns(parser)
    _add_quantiles(parser)
    _add_knowledge(parser)
    _add_output(parser)


def _add_backtest(commands: argparse._SubParsersAction) -> None:
    parser = _add(commands, "backtest", "forecast the last points of every series from those before them")
    _add_input(parser)
    parser.add_argument("--h", type=count, required=True, metavar="STEPS", help="steps to forecast from each cutoff")
    parser.add_argument("--windows", type=count, default=1, metavar="N", help="how many cutoffs (default: 1)")
    parser.add_argument("--step", type=count, metavar="STEPS", help="steps between cutoffs (default: as many as --h)")
    _add_columns(parser)
    _add_quantiles(parser)
    _add_knowledge(parser)
    _add_output(parser)


def _add_anomalies(commands: argparse._SubParsersAction) -> None:
    parser = _add(commands, "anomalies", "mark points outside what the points before them let expect")
    _add_input(parser)
    parser.add_argument(
        "--level", type=float, default=99, metavar="PERCENT", help="share of points to be expected (default: 99)"
    )
    parser.add_argument("--h", type=count, metavar="STEPS", help="steps to forecast at once (default: a season)")
    parser.add_argument(
        "--windows", type=count, metavar="N", help="judge the last N times --h steps (default: all but the first few)"
    )
    _add_columns(parser)
    _add_knowledge(parser)
    _add_output(parser)


def _add_export(commands: argparse._SubParsersAction) -> None:
    parser = _add(commands, "export", "write a model as one file that runs wherever JAX is, without fimjax")
    parser.add_argument("output", metavar="OUT", help="the file to write")
    parser.add_argument("--h", type=count, required=True, metavar="STEPS", help="query times of each series")
    parser.add_argument("--points", type=count, default=512, help="room for observations of each series (default: 512)")
    parser.add_argument(
        "--platforms", nargs="+", default=["cpu"], metavar="NAME", help="cpu, cuda, rocm, tpu (default: cpu)"
    )
    _add_model(parser)
    _add_quiet(parser)


def _add_input(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", metavar="FILE", help="a .csv, .csv.gz or .parquet file; - for standard input")
    parser.add_argument(
        "--format", choices=("csv", "parquet"), help="what FILE is (default: by its ending; csv on standard input)"
    )


def _add_columns(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("columns of the file (guessed where not given)")
    group.add_argument("--id", metavar="NAME", help="tells series apart")
    group.add_argument("--time", metavar="NAME", help="dates or numbers")
    group.add_argument("--target", nargs="+", metavar="NAME", help="the values; of several columns, each is a series")
    group.add_argument("--date-format", metavar="FORMAT", help="how dates are written, such as %%d/%%m/%%Y")


def _add_quantiles(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--level", nargs="+", type=number, metavar="PERCENT", help="central intervals, such as 80 95")
    group.add_argument("--quantiles", nargs="+", type=number, metavar="Q", help="quantiles, such as 0.1 0.5 0.9")


def _add_knowledge(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is known of the series")
    group.add_argument(
        "--freq", type=frequency, metavar="STEP", help="an alias of pandas, such as D or 15min; a number for numbers"
    )
    group.add_argument("--season-length", type=count, metavar="STEPS", help="points in a season, 1 for none")
    group.add_argument("--nonnegative", action="store_true", help="values are never below 0")
    group.add_argument(
        "--bounds", nargs=2, type=bound, metavar=("LOW", "HIGH"), help="of the values; none for no bound"
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("model and answers")
    _add_model(group)
    group.add_argument(
        "--output", default="-", metavar="FILE", help="a .csv, .csv.gz or .parquet file (default: -, standard output)"
    )
    group.add_argument("--plot", metavar="FILE", help="a picture as .png, .pdf or .svg")
    group.add_argument("--max-plots", type=count, default=8, metavar="N", help="series in the picture (default: 8)")
    _add_quiet(group)


def _add_model(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--model",
        metavar="NAME_OR_FOLDER",
        help="see `fimjax models`; or the folder of saved weights or of a run; several, joined by +, are averaged",
    )


def _add_quiet(group: argparse._ActionsContainer) -> None:
    group.add_argument("--quiet", action="store_true", help="say only what went wrong")


def count(text: str) -> int:
    """A whole number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def number(text: str) -> float:
    """One of several numbers, which end where the next option begins."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number; a file comes before the options") from None


def frequency(text: str) -> str | int | float:
    """A number where it is one, else an alias of pandas."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def bound(text: str) -> float | None:
    """A number, or none."""
    if text.lower() == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor none") from None
