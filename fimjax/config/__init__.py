"""Every number that a run depends on, as frozen dataclasses. Imports nothing else of fimjax."""

import dataclasses
import typing
from dataclasses import dataclass, field
from typing import Any

from fimjax.config.checks import require
from fimjax.config.grid_models import (
    ChronosBoltConfig,
    GridConfig,
    GridModelConfig,
    MQCNNConfig,
    NBEATSConfig,
    PatchTSTConfig,
)
from fimjax.config.models import DeepONetConfig, FIMConfig, FIMLocalConfig
from fimjax.config.prior import MAX_SEASON, PriorConfig, PriorWeights
from fimjax.config.training import TrainingConfig
from fimjax.errors import ConfigError

__all__ = [
    "MAX_SEASON",
    "ChronosBoltConfig",
    "Config",
    "ConfigError",
    "DeepONetConfig",
    "FIMConfig",
    "FIMLocalConfig",
    "GridConfig",
    "GridModelConfig",
    "MQCNNConfig",
    "ModelConfig",
    "NBEATSConfig",
    "PatchTSTConfig",
    "PriorConfig",
    "PriorWeights",
    "TrainingConfig",
    "from_dict",
    "to_dict",
]

ModelConfig = FIMLocalConfig | FIMConfig | DeepONetConfig | GridModelConfig


@dataclass(frozen=True)
class Config:
    """One training run: the model, the series it learns from, and how it is trained."""

    model: ModelConfig
    prior: PriorConfig = field(default_factory=PriorConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    members: int = 1
    """Networks, trained alike but from seeds of their own, whose answers are averaged; a run trains one of them."""

    def __post_init__(self):
        require(self.members >= 1, f"members: {self.members} is less than 1")
        if isinstance(self.model, FIMConfig):
            require(
                self.model.windows == self.prior.windows,
                f"model.windows: {self.model.windows} differs from prior.windows {self.prior.windows}",
            )
        if isinstance(self.model, DeepONetConfig):
            require(
                self.prior.slots <= self.model.sensors,
                f"model.sensors: {self.model.sensors} is less than prior.slots {self.prior.slots}",
            )
        if isinstance(self.model, GridConfig):
            require(
                self.prior.max_window_steps <= self.model.horizon,
                f"model.horizon: {self.model.horizon} is less than prior.max_window_steps "
                f"{self.prior.max_window_steps}",
            )
        if isinstance(self.model, FIMConfig | FIMLocalConfig) and self.training.attention == "cudnn":
            require_fused_heads(self.model, "model.")


def require_fused_heads(model: FIMConfig | FIMLocalConfig, prefix: str) -> None:
    """All transformer layers can run on cuDNN's attention, on any GPU that has it."""
    inner = isinstance(model, FIMConfig)
    width = 2 * (model.local.width if inner else model.width)
    size = width // model.heads
    require(
        size % 8 == 0 and size <= 128,
        f"training.attention: cudnn needs heads of a size that 8 divides, up to 128, not {size}: "
        f"{prefix}heads {model.heads} share 2 * {prefix}{'local.' * inner}width = {width}",
    )
    if inner:
        require_fused_heads(model.local, f"{prefix}local.")


def to_dict(config: Any) -> dict[str, Any]:
    """A config as plain dictionaries, each with the name of its class, ready for JSON."""
    entries = {f.name: getattr(config, f.name) for f in dataclasses.fields(config)}
    plain = {k: to_dict(v) if dataclasses.is_dataclass(v) else v for k, v in entries.items()}
    return {"kind": type(config).__name__, **{k: list(v) if isinstance(v, tuple) else v for k, v in plain.items()}}


def from_dict(entries: dict[str, Any]) -> Any:
    """The config that `to_dict` wrote; keys that it does not know are an error that names them."""
    kinds = {c.__name__: c for c in (Config, PriorConfig, PriorWeights, TrainingConfig, *typing.get_args(ModelConfig))}
    kind = kinds.get(entries.get("kind", ""))
    require(kind is not None, f"kind: {entries.get('kind')!r} is not one of {sorted(kinds)}")
    known = {f.name for f in dataclasses.fields(kind)}
    unknown = sorted(set(entries) - known - {"kind"})
    require(not unknown, f"{kind.__name__}: unknown keys {', '.join(unknown)}")

    def revive(value: Any) -> Any:
        return from_dict(value) if isinstance(value, dict) else tuple(value) if isinstance(value, list) else value

    return kind(**{name: revive(value) for name, value in entries.items() if name != "kind"})


def differing_keys(a: Any, b: Any, prefix: str = "") -> list[str]:
    """Where two configs differ, as sentences like 'width: 64 against 128'."""
    if type(a) is not type(b):
        return [f"{prefix.rstrip('.')}: {type(a).__name__} against {type(b).__name__}"]
    lines = []
    for f in dataclasses.fields(a):
        x, y = getattr(a, f.name), getattr(b, f.name)
        if dataclasses.is_dataclass(x):
            lines += differing_keys(x, y, f"{prefix}{f.name}.")
        elif x != y:
            lines.append(f"{prefix}{f.name}: {x} against {y}")
    return lines
