"""Optimiser, schedule, precision, cadence."""

from dataclasses import dataclass
from typing import Literal

from fimjax.config.checks import require


@dataclass(frozen=True)
class TrainingConfig:
    """Optimiser, schedule, precision, cadence. Defaults are the lab report's (section 7.1)."""

    seed: int = 0
    """Seed of the parameters and of every synthetic series."""
    steps: int = 10_000
    """Optimiser steps."""
    batch_size: int = 128
    """Series a step, over all devices."""
    optimizer: Literal["adamw", "muon"] = "adamw"
    """AdamW, as in the lab report; or Muon for the matrices inside the network and AdamW for the rest."""
    schedule: Literal["inverse_sqrt", "cosine"] = "inverse_sqrt"
    """Learning rate after the warm-up: the lab report's, or a cosine down to min_learning_rate at the last step."""
    learning_rate: float = 1e-4
    """Learning rate at the end of the warm-up."""
    min_learning_rate: float = 1e-5
    """Lower bound of the learning rate."""
    warmup_steps: int = 100
    """Steps of linear warm-up."""
    beta1: float = 0.9
    """AdamW's decay of the first moment."""
    beta2: float = 0.999
    """AdamW's decay of the second moment."""
    epsilon: float = 1e-8
    """AdamW's epsilon."""
    weight_decay: float = 0.01
    """AdamW's weight decay, on matrices only."""
    clip_norm: float = 1.0
    """Largest global norm of a gradient."""
    spread_power: float = 0.0
    """The loss of a series is divided by this power of its forecast's own spread. With 0 the least predictable series
    weigh most, with 1 all weigh the same. The spread depends on the past only, so calibration is not affected."""
    average_decay: float = 0.0
    """Decay of the running average of the parameters, which validation and inference use; 0 for no average."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Dtype of activations and matrix products. Parameters, statistics, softmax, times and loss stay float32."""
    attention: Literal["xla", "cudnn"] = "xla"
    """Attention by XLA, or by cuDNN's fused kernel (bfloat16 on recent NVIDIA GPUs)."""
    remat: bool = False
    """Recompute transformer layers in the backward pass: more time, less memory."""
    point_capacity: float = 1.0
    """Share of the slots that packed observations have room for; 1 computes empty slots as well."""
    query_capacity: float = 1.0
    """The same for the points at which the loss queries FIM-l."""
    target_clip: float = 10.0
    """Targets are clipped to this many scales, so that no series dominates a batch."""
    steps_per_dispatch: int = 1
    """Optimiser steps in one compiled call."""
    log_every: int = 50
    """Steps between two lines of metrics."""
    validate_every: int = 1_000
    """Steps between two validations, each followed by a checkpoint."""
    validation_series: int = 1_024
    """Series of the fixed validation set."""
    max_bad_steps: int = 20
    """Non-finite steps in a row, each skipped, after which training stops."""

    def __post_init__(self) -> None:
        positive = (
            "steps batch_size learning_rate clip_norm target_clip steps_per_dispatch log_every validate_every "
            "validation_series max_bad_steps"
        )
        for name in positive.split():
            require(getattr(self, name) > 0, f"{name}: must be positive, not {getattr(self, name)}")
        for name in ("steps", "validate_every", "log_every"):
            require(
                getattr(self, name) % self.steps_per_dispatch == 0,
                f"{name}: {getattr(self, name)} is not a multiple of steps_per_dispatch {self.steps_per_dispatch}",
            )
        for name in ("point_capacity", "query_capacity"):
            require(0 < getattr(self, name) <= 1, f"{name}: must lie in (0, 1], not {getattr(self, name)}")
        require(
            self.attention == "xla" or self.precision == "bfloat16",
            f"attention: {self.attention} needs precision bfloat16",
        )
        require(0 <= self.spread_power <= 1, "spread_power: must lie in [0, 1]")
        require(0 <= self.average_decay < 1, "average_decay: must lie in [0, 1)")
        require(self.warmup_steps >= 0, "warmup_steps: must not be negative")
        require(0 <= self.min_learning_rate <= self.learning_rate, "min_learning_rate: must lie in [0, learning_rate]")
