"""Models on the command line: loading one, `fimjax models`, and `fimjax export`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fimjax.cli.console import CommandError, say
from fimjax.cli.files import check_standard_output, check_writable
from fimjax.errors import ExportError, PretrainedError
from fimjax.weights import DEFAULT, bundled_folders

if TYPE_CHECKING:
    from fimjax.forecaster import Forecaster

COLUMNS = ("name", "parameters", "size", "fimjax", "steps", "trained for", "purpose")


def load_model(source: str | None) -> "Forecaster":
    """A bundled model by name, or one in a folder."""
    from fimjax.forecaster import Forecaster  # JAX takes a second to import, and mistakes in a file show before

    try:
        return Forecaster.from_pretrained(source)
    except PretrainedError as error:
        raise CommandError(str(error)) from error


def list_models() -> None:
    """Prints a line for each bundled model; the default one is marked."""
    check_standard_output()
    from fimjax.checkpoints.pretrained import WEIGHTS, bundled

    try:
        models = bundled()
    except PretrainedError as error:
        raise CommandError(str(error)) from error
    if not models:
        say("this version of fimjax has no bundled weights: give --model the folder of saved weights or of a run")
        return
    rows = [COLUMNS]
    for name, about in models.items():
        size = len(bundled_folders()[name].joinpath(WEIGHTS).read_bytes())
        purpose = [text for text in ("the default" if name == DEFAULT else "", str(about.get("purpose", ""))) if text]
        rows.append((*describe(name, about, size), ": ".join(purpose) or "-"))
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def describe(name: str, about: dict[str, Any], size: int) -> tuple[str, str, str, str, str, str]:
    """The cells of a model's line, with - for facts that its config.json lacks."""
    number = lambda key: f"{about[key]:,}" if isinstance(about.get(key), int) else "-"
    seconds = about.get("seconds")
    hours = f"{seconds / 3600:.1f} h" if isinstance(seconds, int | float) else "-"
    return name, number("parameters"), f"{size / 1e6:.1f} MB", str(about.get("fimjax", "-")), number("steps"), hours


def export(arguments: argparse.Namespace) -> None:
    """Writes a model as one file that runs without fimjax, and prints its inputs."""
    path = Path(arguments.output)
    check_writable(path)
    from fimjax.inference.export import PLATFORMS, export_forecast

    unknown = [name for name in arguments.platforms if name not in PLATFORMS]
    if unknown:
        raise CommandError(f"--platforms: {', '.join(unknown)} is not one of {', '.join(PLATFORMS)}")
    model = load_model(arguments.model)
    if model.others:
        raise CommandError(f"--model {arguments.model}: only one model can be exported; export them one by one")
    points, h = arguments.points, arguments.h
    platforms = tuple(dict.fromkeys(arguments.platforms))
    try:
        export_forecast(model.config, model.params, path, points=points, h=h, platforms=platforms)
    except ExportError as error:
        raise CommandError(str(error)) from error
    if not arguments.quiet:
        say(
            f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB) for {', '.join(platforms)}: inputs for b series are "
            f"times, values and mask [b, {points}], window steps and season [b], and query times [b, {h}]"
        )
