"""Metrics of a model on synthetic series, beside simple baselines."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from fimjax.config import TrainingConfig
from fimjax.models import Params, forecasts
from fimjax.nn.quantile_head import median_index
from fimjax.nn.scaling import Affine, fit_range
from fimjax.nn.windows import Windows
from fimjax.prior.sampler import Sample
from fimjax.training.losses import Loss, Mean, fold_windows, interpolate, mean_over_series, target_window

BASELINES = {
    "linear_": "linear interpolation",
    "last_window_": "repeating the last window",
    "last_value_": "repeating the last value",
}
"""Prefixes of the baselines' metrics, and how to say them."""
CLIP = 10.0
"""Targets are clipped to this many scales, so that a few explosive series do not decide the metrics."""


def validation_metrics(model: Any, training: TrainingConfig, params: Params, sample: Sample) -> dict[str, Mean]:
    """`loss`, and `mse` and `mae` of the model and of simple baselines.

    Errors compare the value or median with the clean function, in units of the window (interpolation) or of the series
    (forecasting). Baselines are linear interpolation of the noisy observations, or repeating the last window or value.
    """
    # Unweighted, so that wide quantiles bring no advantage and losses of different recipes can be compared.
    loss = Loss(model, dataclasses.replace(training, spread_power=0.0))
    measure = _forecast_errors if forecasts(model.config) else _interpolation_errors
    return {"loss": loss(params, sample), **measure(model, params, sample)}


def describe(metrics: dict[str, float]) -> str:
    """The root mean squared errors of model and baselines, in a sentence."""
    error = metrics["mse"] ** 0.5
    parts = [f"validation error {error:.4f}"]
    for prefix, name in BASELINES.items():
        if f"{prefix}mse" in metrics:
            other = metrics[f"{prefix}mse"] ** 0.5
            parts.append(f"{name} {other:.4f} (ratio {error / other:.2f})")
    return ", ".join(parts)


def interpolate_linearly(values: jax.Array, times: jax.Array, mask: jax.Array, query_times: jax.Array) -> jax.Array:
    """Linear interpolation; the first and the last value are held constant: [B, T] and [B, Q] -> [B, Q]."""

    def one(values: jax.Array, times: jax.Array, mask: jax.Array, query_times: jax.Array) -> jax.Array:
        order = jnp.argsort(jnp.where(mask, times, jnp.inf))
        values, times, mask = values[order], times[order], mask[order]
        last = jnp.maximum(jnp.sum(mask) - 1, 0)
        # Unobserved points repeat the last observed one, so that they add nothing.
        values = jnp.where(mask, values, values[last])
        times = jnp.where(mask, times, times[last])
        return jnp.interp(query_times, times, values)

    return jax.vmap(one)(values, times, mask, query_times)


def repeat_last_window(past: Windows, query_times: jax.Array) -> jax.Array:
    """The series one window earlier, linearly interpolated: [B, Q] -> [B, Q]."""
    return interpolate_linearly(*_flatten(past), query_times - past.duration[:, None])


def repeat_last_value(past: Windows, query_times: jax.Array) -> jax.Array:
    """The newest observation: [B, Q] -> [B, Q]."""
    return interpolate_linearly(*_flatten(past), jnp.full_like(query_times, jnp.inf))


def _flatten(past: Windows) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Values, times and mask of all windows together, [B, W * T]."""
    flat = lambda x: x.reshape(x.shape[0], -1)
    return flat(past.values), flat(past.times), flat(past.mask)


def _interpolation_errors(model: Any, params: Params, sample: Sample) -> dict[str, Mean]:
    folded = fold_windows(sample)
    predictions = {
        "": interpolate(model, params, folded)[..., median_index(model.config.quantile_levels)],
        "linear_": interpolate_linearly(folded.noisy, folded.times, folded.observed, folded.times),
    }
    return _errors(predictions, folded.clean, folded.valid, fit_range(folded.noisy, folded.observed))


def _forecast_errors(model: Any, params: Params, sample: Sample) -> dict[str, Mean]:
    past, (times, clean, _, valid) = sample.past(), target_window(sample)
    predictions = {
        "": model.apply({"params": params}, past, times)[..., median_index(model.config.quantile_levels)],
        "last_window_": repeat_last_window(past, times),
        "last_value_": repeat_last_value(past, times),
    }
    return _errors(predictions, clean, valid, past.value_map())


def _errors(
    predictions: dict[str, jax.Array], clean: jax.Array, valid: jax.Array, value_map: Affine
) -> dict[str, Mean]:
    """Squared and absolute errors of each prediction, named by its prefix."""
    counted = valid & (value_map.scale > 0)[:, None]
    target = jnp.clip(value_map.normalise(clean), -CLIP, CLIP)
    metrics = {}
    for prefix, prediction in predictions.items():
        error = value_map.normalise(prediction) - target
        metrics[f"{prefix}mse"] = mean_over_series(error**2, counted)
        metrics[f"{prefix}mae"] = mean_over_series(jnp.abs(error), counted)
    return metrics
