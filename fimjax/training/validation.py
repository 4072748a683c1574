"""How good a model is on a fixed synthetic set, beside the simple answer to the same question."""

from collections.abc import Callable

import flax.linen as nn
import jax
import jax.numpy as jnp

from fimjax.config import TrainingConfig
from fimjax.models.fim import FIM, fit_series
from fimjax.nn.head import median_index
from fimjax.nn.scaling import Affine, fit_range
from fimjax.prior.sampler import Sample
from fimjax.training.baselines import interpolate_linearly, repeat_last_window
from fimjax.training.losses import (
    Mean,
    Params,
    fold_windows,
    interpolate,
    make_loss,
    mean_over_series,
    target_window,
)

Metrics = dict[str, Mean]


def baseline_name(model: nn.Module) -> str:
    """The simple answer that a model is compared with."""
    return "repeating the last window" if isinstance(model, FIM) else "linear interpolation"


def make_evaluation(model: nn.Module, training: TrainingConfig) -> Callable[[Params, Sample], Metrics]:
    """A pure function from parameters and sample to `loss`, and to `mse` and `mae` of model and baseline.

    Errors are those of the value or median against the clean function, in the units of the window (interpolation) or
    of the series (forecasting), targets clipped as in training.
    """
    loss = make_loss(model, training)
    point = median_index(model.config.quantile_levels)

    def errors(out: jax.Array, baseline: jax.Array, clean: jax.Array, valid: jax.Array, value_map: Affine) -> Metrics:
        counted = valid & (value_map.scale > 0)[:, None]
        target = jnp.clip(value_map.normalise(clean), -training.target_clip, training.target_clip)
        error = value_map.normalise(out[..., point]) - target
        baseline_error = value_map.normalise(baseline) - target
        return {
            "mse": mean_over_series(error**2, counted),
            "mae": mean_over_series(jnp.abs(error), counted),
            "baseline_mse": mean_over_series(baseline_error**2, counted),
            "baseline_mae": mean_over_series(jnp.abs(baseline_error), counted),
        }

    def evaluate_interpolation(params: Params, sample: Sample) -> Metrics:
        folded = fold_windows(sample)
        out = interpolate(model, params, folded)
        baseline = interpolate_linearly(folded["noisy"], folded["times"], folded["observed"], folded["times"])
        value_map = fit_range(folded["noisy"], folded["observed"])
        return errors(out, baseline, folded["clean"], folded["valid"], value_map)

    def evaluate_forecast(params: Params, sample: Sample) -> Metrics:
        past, (times, clean, _, valid) = sample.past(), target_window(sample)
        out = model.apply({"params": params}, past, times)
        return errors(out, repeat_last_window(past, times), clean, valid, fit_series(past))

    measure = evaluate_forecast if isinstance(model, FIM) else evaluate_interpolation
    return lambda params, sample: {"loss": loss(params, sample), **measure(params, sample)}
