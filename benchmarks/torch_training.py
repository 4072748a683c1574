"""One training step and one forward pass of benchmarks.torch_models, on a batch that fimjax's prior has drawn.

Loss, clipping, AdamW, schedule, running average and the skipping of bad steps are those of fimjax.training, in float32.
"""

import math
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.torch_models import FIM, FIMLocal, build_model
from benchmarks.torch_params import Params, to_state_dict
from benchmarks.torch_windows import Affine, SeasonPhase, Windows, expand, fit_range
from fimjax.config import Config, TrainingConfig
from fimjax.config.checks import require

if TYPE_CHECKING:
    from fimjax.prior.sampler import Sample  # a process that measures PyTorch does without JAX

WINDOW_CLIP, LEARNED_WINDOWS = 2.5, 3  # as in fimjax.training.losses
LEAST_SPREAD, LEAST_WINDOW_SPREAD = 0.1, 0.03  # likewise


@dataclass(frozen=True)
class Batch:
    """B series in K windows of T slots, the last window being the target; see fimjax.prior.sampler."""

    times: Tensor  # [B, K, T]
    noisy: Tensor  # [B, K, T]
    clean: Tensor  # [B, K, T]
    observed: Tensor  # [B, K, T]
    valid: Tensor  # [B, K, T]
    origin: Tensor  # [B]
    duration: Tensor  # [B]
    steps: Tensor  # [B]
    season: Tensor  # [B]

    def past(self) -> Windows:
        """The context windows as a model reads them."""
        mask = self.observed[:, :-1]
        values, times = (x[:, :-1].masked_fill(~mask, 0.0) for x in (self.noisy, self.times))
        return Windows(values, times, mask, self.origin, self.duration, self.steps, self.season)

    def query_times(self) -> Tensor:
        """Times at which a model is asked, [B, K, T]."""
        return self.times.masked_fill(~self.valid, 0.0)


def to_torch(sample: "Sample") -> Batch:
    """A sample of fimjax's prior, its arrays JAX's or NumPy's, as a batch for PyTorch."""
    return Batch(**{f.name: torch.tensor(np.asarray(getattr(sample, f.name))) for f in fields(Batch)})


def interpolate_windows(model: FIMLocal, batch: Batch) -> Tensor:
    """FIM-l's answer at every slot of every window, [B, K, T, L]."""
    count, times = batch.times.shape[1], batch.query_times().flatten(0, 1)
    season = batch.origin, batch.duration / batch.steps, batch.season
    clock = SeasonPhase(*(x.repeat_interleave(count) for x in season))
    out = model(batch.noisy.flatten(0, 1), times, batch.observed.flatten(0, 1), times, clock)
    return out.unflatten(0, (-1, count))


def forecast_target(model: FIM, batch: Batch) -> Tensor:
    """FIM's answer at every slot of the target window, [B, T, L]."""
    return model(batch.past(), batch.query_times()[:, -1])


def mean_of_each(errors: Tensor, valid: Tensor) -> Tensor:
    """The mean error of each series over its valid places, zero where there are none: [B, Q], [B, Q] -> [B]."""
    return errors.masked_fill(~valid, 0.0).sum(-1) / valid.sum(-1).clamp(min=1)


def mean_over_series(errors: Tensor, valid: Tensor) -> Tensor:
    """The mean over series of their mean errors, over those that have a valid place: [B, Q], [B, Q] -> []."""
    return mean_of_each(errors, valid).sum() / valid.any(-1).sum().clamp(min=1)


def spread_weights(quantiles: Tensor, counted: Tensor, power: float, least: float) -> Tensor:
    """One over a power of how far apart the outer quantiles are on average: [..., Q, L], [..., Q] -> [...]."""
    quantiles = quantiles.detach()
    return (least + mean_of_each(quantiles[..., -1] - quantiles[..., 0], counted)) ** -power


