"""The model that a command is asked to use."""

from typing import TYPE_CHECKING

from fimjax.cli.messages import CommandError

if TYPE_CHECKING:
    from fimjax.forecaster import Forecaster


def load_model(source: str | None) -> "Forecaster":
    """A bundled model by name, or one in a folder; what it compiles is kept for the next process."""
    from fimjax.errors import PretrainedError
    from fimjax.forecaster import Forecaster

    try:
        return Forecaster.from_pretrained(source)
    except PretrainedError as error:
        raise CommandError(str(error)) from error
