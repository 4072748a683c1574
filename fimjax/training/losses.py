"""What is minimised: squared error against the clean function, or pinball loss against noisy values."""

from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax import struct

from fimjax.config import TrainingConfig
from fimjax.models import forecasts
from fimjax.models.deeponet import DeepONet
from fimjax.models.fim import FIM, Forecast, fit_series
from fimjax.nn.packing import Packing
from fimjax.nn.scaling import Affine, fit_range, safe_sqrt, zero_unobserved
from fimjax.nn.season import SeasonPhase
from fimjax.prior.sampler import Sample
from fimjax.training.microbatching import ALL_SLOTS, Capacity, pack_windows

Params = dict[str, Any]

WINDOW_CLIP = 2.5
"""Targets of a FIM-l that learns beside FIM are clipped to so many ranges, of which two or three points say little."""

LEAST_SPREAD, LEAST_WINDOW_SPREAD = 0.1, 0.03
"""Added to the spread of FIM and of FIM-l before a loss is divided by it, in deviations of the series and in ranges of
the window."""

LEARNED_WINDOWS = 3
"""Of how many windows of a series such a FIM-l learns: each window is an example of its own, and more cost more."""


def pinball(targets: jax.Array, quantiles: jax.Array, levels: tuple[float, ...]) -> jax.Array:
    """max(q (y - f), (q - 1) (y - f)), averaged over the levels: [..., Q], [..., Q, L] -> [..., Q].

    Chosen by the sign of the error: the gradient of a maximum asks which side equals it, and a compiler that rounds a
    side differently the second time finds that neither does.
    """
    q = jnp.asarray(levels).reshape((1,) * targets.ndim + (len(levels),))
    error = targets[..., None] - quantiles
    return jnp.mean(error * jnp.where(error < 0, q - 1, q), axis=-1)


@struct.dataclass
class Mean:
    """A mean as its numerator and denominator, so that shares of unequal count average exactly over devices."""

    total: jax.Array
    count: jax.Array

    @property
    def value(self) -> jax.Array:
        return self.total / jnp.where(self.count > 0, self.count, 1.0)


def mean_of_each(errors: jax.Array, valid: jax.Array) -> jax.Array:
    """The mean error of each series over its valid places, zero where there are none: [B, Q], [B, Q] -> [B]."""
    return jnp.sum(jnp.where(valid, errors, 0.0), axis=-1) / jnp.maximum(jnp.sum(valid, axis=-1), 1)


def mean_over_series(errors: jax.Array, valid: jax.Array) -> Mean:
    """The mean error of each series over its valid places, then over series: each counts equally, long or short.

    Args:
        errors: [B, Q]; valid: [B, Q], bool; series without a valid place are not counted.
    """
    return Mean(jnp.sum(mean_of_each(errors, valid)), jnp.sum(jnp.any(valid, axis=-1)).astype(jnp.float32))


def similarity_distance(predicted: jax.Array, true: jax.Array) -> jax.Array:
    """|cos(h*_K, h_K) - 1| of each series (report, section 8.2): [B, D], [B, D] -> [B]."""
    predicted, true = predicted.astype(jnp.float32), true.astype(jnp.float32)
    norms = safe_sqrt(jnp.sum(predicted**2, axis=-1) * jnp.sum(true**2, axis=-1))
    cosine = jnp.sum(predicted * true, axis=-1) / jnp.maximum(norms, 1e-8)
    return jnp.abs(cosine - 1)


def prediction_errors(
    out: jax.Array,
    clean: jax.Array,
    noisy: jax.Array,
    value_map: Affine,
    valid: jax.Array,
    levels: tuple[float, ...],
    clip: float,
) -> tuple[jax.Array, jax.Array]:
    """The error at each query time, in the units of `value_map`.

    A value is held against the clean function. Quantiles are held against noisy values: trained on clean ones they
    would leave out the noise and be far too narrow. Series without any spread have no scale to be judged by and are
    left out.

    Args:
        out: [B, Q, L]; clean, noisy, valid: [B, Q]; value_map: [B].

    Returns:
        errors [B, Q], and where they count [B, Q].
    """
    out = value_map.normalise(out)
    targets = value_map.normalise(noisy if levels else clean)
    targets = jnp.clip(targets, -clip, clip)
    errors = pinball(targets, out, levels) if levels else jnp.square(targets - out[..., 0])
    return errors, valid & (value_map.scale > 0)[:, None]


def spread_weights(quantiles: jax.Array, counted: jax.Array, power: float, least: float) -> jax.Array:
    """One over a power of how far apart the outer quantiles [B, Q, L] of each series are, on average: [B].

    Without a gradient, so that nothing is won by wide quantiles.
    """
    spread = mean_of_each(quantiles[..., -1] - quantiles[..., 0], counted)
    return jax.lax.stop_gradient(least + spread) ** -power


def target_window(sample: Sample) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Times, clean values, noisy values and validity of the K-th window, each [B, T]."""
    times, clean, noisy, valid = (x[:, -1] for x in (sample.times, sample.clean, sample.noisy, sample.valid))
    return zero_unobserved(times, valid), clean, noisy, valid


def fold_windows(sample: Sample) -> dict[str, Any]:
    """All K windows of all series as windows of their own, for the interpolators: fields [B * K, T]."""
    batch, count, slots = sample.times.shape
    fields = {
        name: getattr(sample, name).reshape(batch * count, slots)
        for name in ("noisy", "times", "observed", "clean", "valid")
    }
    fields["times"] = zero_unobserved(fields["times"], fields["valid"])
    clock = SeasonPhase(sample.origin, sample.duration / sample.steps.astype(jnp.float32), sample.season)
    return {**fields, "clock": clock.repeat(count)}


def interpolate(model: nn.Module, params: Params, folded: dict[str, Any], *packings: Packing | None) -> jax.Array:
    """An interpolator's answer at every slot of every window, [B * K, T, L], or at those that are packed."""
    inputs = (folded["noisy"], folded["times"], folded["observed"], folded["times"], folded["clock"])
    return model.apply({"params": params}, *inputs, *packings)


