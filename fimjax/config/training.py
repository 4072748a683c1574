"""Optimiser, schedule, precision, cadence."""

from dataclasses import dataclass
from typing import Literal

from fimjax.config.checks import require


@dataclass(frozen=True)
class TrainingConfig:
    """Optimiser, schedule, precision, cadence; the defaults are the lab report's (section 7.1)."""

    seed: int = 0
    """Seed of the parameters and of every synthetic series."""
    steps: int = 10_000
    """Optimiser steps."""
    batch_size: int = 128
    """Series a step, over all devices."""
    optimizer: Literal["adamw", "muon"] = "adamw"
    """AdamW, the paper's; or Muon for the matrices inside the network, with AdamW for the rest."""
    schedule: Literal["inverse_sqrt", "cosine"] = "inverse_sqrt"
    """Learning rate after the warm-up: the paper's, or a cosine down to min_learning_rate at the last step."""
    learning_rate: float = 1e-4
    """Learning rate at the end of the warm-up."""
    min_learning_rate: float = 1e-5
    """Learning rate that the schedule never goes below."""
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
    """A series' loss is divided by this power of its forecast's own spread: 0 lets the least predictable series speak
    loudest, 1 makes all of them equal. A spread is a function of the past, so calibration stays as it is."""
    average_decay: float = 0.0
    """Decay of the running average of the parameters that validation and inference then use; 0 for none."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Type of activations and products; parameters, statistics, softmax, times and loss stay float32."""
    attention: Literal["xla", "cudnn"] = "xla"
    """Attention as plain products and a softmax, or cuDNN's fused kernel (bfloat16 on recent NVIDIA GPUs)."""
    remat: bool = False
    """Compute transformer layers anew in the backward pass instead of keeping their insides: more time, less memory."""
    point_capacity: float = 1.0
    """Share of the slots that there is room for when observed points are packed; 1 works on empty slots as well."""
    query_capacity: float = 1.0
    """The same for the points at which FIM-l's answer is asked for."""
    target_clip: float = 10.0
    """Targets are clipped to this many scales, so that no series outweighs a batch."""
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

    def __post_init__(self):
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
