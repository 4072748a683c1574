"""One training run: the model, its windows, the series it learns from, and how it is trained."""

from dataclasses import dataclass, field

from fimjax.config.checks import require
from fimjax.config.grid_models import GridConfig, GridModelConfig
from fimjax.config.models import DeepONetConfig, FIMConfig, FIMLocalConfig, ReportFIMConfig, ReportFIMLocalConfig
from fimjax.config.prior import PriorConfig
from fimjax.config.training import TrainingConfig
from fimjax.config.windows import WindowConfig

ModelConfig = FIMLocalConfig | FIMConfig | ReportFIMLocalConfig | ReportFIMConfig | DeepONetConfig | GridModelConfig


@dataclass(frozen=True)
class Config:
    """Everything that the result of a training run depends on."""

    model: ModelConfig
    windows: WindowConfig = field(default_factory=WindowConfig)
    prior: PriorConfig = field(default_factory=PriorConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def __post_init__(self) -> None:
        if isinstance(self.model, DeepONetConfig):
            require(
                self.windows.slots <= self.model.sensors,
                f"model.sensors: {self.model.sensors} is less than windows.slots {self.windows.slots}",
            )
        if isinstance(self.model, GridConfig):
            require(
                self.windows.max_steps <= self.model.horizon,
                f"model.horizon: {self.model.horizon} is less than windows.max_steps {self.windows.max_steps}",
            )
        if self.training.attention == "cudnn":
            _require_fused_heads(self.model, "model.")


def _require_fused_heads(model: ModelConfig, prefix: str) -> None:
    """Every transformer layer can run on cuDNN's attention, on any GPU that has it."""
    if isinstance(model, FIMConfig | ReportFIMConfig):
        _require_head_size(model.local.width, model.heads, prefix, "local.")
        _require_fused_heads(model.local, f"{prefix}local.")
    elif isinstance(model, FIMLocalConfig | ReportFIMLocalConfig):
        _require_head_size(model.width, model.heads, prefix, "")


def _require_head_size(width: int, heads: int, prefix: str, inner: str) -> None:
    size = 2 * width // heads
    require(
        size % 8 == 0 and size <= 128,
        f"training.attention: cudnn needs a head size that is a multiple of 8 and at most 128, not {size}: "
        f"{prefix}heads {heads} share 2 * {prefix}{inner}width = {2 * width}",
    )
