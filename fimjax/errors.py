"""Every error that fimjax raises on purpose. Each message is one sentence that names what is wrong and where."""

__all__ = ["CheckpointError", "ConfigError", "EvaluationError", "ExportError", "InputError", "PretrainedError"]


class ConfigError(ValueError):
    """A setting that cannot work; the message names its key."""


class InputError(ValueError):
    """A series, a frame or an argument that cannot be used; the message names the series, row or column at fault."""


class PretrainedError(RuntimeError):
    """Weights that are missing, damaged or of a model that does not forecast; the message names the file."""


class CheckpointError(RuntimeError):
    """A checkpoint that is missing or does not fit; the message names the run."""


class ExportError(RuntimeError):
    """An exported model that cannot be written or read; the message says why."""


class EvaluationError(ValueError):
    """An evaluation that cannot be carried out; the message says what is wrong."""
