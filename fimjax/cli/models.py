"""`fimjax models`: what ships with fimjax."""

from typing import Any

from fimjax.cli.files import check_standard_output
from fimjax.cli.messages import CommandError, say
from fimjax.weights import bundled_folders

COLUMNS = ("name", "parameters", "size", "fimjax", "steps", "trained for", "take it for")


def list_models() -> None:
    """Prints a line for each bundled model; the default one is marked."""
    check_standard_output()
    from fimjax.checkpoints.pretrained import DEFAULT, WEIGHTS, bundled
    from fimjax.errors import PretrainedError

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


def describe(name: str, about: dict[str, Any], size: int) -> tuple[str, ...]:
    """The cells of a model's line, with - for what its config.json does not say."""
    number = lambda key: f"{about[key]:,}" if isinstance(about.get(key), int) else "-"
    seconds = about.get("seconds")
    hours = f"{seconds / 3600:.1f} h" if isinstance(seconds, int | float) else "-"
    return (
        name,
        number("parameters"),
        f"{size / 1e6:.1f} MB",
        str(about.get("fimjax", "-")),
        number("steps"),
        hours,
    )
