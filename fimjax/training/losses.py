"""Training losses: squared error against the clean function, or pinball loss against noisy values."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from flax import struct

from fimjax.config import TrainingConfig
from fimjax.models import Params, forecasts
from fimjax.models.deeponet import DeepONet
from fimjax.models.encoders import EncodedWindows
from fimjax.models.fim import FIM
from fimjax.models.fim_report import PredictedWindow, ReportFIM
from fimjax.nn.packing import Packing
from fimjax.nn.scaling import Affine, fit_range, safe_sqrt, zero_unobserved
from fimjax.nn.season import SeasonPhase
from fimjax.prior.sampler import Sample
from fimjax.training.microbatching import ALL_SLOTS, Capacity, pack_windows

WINDOW_CLIP = 2.5
"""Targets of the FIM-l inside FIM are clipped to this many ranges, because two or three points define no range."""
LEAST_SPREAD, LEAST_WINDOW_SPREAD = 0.1, 0.03
"""Added to the spread of a forecast (in standard deviations) and of an interpolation (in window ranges) before dividing
by it."""
INTERPOLATED_WINDOWS = 3
"""Last seen windows of each series on which FIM-l learns beside FIM. More would cost more than they teach."""


def pinball(targets: jax.Array, quantiles: jax.Array, levels: tuple[float, ...]) -> jax.Array:
    """max(q (y - f), (q - 1) (y - f)), averaged over the levels: [..., Q], [..., Q, L] -> [..., Q].

    It is written with the sign of the error. The gradient of a maximum compares both sides for equality, which fails
    when a compiler rounds one of them differently.
    """
    q = jnp.asarray(levels).reshape((1,) * targets.ndim + (len(levels),))
    error = targets[..., None] - quantiles
    return jnp.mean(error * jnp.where(error < 0, q - 1, q), axis=-1)


class Mean(struct.PyTreeNode):
    """A mean as total and count, so that devices with unequal counts average exactly."""

    total: jax.Array
    count: jax.Array

    @property
    def value(self) -> jax.Array:
        """The mean; zero if nothing was counted."""
        return self.total / jnp.where(self.count > 0, self.count, 1.0)


def mean_per_series(errors: jax.Array, valid: jax.Array) -> jax.Array:
    """The mean error of each series over its valid places, zero if it has none: [B, Q], [B, Q] -> [B]."""
    return jnp.sum(jnp.where(valid, errors, 0.0), axis=-1) / jnp.maximum(jnp.sum(valid, axis=-1), 1)


def mean_over_series(errors: jax.Array, valid: jax.Array) -> Mean:
    """The mean over series of their mean errors, so that long and short series count equally.

    Args:
        errors: [B, Q]; valid: [B, Q]. Series without a valid place are not counted.
    """
    count = jnp.sum(jnp.any(valid, axis=-1)).astype(jnp.float32)
    return Mean(jnp.sum(mean_per_series(errors, valid)), count)


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

    A single value is compared with the clean function. Quantiles are compared with noisy values, because trained on
    clean ones they would leave out the noise and be far too narrow. Constant series have no scale and are left out.

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
    """Weights [B]: one over a power of the mean distance between the outer quantiles [B, Q, L] of each series.

    They have no gradient, so that wide quantiles bring no advantage.
    """
    spread = mean_per_series(quantiles[..., -1] - quantiles[..., 0], counted)
    return jax.lax.stop_gradient(least + spread) ** -power


def target_window(sample: Sample) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Times, clean values, noisy values and validity of the K-th window, each [B, T]."""
    times, clean, noisy, valid = (x[:, -1] for x in (sample.times, sample.clean, sample.noisy, sample.valid))
    return zero_unobserved(times, valid), clean, noisy, valid


class FoldedWindows(struct.PyTreeNode):
    """All K windows of B series as B * K windows of their own, as the interpolators read them."""

    noisy: jax.Array  # [B * K, T], like the other fields
    clean: jax.Array
    times: jax.Array
    observed: jax.Array
    valid: jax.Array
    season_phase: SeasonPhase  # [B * K]


def fold_windows(sample: Sample) -> FoldedWindows:
    """The windows of a sample, folded into the leading axis."""
    batch, count, slots = sample.times.shape
    fold = lambda x: x.reshape(batch * count, slots)
    step = sample.duration / sample.steps.astype(jnp.float32)
    return FoldedWindows(
        noisy=fold(sample.noisy),
        clean=fold(sample.clean),
        times=zero_unobserved(fold(sample.times), fold(sample.valid)),
        observed=fold(sample.observed),
        valid=fold(sample.valid),
        season_phase=SeasonPhase(sample.origin, step, sample.season).repeat(count),
    )


def interpolate(model: Any, params: Params, folded: FoldedWindows, *packings: Packing | None) -> jax.Array:
    """An interpolator's output at every slot of every window, or at the packed ones: [B * K, T, L]."""
    inputs = (folded.noisy, folded.times, folded.observed, folded.times, folded.season_phase)
    return model.apply({"params": params}, *inputs, *packings)


def interpolated_windows(sample: Sample) -> slice:
    """The last seen windows, on which the FIM-l inside FIM learns."""
    count = sample.valid.shape[1]
    return slice(max(0, count - 1 - INTERPOLATED_WINDOWS), count - 1)


