"""Optimiser, learning-rate schedule, and which parameters are trained."""

from typing import Any

import jax
import jax.numpy as jnp
import optax
from optax.contrib import MuonDimensionNumbers

from fimjax.config import ModelConfig, ReportFIMConfig, TrainingConfig
from fimjax.models import Params

MIN_MUON_WIDTH = 32
"""Smallest width of a matrix that Muon updates."""
ADAM_RMS = 0.2
"""Root mean square of Muon's updates: that of Adam's, so that one learning rate serves both."""


def frozen_parts(model: ModelConfig) -> frozenset[str]:
    """Names of the sub-modules that are not trained: the pretrained FIM-l inside the lab report's FIM."""
    return frozenset({"local"}) if isinstance(model, ReportFIMConfig) else frozenset()


def split_params(params: Params, frozen: frozenset[str]) -> tuple[Params, Params]:
    """Parameters that are trained, and those that are frozen, which gradients and optimiser never see."""
    trained = {name: tree for name, tree in params.items() if name not in frozen}
    kept = {name: tree for name, tree in params.items() if name in frozen}
    return trained, kept


def inverse_sqrt_schedule(peak: float, floor: float, warmup_steps: int) -> optax.Schedule:
    """Linear warm-up to `peak`, then peak * sqrt(warmup / step), never below `floor`.

    The lab report's settings give 1e-5 at step 0, 1e-4 at step 100 and 1e-5 from step 10,000 on.
    """

    def rate(step: jax.typing.ArrayLike) -> jax.Array:
        step = jnp.asarray(step, jnp.float32)
        warmup = max(warmup_steps, 1)
        return jnp.maximum(floor, peak * jnp.minimum(step / warmup, jnp.sqrt(warmup / jnp.maximum(step, 1.0))))

    return rate


def make_schedule(training: TrainingConfig) -> optax.Schedule:
    """Learning rate by step."""
    if training.schedule == "inverse_sqrt":
        return inverse_sqrt_schedule(training.learning_rate, training.min_learning_rate, training.warmup_steps)
    return optax.warmup_cosine_decay_schedule(
        init_value=training.min_learning_rate,
        peak_value=training.learning_rate,
        warmup_steps=training.warmup_steps,
        decay_steps=max(training.steps, training.warmup_steps + 1),
        end_value=training.min_learning_rate,
    )


def decayed(params: Params) -> Any:
    """Which parameters decay: matrices, but not biases, LayerNorms, learnable queries or positions."""
    return jax.tree_util.tree_map_with_path(lambda path, _: path[-1].key == "kernel", params)


def orthogonalised(params: Params) -> Any:
    """Which parameters Muon updates: matrices between two wide layers, but not input and output layers."""

    def dimensions(path: Any, leaf: jax.Array) -> MuonDimensionNumbers | None:
        is_wide = path[-1].key == "kernel" and leaf.ndim == 2 and min(leaf.shape) >= MIN_MUON_WIDTH
        return MuonDimensionNumbers() if is_wide else None

    return jax.tree_util.tree_map_with_path(dimensions, params)


def make_optimizer(training: TrainingConfig) -> optax.GradientTransformation:
    """AdamW (report, section 7.1) or Muon, after clipping to a global norm."""
    clip = optax.clip_by_global_norm(training.clip_norm)
    if training.optimizer == "muon":
        return optax.chain(
            clip,
            optax.contrib.muon(
                make_schedule(training),
                weight_decay=training.weight_decay,
                weight_decay_mask=decayed,
                adam_b1=training.beta1,
                adam_b2=training.beta2,
                muon_weight_dimension_numbers=orthogonalised,
                consistent_rms=ADAM_RMS,
            ),
        )
    return optax.chain(
        clip,
        optax.adamw(
            make_schedule(training),
            b1=training.beta1,
            b2=training.beta2,
            eps=training.epsilon,
            weight_decay=training.weight_decay,
            mask=decayed,
        ),
    )
