"""The arguments of all commands. This module imports nothing slow, so that --help is fast."""

import argparse
import re
from importlib.metadata import version
from typing import Any, NoReturn

DELEGATED = {
    "train": "train a model on synthetic series",
    "evaluate": "evaluate models on M1, M3, M4 and Tourism",
}
"""Commands with a command line of their own, and their purpose."""


class Parser(argparse.ArgumentParser):
    """A parser that reports mistakes in one sentence, without the list of all options."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        # The pattern of argparse takes -1e3 for an option.
        self._negative_number_matcher = re.compile(r"^-(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$")

    def error(self, message: str) -> NoReturn:
        """Prints a mistake and exits."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    """Reads the command line; exits after --help and mistakes."""
    parser = Parser(
        prog="fimjax",
        description="Forecast, interpolate and check time series without training, with models that were trained on "
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
    for name, purpose in DELEGATED.items():
        _add(commands, name, purpose)
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
        help="widen or narrow intervals by the common error of all series in their last steps; for many similar series",
    )
    _add_knowledge(parser)
    _add_output(parser)


def _add_interpolate(commands: argparse._SubParsersAction) -> None:
    parser = _add(commands, "interpolate", "fill missing values and smooth observed ones in every series")
    _add_input(parser)
    _add_columns(parser)
    _add_quantiles(parser)
    _add_knowledge(parser)
    _add_output(parser)


def _add_backtest(commands: argparse._SubParsersAction) -> None:
    parser = _add(commands, "backtest", "forecast the last points of every series from the points before them")
    _add_input(parser)
    parser.add_argument("--h", type=count, required=True, metavar="STEPS", help="steps to forecast from each cutoff")
    parser.add_argument("--windows", type=count, default=1, metavar="N", help="how many cutoffs (default: 1)")
    parser.add_argument("--step", type=count, metavar="STEPS", help="steps between cutoffs (default: as many as --h)")
    _add_columns(parser)
    _add_quantiles(parser)
    _add_knowledge(parser)
    _add_output(parser)


def _add_anomalies(commands: argparse._SubParsersAction) -> None:
    parser = _add(
        commands, "anomalies", "mark points outside the interval that is forecast from the points before them"
    )
    _add_input(parser)
    parser.add_argument("--level", type=float, default=99, metavar="PERCENT", help="interval in per cent (default: 99)")
    parser.add_argument("--h", type=count, metavar="STEPS", help="steps to forecast at once (default: a season)")
    parser.add_argument(
        "--windows", type=count, metavar="N", help="check the last N times --h steps (default: all but the first few)"
    )
    _add_columns(parser)
    _add_knowledge(parser)
    _add_output(parser)


def _add_export(commands: argparse._SubParsersAction) -> None:
    parser = _add(commands, "export", "write a model as one file that runs with JAX alone, without fimjax")
    parser.add_argument("output", metavar="OUT", help="the file to write")
    parser.add_argument("--h", type=count, required=True, metavar="STEPS", help="query times of each series")
    parser.add_argument("--points", type=count, default=512, help="most observations of each series (default: 512)")
    parser.add_argument(
        "--platforms", nargs="+", default=["cpu"], metavar="NAME", help="cpu, cuda, rocm, tpu (default: cpu)"
    )
    _add_model(parser)
    _add_quiet(parser)


def _add_input(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", metavar="FILE", help="a .csv, .csv.gz or .parquet file; - for standard input")
    parser.add_argument(
        "--format", choices=("csv", "parquet"), help="format of FILE (default: by its ending; csv on standard input)"
    )


def _add_columns(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("columns of the file (found automatically if not given)")
    group.add_argument("--id", metavar="NAME", help="ids of the series")
    group.add_argument("--time", metavar="NAME", help="dates or numbers")
    group.add_argument("--target", nargs="+", metavar="NAME", help="values; several columns are one series each")
    group.add_argument("--date-format", metavar="FORMAT", help="how dates are written, such as %%d/%%m/%%Y")


def _add_quantiles(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--level", nargs="+", type=number, metavar="PERCENT", help="central intervals, such as 80 95")
    group.add_argument("--quantiles", nargs="+", type=number, metavar="Q", help="quantiles, such as 0.1 0.5 0.9")


def _add_knowledge(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is known about the series")
    group.add_argument(
        "--freq",
        type=frequency,
        metavar="STEP",
        help="a pandas alias, such as D or 15min; a number if times are numbers",
    )
    group.add_argument("--season-length", type=count, metavar="STEPS", help="points in a season, 1 for none")
    group.add_argument("--nonnegative", action="store_true", help="values are never below 0")
    group.add_argument(
        "--bounds", nargs=2, type=bound, metavar=("LOW", "HIGH"), help="bounds of all values; none for no bound"
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("model and output")
    _add_model(group)
    group.add_argument(
        "--output", default="-", metavar="FILE", help="a .csv, .csv.gz or .parquet file (default: -, standard output)"
    )
    group.add_argument("--plot", metavar="FILE", help="a figure as .png, .pdf or .svg")
    group.add_argument("--max-plots", type=count, default=8, metavar="N", help="most series in the figure (default: 8)")
    _add_quiet(group)


def _add_model(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--model",
        metavar="NAME_OR_FOLDER",
        help="see `fimjax models`; or a folder of saved weights or of a run; several joined by + are averaged",
    )


def _add_quiet(group: argparse._ActionsContainer) -> None:
    group.add_argument("--quiet", action="store_true", help="print errors and warnings only")


def count(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def number(text: str) -> float:
    """One number of a list, which ends where the next option begins."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number; give the file before the options") from None


def frequency(text: str) -> str | int | float:
    """A number, or a pandas alias."""
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