def make_loss(model: FIMLocal | FIM, training: TrainingConfig) -> Callable[[Batch], Tensor]:
    """The loss of a model on a batch."""
    clip = training.target_clip
    levels = torch.tensor(model.config.quantile_levels) if model.config.quantile_levels else None

    def prediction_errors(
        out: Tensor,
        clean: Tensor,
        noisy: Tensor,
        value_map: Affine,
        valid: Tensor,
        clip: float,
        least: float | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Errors [..., Q] of out [..., Q, L] in the units of a map [...], and where they count [..., Q].

        With the least of spreads they are weighted by the forecast's own, if the config asks for it.
        """
        out = value_map.normalise(out)
        targets = value_map.normalise(clean if levels is None else noisy).clamp(-clip, clip)
        counted = valid & expand(value_map.scale > 0, valid)
        if levels is None:
            return (targets - out[..., 0]).square(), counted
        error = targets[..., None] - out
        errors = torch.maximum(levels * error, (levels - 1) * error).mean(-1)
        if training.spread_power and least is not None:
            errors = errors * spread_weights(out, counted, training.spread_power, least)[..., None]
        return errors, counted

    def interpolation_loss(batch: Batch) -> Tensor:
        asked = batch.valid if levels is None else batch.valid & ~batch.observed
        out, value_map = interpolate_windows(model, batch), fit_range(batch.noisy, batch.observed)
        found = prediction_errors(out, batch.clean, batch.noisy, value_map, asked, clip)
        return mean_over_series(*(x.flatten(0, 1) for x in found))

    def forecasting_loss(batch: Batch) -> Tensor:
        forecast, times = model.encode(batch.past()), batch.query_times()
        clean, noisy, valid = (x[:, -1] for x in (batch.clean, batch.noisy, batch.valid))
        out = model.decode(forecast, times[:, -1])
        errors, counted = prediction_errors(out, clean, noisy, forecast.value_map, valid, clip, LEAST_SPREAD)
        if model.config.interpolation_weight > 0:
            last = slice(-LEARNED_WINDOWS - 1, -1)
            out = model.interpolate(forecast, times[:, last])
            errors = errors + model.config.interpolation_weight * seen_windows_error(out, batch, last)[:, None]
        return mean_over_series(errors, counted)

    def seen_windows_error(out: Tensor, batch: Batch, last: slice) -> Tensor:
        """FIM-l's error [B] at the points of the last seen windows that the model may not see."""
        clean, noisy, valid, observed = (x[:, last] for x in (batch.clean, batch.noisy, batch.valid, batch.observed))
        asked = valid if levels is None else valid & ~observed
        value_map = fit_range(noisy, observed)
        clipped = min(clip, WINDOW_CLIP)
        found = prediction_errors(out, clean, noisy, value_map, asked, clipped, LEAST_WINDOW_SPREAD)
        return mean_of_each(*(x.flatten(1) for x in found))

    return forecasting_loss if isinstance(model, FIM) else interpolation_loss


def learning_rate(training: TrainingConfig, step: int) -> float:
    """The schedules of fimjax.training.optim."""
    peak, floor, warmup = training.learning_rate, training.min_learning_rate, training.warmup_steps
    if training.schedule == "inverse_sqrt":
        warmup = max(warmup, 1)
        return max(floor, peak * min(step / warmup, math.sqrt(warmup / max(step, 1))))
    if step < warmup:
        return floor + (peak - floor) * step / warmup
    share = min((step - warmup) / (max(training.steps, warmup + 1) - warmup), 1.0)
    return floor + (peak - floor) * (1 + math.cos(math.pi * share)) / 2


def make_optimizer(model: nn.Module, training: TrainingConfig) -> torch.optim.Optimizer:
    """AdamW in one fused kernel, with weight decay on matrices only."""
    trained = [(name, x) for name, x in model.named_parameters() if x.requires_grad]
    is_matrix = lambda name, x: name.endswith("weight") and x.ndim == 2
    groups = [
        {"params": [x for name, x in trained if is_matrix(name, x)], "weight_decay": training.weight_decay},
        {"params": [x for name, x in trained if not is_matrix(name, x)], "weight_decay": 0.0},
    ]
    betas = training.beta1, training.beta2
    return torch.optim.AdamW(groups, lr=training.learning_rate, betas=betas, eps=training.epsilon, fused=True)


class TrainStep:
    """One optimiser step on a given batch; `model` and `average` hold what has been learned."""

    def __init__(self, config: Config, params: Params | None, compiled: bool):
        self.training = config.training
        self.model = load_model(config, params).train()
        self.loss = maybe_compile(make_loss(self.model, config.training), compiled)
        self.trained = [x for x in self.model.parameters() if x.requires_grad]
        self.average = [x.detach().clone() for x in self.trained] if config.training.average_decay else []
        self.optimizer = make_optimizer(self.model, config.training)
        self.good_steps = 0

    def __call__(self, batch: Batch) -> float:
        """The loss before the step."""
        self.optimizer.zero_grad()
        loss = self.loss(batch)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.trained, self.training.clip_norm)
        value = loss.item()
        if math.isfinite(value) and math.isfinite(norm.item()):
            self._update()
        return value

    @torch.no_grad()
    def _update(self) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.training, self.good_steps)
        self.optimizer.step()
        if self.average:
            torch._foreach_lerp_(self.average, self.trained, 1 - self.training.average_decay)
        self.good_steps += 1


def make_step(config: Config, params: Params | None = None, compiled: bool = False) -> TrainStep:
    """A training step from Flax parameters, or from random ones; `compiled` by torch.compile at its first call."""
    return TrainStep(config, params, compiled)


def make_forward(config: Config, params: Params | None = None, compiled: bool = False) -> Callable[[Batch], Tensor]:
    """The forward pass without gradients: FIM's forecast of the target window, or FIM-l's answer at all slots."""
    model = load_model(config, params).eval()
    answer = forecast_target if isinstance(model, FIM) else interpolate_windows
    forward = maybe_compile(lambda batch: answer(model, batch), compiled)
    return torch.inference_mode()(forward)


def load_model(config: Config, params: Params | None) -> FIMLocal | FIM:
    """The model of a config with Flax parameters, or with random ones from the config's seed."""
    require(config.training.precision == "float32", "precision: the PyTorch models are for float32")
    torch.manual_seed(config.training.seed)
    model = build_model(config.model)
    if params is not None:
        model.load_state_dict(to_state_dict(params))
    return model


def maybe_compile(function: Callable, compiled: bool) -> Callable:
    """The function itself, or compiled for each shape of its input, as JAX compiles."""
    if not compiled:
        return function
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None:
        raise RuntimeError(f"torch.compile needs a C++ compiler, and there is no {compiler!r}; CXX may name another")
    return torch.compile(function, dynamic=False, fullgraph=True)
