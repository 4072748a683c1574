"""`fimjax export`: a model as one file that runs without fimjax."""

import argparse
from pathlib import Path

from fimjax.cli.files import check_writable
from fimjax.cli.messages import CommandError, say
from fimjax.cli.model import load_model


def export(arguments: argparse.Namespace) -> None:
    """Writes the artefact, and says what it takes and gives."""
    path = Path(arguments.output)
    check_writable(path)
    from fimjax.errors import ExportError
    from fimjax.inference.export import PLATFORMS, export_forecast

    unknown = [name for name in arguments.platforms if name not in PLATFORMS]
    if unknown:
        raise CommandError(f"--platforms: {', '.join(unknown)} is not one of {', '.join(PLATFORMS)}")
    model = load_model(arguments.model)
    if model.others:
        raise CommandError(f"--model {arguments.model}: an artefact holds one model; export them one by one")
    points, h = arguments.points, arguments.h
    try:
        export_forecast(
            model.config, model.params, path, points=points, h=h, platforms=tuple(dict.fromkeys(arguments.platforms))
        )
    except ExportError as error:
        raise CommandError(str(error)) from error
    if not arguments.quiet:
        say(
            f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB): any number of series b, with times, values and mask "
            f"[b, {points}], steps and season [b], and query times [b, {h}], for {', '.join(arguments.platforms)}"
        )
