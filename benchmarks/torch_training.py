"""A training step and a forward pass of benchmarks.torch_models, on a batch from fimjax's prior.

Loss, clipping, AdamW, schedule, running average and skipping of bad steps are those of fimjax.training, in float32.
"""

import math
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.torch_models import FIM, FIMLocal, Windows, build_model, expand, fit_range
from fimjax.config import Config, TrainingConfig
from fimjax.config.checks import require

if TYPE_CHECKING:
    from fimjax.prior.sampler import Sample  # a process that measures PyTorch does not import JAX

Params = Mapping[str, Any]


@dataclass(frozen=True)
class Batch:
    """B series in K windows of T slots; the last window is the target. See fimjax.prior.sampler."""

    times: Tensor  # [B, K, T]
    noisy: Tensor  # [B, K, T]
    clean: Tensor  # [B, K, T]
    observed: Tensor  # [B, K, T]
    valid: Tensor  # [B, K, T]
    origin: Tensor  # [B]
    duration: Tensor  # [B]
    steps: Tensor  # [B]

    def past(self) -> Windows:
        """The context windows."""
        mask = self.observed[:, :-1]
        values, times = (x[:, :-1].masked_fill(~mask, 0.0) for x in (self.noisy, self.times))
        return Windows(values, times, mask, self.origin, self.duration, self.steps)

    def query_times(self) -> Tensor:
        """Query times of all windows [B, K, T]."""
        return self.times.masked_fill(~self.valid, 0.0)


def to_torch(sample: "Sample") -> Batch:
    """Converts a sample of fimjax's prior, with JAX or NumPy arrays."""
    return Batch(**{f.name: torch.tensor(np.asarray(getattr(sample, f.name))) for f in fields(Batch)})


RENAMES: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"embedding\.Dense_0", "embedding"),
    (r"extractor\.DenseBlock_0", "extractor.0"),
    (r"extractor\.Dense_0", "extractor.1"),
    (r"extractor\.Dense_1", "extractor.3"),
    (r"Dense_0", "linear"),
    (r"LayerNorm_0", "norm"),
    (r"block_(\d+)", r"\1"),
    (r"layer_(\d+)", r"layers.\1"),
    (r"norm_0", "norm"),
    (r"(hidden|norm)_2", lambda found: "hidden.1." + {"hidden": "linear", "norm": "norm"}[found[1]]),
    (r"hidden_(\d+)", lambda found: f"hidden.{int(found[1]) - 1}.0"),
    (r"\.(kernel|scale)$", ".weight"),
)
"""Names of Flax parameters that differ in PyTorch, in the order of replacement."""


def to_state_dict(params: Params) -> dict[str, Tensor]:
    """Converts Flax parameters, or gradients of the same structure, to the argument of `load_state_dict`."""
    state = {}
    for name, x in _leaves(params):
        for pattern, replacement in RENAMES:
            name = re.sub(pattern, replacement, name)
        state[name] = x
    return _pack_projections(state)