def packed_slots(model: Any, sample: Sample) -> tuple[jax.Array, jax.Array | None]:
    """Slots [B, W, T] that a model reads, and slots at which the loss queries its FIM-l, if it does."""
    # The quantile of a point that the network has just read would teach it to copy, so only the others count.
    queried = sample.valid & ~sample.observed if model.config.quantile_levels else sample.valid
    if not forecasts(model.config):
        return sample.observed, queried
    trains_local = isinstance(model, FIM) and model.config.interpolation_weight > 0
    return sample.observed[:, :-1], queried[:, interpolated_windows(sample)] if trains_local else None


@dataclass(frozen=True)
class Loss:
    """The loss of a model on a batch: a pure function of parameters and sample.

    With a capacity below 1 the batch must fit it (see `assign_microbatches`); points beyond it would be lost.
    """

    model: Any
    training: TrainingConfig
    capacity: Capacity = ALL_SLOTS

    def __call__(self, params: Params, sample: Sample) -> Mean:
        """The mean loss over the series of a batch."""
        if forecasts(self.model.config):
            return self._forecast_loss(params, sample)
        return self._interpolation_loss(params, sample)

    @property
    def _levels(self) -> tuple[float, ...]:
        return self.model.config.quantile_levels

    def _interpolation_loss(self, params: Params, sample: Sample) -> Mean:
        """An interpolator's error at the queried slots of all windows."""
        folded = fold_windows(sample)
        points, queried = packed_slots(self.model, sample)
        assert queried is not None
        packings: tuple[Packing | None, ...] = ()
        if not isinstance(self.model, DeepONet):  # which reads all its sensors, filled or not
            packings = (pack_windows(points, self.capacity.points), pack_windows(queried, self.capacity.queries))
        out = interpolate(self.model, params, folded, *packings)
        value_map = fit_range(folded.noisy, folded.observed)
        queried = queried.reshape(-1, queried.shape[-1])
        errors = prediction_errors(
            out, folded.clean, folded.noisy, value_map, queried, self._levels, self.training.target_clip
        )
        return mean_over_series(*errors)

    def _forecast_loss(self, params: Params, sample: Sample) -> Mean:
        """A forecaster's error in the unseen window, and what FIM learns beside it."""
        past, (times, clean, noisy, valid) = sample.past(), target_window(sample)
        apply = lambda *inputs, **options: self.model.apply({"params": params}, *inputs, **options)
        encoded = None
        if isinstance(self.model, FIM | ReportFIM):
            points, _ = packed_slots(self.model, sample)
            encoded = apply(past, pack_windows(points, self.capacity.points), method="encode")
            out = apply(encoded, times, method="decode")
        else:
            out = apply(past, times)
        value_map = past.value_map()
        errors, counted = prediction_errors(
            out, clean, noisy, value_map, valid, self._levels, self.training.target_clip
        )
        errors = errors * self._weights(value_map.normalise(out), counted, LEAST_SPREAD)
        if isinstance(encoded, EncodedWindows):
            errors = errors + self._local_error(params, sample, encoded)[:, None]
        if isinstance(encoded, PredictedWindow):
            errors = errors + self._similarity_error(params, sample, encoded)[:, None]
        return mean_over_series(errors, counted)

    def _local_error(self, params: Params, sample: Sample, encoded: EncodedWindows) -> jax.Array:
        """The weighted error [B] of the FIM-l inside FIM, at the queried slots of the last seen windows."""
        _, queried = packed_slots(self.model, sample)
        if queried is None:
            return jnp.zeros(len(sample.origin))
        last, count = interpolated_windows(sample), queried.shape[1]
        fields = (sample.times, sample.clean, sample.noisy, sample.valid, sample.observed)
        times, clean, noisy, valid, observed = (x[:, last] for x in fields)
        times, packing = zero_unobserved(times, valid), pack_windows(queried, self.capacity.queries)
        out = self.model.apply({"params": params}, encoded, sample.past(), times, packing, method="interpolate")
        fold = lambda x: x.reshape(-1, *x.shape[2:])
        value_map, out = fit_range(fold(noisy), fold(observed)), fold(out)
        clip = min(self.training.target_clip, WINDOW_CLIP)
        errors, counted = prediction_errors(out, fold(clean), fold(noisy), value_map, fold(queried), self._levels, clip)
        errors = errors * self._weights(value_map.normalise(out), counted, LEAST_WINDOW_SPREAD)
        per_series = (x.reshape(-1, count * x.shape[-1]) for x in (errors, counted))
        return self.model.config.interpolation_weight * mean_per_series(*per_series)

    def _similarity_error(self, params: Params, sample: Sample, predicted: PredictedWindow) -> jax.Array:
        """beta times the distance [B] between predicted and true embedding of the unseen window (section 8.2)."""
        weight = self.model.config.similarity_weight
        past, (times, _, noisy, valid) = sample.past(), target_window(sample)
        if weight == 0:
            return jnp.zeros(len(noisy))
        window = (past.value_map().normalise(noisy), past.time_map().normalise(times), valid)
        inputs = (*(x[:, None] for x in window), past.season_phase())
        true, _ = self.model.apply({"params": params}, *inputs, method="embed_windows")
        return weight * similarity_distance(predicted.h, jax.lax.stop_gradient(true[:, 0]))

    def _weights(self, quantiles: jax.Array, counted: jax.Array, least: float) -> jax.Array:
        """Weights [B, 1] by the spread of each series' quantiles, if the config asks for them."""
        if not (self.training.spread_power and self._levels):
            return jnp.ones((len(counted), 1))
        return spread_weights(quantiles, counted, self.training.spread_power, least)[:, None]
