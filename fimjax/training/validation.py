"""How good a model is on a fixed synthetic set, beside the simple answer to the same question."""

import dataclasses
from collections.abc import Callable

import flax.linen as nn
import jax
import jax.numpy as jnp

from fimjax.config import TrainingConfig
from fimjax.models import forecasts
from fimjax.models.fim import fit_series
from fimjax.nn.quantile_head import median_index
from fimjax.nn.scaling import Affine, fit_range
from fimjax.prior.sampler import Sample
from fimjax.training.baselines import interpolate_linearly, repeat_last_value, repeat_last_window
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


SIMPLE_ANSWERS = {
    "linear_": "linear interpolation",
    "last_window_": "repeating the last window",
    "last_value_": "repeating the last value",
}

CLIP = 10.0
"""Targets beyond so many scales are brought back to it, lest a few explosive series be all that is measured."""


def make_evaluation(model: nn.Module, training: TrainingConfig) -> Callable[[Params, Sample], Metrics]:
    """A pure function from parameters and sample to `loss`, and to `mse` and `mae` of the model and of simple answers.

    Errors are those of the value or median against the clean function, in the units of the window (interpolation) or
    of the series (forecasting). Simple answers are linear interpolation of the noisy observations, and repeating the
    last window or the last value.
    """
    # Unweighted: a checkpoint must not win by wide quantiles, nor losses of other recipes be of another kind.
    loss = make_loss(model, dataclasses.replace(training, spread_power=0.0))
    point = median_index(model.config.quantile_levels)

    def errors(answers: dict[str, jax.Array], clean: jax.Array, valid: jax.Array, value_map: Affine) -> Metrics:
        counted = valid & (value_map.scale > 0)[:, None]
        target = jnp.clip(value_map.normalise(clean), -CLIP, CLIP)
        metrics = {}
        for name, answer in answers.items():
            error = value_map.normalise(answer) - target
            metrics[f"{name}mse"] = mean_over_series(error**2, counted)
            metrics[f"{name}mae"] = mean_over_series(jnp.abs(error), counted)
        return metrics

    def evaluate_interpolation(params: Params, sample: Sample) -> Metrics:
        folded = fold_windows(sample)
        answers = {
            "": interpolate(model, params, folded)[..., point],
            "linear_": interpolate_linearly(folded["noisy"], folded["times"], folded["observed"], folded["times"]),
        }
        return errors(answers, folded["clean"], folded["valid"], fit_range(folded["noisy"], folded["observed"]))

    def evaluate_forecast(params: Params, sample: Sample) -> Metrics:
        past, (times, clean, _, valid) = sample.past(), target_window(sample)
        answers = {
            "": model.apply({"params": params}, past, times)[..., point],
            "last_window_": repeat_last_window(past, times),
            "last_value_": repeat_last_value(past, times),
        }
        return errors(answers, clean, valid, fit_series(past))

    measure = evaluate_forecast if forecasts(model.config) else evaluate_interpolation
    return lambda params, sample: {"loss": loss(params, sample), **measure(params, sample)}


def describe(metrics: dict[str, float]) -> str:
    """The root mean squared errors of model and simple answers, in a sentence."""
    error = metrics["mse"] ** 0.5
    parts = [f"validation error {error:.4f}"]
    for prefix, name in SIMPLE_ANSWERS.items():
        if f"{prefix}mse" in metrics:
            other = metrics[f"{prefix}mse"] ** 0.5
            parts.append(f"{name} {other:.4f} (ratio {error / other:.2f})")
    return ", ".join(parts)
