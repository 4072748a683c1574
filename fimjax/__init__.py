"""Zero-shot interpolation and forecasting of time series, learned from synthetic series alone."""

from typing import TYPE_CHECKING, Any

from fimjax.errors import (
    CheckpointError,
    ConfigError,
    EvaluationError,
    ExportError,
    InputError,
    PretrainedError,
)

if TYPE_CHECKING:
    from fimjax.forecaster import Forecaster

    __version__: str

__all__ = [
    "CheckpointError",
    "ConfigError",
    "EvaluationError",
    "ExportError",
    "Forecaster",
    "InputError",
    "PretrainedError",
    "__version__",
]


def __getattr__(name: str) -> Any:
    # Imported on first use, because JAX takes a second to import and the command line often does without it.
    if name == "Forecaster":
        from fimjax.forecaster import Forecaster

        return Forecaster
    if name == "__version__":
        from importlib.metadata import version

        return version("fimjax")
    raise AttributeError(f"module 'fimjax' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