def _leaves(params: Params, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
    for key, x in params.items():
        name = f"{prefix}{key}"
        if isinstance(x, Mapping):
            yield from _leaves(x, f"{name}.")
        else:
            yield name, _in_torch_shape(name, torch.tensor(np.asarray(x)))


def _in_torch_shape(name: str, x: Tensor) -> Tensor:
    """Flattens heads and transposes matrices to [outputs, inputs]."""
    if name.endswith("bias"):
        return x.flatten()
    if not name.endswith("kernel"):
        return x
    return (x.flatten(0, -2) if name.endswith("attention.out.kernel") else x.flatten(1)).T.contiguous()


def _pack_projections(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Packs all projections of the same tokens into one matrix."""
    for name in [name for name in state if ".key." in name and name.replace(".key.", ".value.") in state]:
        parts = ("query", "key", "value") if "encoder" in name else ("key", "value")
        packed = torch.cat([state.pop(name.replace(".key.", f".{part}.")) for part in parts])
        state[name.replace(".key.", f".{'_'.join(parts)}.")] = packed
    return state


def interpolate_windows(model: FIMLocal, batch: Batch) -> Tensor:
    """FIM-l's interpolation at every slot of every window, [B, K, T, L]."""
    count, times = batch.times.shape[1], batch.query_times().flatten(0, 1)
    out = model(batch.noisy.flatten(0, 1), times, batch.observed.flatten(0, 1), times)
    return out.unflatten(0, (-1, count))


def forecast_target(model: FIM, batch: Batch) -> Tensor:
    """FIM's forecast at every slot of the target window, [B, T, L]."""
    return model(batch.past(), batch.query_times()[:, -1])


def mean_over_series(errors: Tensor, valid: Tensor) -> Tensor:
    """The mean error of each series over its valid slots, averaged over series with any: [B, Q], [B, Q] -> []."""
    means = errors.masked_fill(~valid, 0.0).sum(-1) / valid.sum(-1).clamp(min=1)
    return means.sum() / valid.any(-1).sum().clamp(min=1)


def make_loss(model: FIMLocal | FIM, training: TrainingConfig) -> Callable[[Batch], Tensor]:
    """The loss of a model on a batch."""
    require(not training.spread_power, "spread_power: the PyTorch models do not have it")
    clip = training.target_clip
    levels = torch.tensor(model.config.quantile_levels) if model.config.quantile_levels else None

    def loss(batch: Batch) -> Tensor:
        clean, noisy, valid, observed = batch.clean, batch.noisy, batch.valid, batch.observed
        if isinstance(model, FIM):
            out, value_map = forecast_target(model, batch), batch.past().value_map()
            clean, noisy, counted = clean[:, -1], noisy[:, -1], valid[:, -1]
        else:
            out, value_map = interpolate_windows(model, batch), fit_range(noisy, observed)
            counted = valid if levels is None else valid & ~observed
        out = value_map.normalise(out)
        targets = value_map.normalise(clean if levels is None else noisy).clamp(-clip, clip)
        counted = counted & expand(value_map.scale > 0, counted)
        if levels is None:
            errors = (targets - out[..., 0]).square()
        else:
            error = targets[..., None] - out
            errors = torch.maximum(levels * error, (levels - 1) * error).mean(-1)
        return mean_over_series(errors.flatten(0, -2), counted.flatten(0, -2))

    return loss


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
    """An optimiser step on a given batch; `model` and `average` hold the parameters and their running average."""

    def __init__(self, config: Config, params: Params | None, compiled: bool):
        self.training = config.training
        self.model = load_model(config, params).train()
        self.loss = maybe_compile(make_loss(self.model, config.training), compiled)
        self.trained = [x for x in self.model.parameters() if x.requires_grad]
        self.average = [x.detach().clone() for x in self.trained] if config.training.average_decay else []
        self.optimizer = make_optimizer(self.model, config.training)
        self.good_steps = 0

    def __call__(self, batch: Batch) -> float:
        """Makes a step and returns the loss before it."""
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
    """A training step from Flax parameters or from random ones; torch.compile compiles it at its first call."""
    return TrainStep(config, params, compiled)


def make_forward(config: Config, params: Params | None = None, compiled: bool = False) -> Callable[[Batch], Tensor]:
    """The forward pass without gradients: FIM's forecast of the target window, or FIM-l's output at all slots."""
    model = load_model(config, params).eval()
    predict = forecast_target if isinstance(model, FIM) else interpolate_windows
    forward = maybe_compile(lambda batch: predict(model, batch), compiled)
    return torch.inference_mode()(forward)


def load_model(config: Config, params: Params | None) -> FIMLocal | FIM:
    """Builds the model of a config, with Flax parameters or with random ones from the config's seed."""
    require(config.training.precision == "float32", "precision: the PyTorch models are for float32")
    torch.manual_seed(config.training.seed)
    model = build_model(config.model)
    if params is not None:
        model.load_state_dict(to_state_dict(params))
    return model


def maybe_compile(function: Callable, compiled: bool) -> Callable:
    """Returns the function itself, or compiled for each shape of its input, as JAX does."""
    if not compiled:
        return function
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None:
        raise RuntimeError(f"torch.compile needs a C++ compiler; {compiler!r} does not exist (CXX may name another)")
    return torch.compile(function, dynamic=False, fullgraph=True)