def learned_windows(sample: Sample) -> slice:
    """The last seen windows, of which a FIM-l that is trained beside FIM learns."""
    count = sample.valid.shape[1]
    return slice(max(0, count - 1 - LEARNED_WINDOWS), count - 1)


def points_and_questions(model: nn.Module, sample: Sample) -> tuple[jax.Array, jax.Array | None]:
    """Slots [B, W, T] that a model reads, and slots at which its loss asks for FIM-l's answer, if it does."""
    # A quantile of a point that the network has just read would teach it to copy, so only the others count.
    asked = sample.valid & ~sample.observed if model.config.quantile_levels else sample.valid
    if not forecasts(model.config):
        return sample.observed, asked
    learns_windows = isinstance(model, FIM) and model.config.interpolation_weight
    return sample.observed[:, :-1], asked[:, learned_windows(sample)] if learns_windows else None


def make_loss(
    model: nn.Module, training: TrainingConfig, rooms: Capacity = ALL_SLOTS
) -> Callable[[Params, Sample], Mean]:
    """The loss of a model on a batch, a pure function of parameters and sample.

    With `rooms` below 1 it is for batches that fit them, of which `assign_microbatches` takes care: the rest would be lost.
    """
    levels, clip = model.config.quantile_levels, training.target_clip
    packs = not isinstance(model, DeepONet)  # which reads all its sensors, filled or not

    def interpolation_loss(params: Params, sample: Sample) -> Mean:
        folded = fold_windows(sample)
        points, asked = points_and_questions(model, sample)
        packings = (pack_windows(points, rooms.points), pack_windows(asked, rooms.questions))
        out = interpolate(model, params, folded, *(packings if packs else ()))
        value_map = fit_range(folded["noisy"], folded["observed"])
        asked = asked.reshape(-1, asked.shape[-1])
        return mean_over_series(
            *prediction_errors(out, folded["clean"], folded["noisy"], value_map, asked, levels, clip)
        )

    def forecasting_loss(params: Params, sample: Sample) -> Mean:
        past, (times, clean, noisy, valid) = sample.past(), target_window(sample)
        if isinstance(model, FIM):
            points, _ = points_and_questions(model, sample)
            forecast = model.apply({"params": params}, past, pack_windows(points, rooms.points), method="encode")
            out = model.apply({"params": params}, forecast, times, method="decode")
        else:
            out = model.apply({"params": params}, past, times)
        value_map = fit_series(past)
        errors, counted = prediction_errors(out, clean, noisy, value_map, valid, levels, clip)
        if training.spread_power and levels:
            weights = spread_weights(value_map.normalise(out), counted, training.spread_power, LEAST_SPREAD)
            errors = errors * weights[:, None]
        if isinstance(model, FIM):
            errors = errors + beside_forecast(params, sample, forecast)[:, None]
        return mean_over_series(errors, counted)

    def beside_forecast(params: Params, sample: Sample, forecast: Forecast) -> jax.Array:
        """What else FIM may learn from [B]: the embedding of the unseen window, and the seen ones' interpolation."""
        past, (times, _, noisy, valid) = sample.past(), target_window(sample)
        _, asked = points_and_questions(model, sample)
        error = jnp.zeros(len(noisy))
        if model.config.similarity_weight > 0:
            window = (fit_series(past).normalise(noisy), past.time_map().normalise(times), valid)
            true, _ = model.apply({"params": params}, *(x[:, None] for x in window), past.clock(), method="embed")
            distance = similarity_distance(forecast.h, jax.lax.stop_gradient(true[:, 0]))
            error = error + model.config.similarity_weight * distance
        if asked is not None:
            beside = seen_windows_error(params, sample, forecast, asked)
            error = error + model.config.interpolation_weight * beside
        return error

    def seen_windows_error(params: Params, sample: Sample, forecast: Forecast, asked: jax.Array) -> jax.Array:
        """FIM-l's error [B] at the points of the last seen windows that are asked for [B, W, T]."""
        last, count = learned_windows(sample), asked.shape[1]
        fields = (sample.times, sample.clean, sample.noisy, sample.valid, sample.observed)
        times, clean, noisy, valid, observed = (x[:, last] for x in fields)
        times, packing = zero_unobserved(times, valid), pack_windows(asked, rooms.questions)
        out = model.apply({"params": params}, forecast, sample.past(), times, packing, method="interpolate")
        fold = lambda x: x.reshape(-1, *x.shape[2:])
        value_map = fit_range(fold(noisy), fold(observed))
        out = fold(out)
        errors, counted = prediction_errors(
            out, fold(clean), fold(noisy), value_map, fold(asked), levels, min(clip, WINDOW_CLIP)
        )
        if training.spread_power and levels:
            weights = spread_weights(value_map.normalise(out), counted, training.spread_power, LEAST_WINDOW_SPREAD)
            errors = errors * weights[:, None]
        return mean_of_each(*(x.reshape(-1, count * x.shape[-1]) for x in (errors, counted)))

    return forecasting_loss if forecasts(model.config) else interpolation_loss
