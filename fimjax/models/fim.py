"""FIM, the forecaster: the next window from the embeddings of the last ones (lab report, section 6.2 and table 3)."""

from typing import Any

import chex
import flax.linen as nn
import jax
import jax.numpy as jnp
from flax import struct

from fimjax.config import FIMConfig
from fimjax.models.fim_local import FIMLocal, Known, to_unit_square
from fimjax.nn.classical.log_trend import choose_unit, grow
from fimjax.nn.classical.smoothers import Smoothed, smooth
from fimjax.nn.compute import Compute
from fimjax.nn.embedding import Embedding
from fimjax.nn.mlp import DenseBlock
from fimjax.nn.packing import Packing, pack, spread, unpack
from fimjax.nn.pooling import SummaryAttention
from fimjax.nn.query_decoder import QueryDecoder, query_features
from fimjax.nn.scaling import Affine, fit_moments, fit_range, zero_unobserved
from fimjax.nn.season import SeasonPhase
from fimjax.nn.statistics import window_statistics
from fimjax.nn.transformer import TransformerEncoder
from fimjax.nn.windows import Windows

NARROWEST_WINDOW = 1e-3
"""Least range of a window, in units of its series: below it a window's wiggles are rounding, not shape."""


@struct.dataclass
class Forecast:
    """The unseen window of B series, ready to be asked at any time."""

    h: jax.Array | None  # [B, D], h*_K, of which FIM-l's decoder tells the window
    points: jax.Array  # [B * W, T, 2D], FIM-l's encoded points of the seen windows, or rows of them
    packing: Packing | None  # of the points, if they are rows
    windows: jax.Array  # [B, W, 2D], the encoded windows
    values: jax.Array  # [B, W, T], of the points, in units of the series
    times: jax.Array  # [B, W, T], of the points, in windows since the forecast origin
    mask: jax.Array  # [B, W, T], which points were observed
    value_map: Affine  # [B], from the series' units to the decoder's
    target_map: Affine  # [B], takes the unseen window to the unit interval
    time_map: Affine  # [B], from time to windows since the forecast origin
    clock: SeasonPhase  # [B], in windows since the forecast origin
    floor: jax.Array | None  # [B], below which no value lies, in units of the series; -inf or None if it is unknown


class Extractor(nn.Module):
    """eta_0: from the width of the summary back to the width that FIM-l decodes."""

    width: int
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """[B, 2D] -> [B, D]"""
        x = DenseBlock(4 * self.width, self.dtype)(x)
        x = nn.leaky_relu(nn.Dense(2 * self.width, dtype=self.dtype)(x))
        return nn.Dense(self.width, dtype=self.dtype)(x)


class FIM(nn.Module):
    """From K - 1 seen windows to the K-th, at any time in it.

    Readings taken: K counts the unseen window, so K - 1 are encoded; the extractor follows the summary; the summary
    has psi_1's heads; the statistics are those of the series scaled to mean 0 and deviation 1, with time in windows
    before the forecast origin, clipped; the unseen window has no observed range, so the decoder speaks in units of the
    series, or, with `learned_scale`, in those of a shift and a scale predicted from the summary.

    The report's way from windows to an answer leads through one vector, h*_K, and FIM-l's decoder. With `query_layers`
    each query time attends to all encoded windows and their points instead, so that a season can be looked up where it
    was last seen; FIM-l then serves as the encoder, and still interpolates.
    """

    config: FIMConfig
    compute: Compute = Compute()

    def setup(self):
        c, width, dtype = self.config, self.config.local.width, self.compute.dtype
        self.local = FIMLocal(c.local, self.compute)
        self.scale_embedding = Embedding(width, dtype)  # sigma_0
        self.window_encoder = TransformerEncoder(  # psi_1
            c.layers, c.heads, c.feedforward, c.norm_first, self.compute
        )
        if c.query_layers:
            self.query_decoder = QueryDecoder(
                2 * width, c.query_layers, c.heads, c.feedforward, c.quantile_levels, c.anchor_heads, self.compute
            )
            if c.placed_points:
                self.point_embedding = Embedding(2 * width, dtype)
        else:
            self.summary = SummaryAttention(c.heads, self.compute)  # lambda_1
            self.extractor = Extractor(width, dtype)  # eta_0
        if c.positional_encoding:
            self.position = self.param("position", nn.initializers.normal(0.02), (c.windows - 1, 2 * width))
        if c.learned_scale:
            # Zeros at first: training begins from the plain decoder.
            self.rescale = nn.Dense(2, dtype=jnp.float32, precision="highest", kernel_init=nn.initializers.zeros)

    def encode(self, windows: Windows, packing: Packing | None = None) -> Forecast:
        """Reads the past of each series.

        Args:
            windows: of B series.
            packing: of the observed points of their windows [B * W, T], so that no work is done on empty slots.
        """
        chex.assert_equal_shape([windows.values, windows.times, windows.mask])
        chex.assert_rank(windows.values, 3)
        windows = windows.with_zeros_in_gaps()
        value_map, time_map, clock = fit_series(windows), windows.time_map(), windows.clock()
        values, times = value_map.normalise(windows.values), time_map.normalise(windows.times)
        h, points = self.embed(values, times, windows.mask, clock, packing)

        statistics = window_statistics(values, times, windows.mask)
        tokens = jnp.concatenate([h, self.scale_embedding(statistics)], axis=-1)
        seen = jnp.any(windows.mask, axis=-1)  # [B, W]
        encoded = self.window_encoder(tokens, seen)
        if self.config.positional_encoding:
            # Counted from the forecast origin, so that the newest window has its place however many there are.
            encoded = encoded + self.position[-encoded.shape[1] :].astype(self.compute.dtype)[None]
        h = None if self.config.query_layers else self.summary(encoded, seen)
        if self.config.learned_scale:
            shift, log_scale = jnp.moveaxis(self.rescale(h.astype(jnp.float32)), -1, 0)
            value_map = value_map.then(Affine(shift, jnp.exp(jnp.clip(log_scale, -5.0, 5.0))))
        h = None if h is None else self.extractor(h)
        return Forecast(
            h=h,
            points=points,
            packing=packing,
            windows=encoded,
            values=zero_unobserved(values, windows.mask),
            times=zero_unobserved(times, windows.mask),
            mask=windows.mask,
            value_map=value_map,
            target_map=windows.target_map(),
            time_map=time_map,
            clock=clock,
            floor=None if windows.floor is None else value_map.normalise(windows.floor),
        )

    def decode(self, forecast: Forecast, query_times: jax.Array) -> jax.Array:
        """The unseen window at query_times [B, Q] -> [B, Q, L], in the units of the series."""
        ahead = forecast.time_map.normalise(query_times)
        phases = self.local.phases(forecast.clock, ahead)
        if self.config.query_layers:
            tokens, mask, packing = build_memory(forecast, self.places(forecast))
            features = query_features(ahead, forecast.clock, phases)
            values, last = observed_values(forecast), last_value(forecast)
            anchor = {"pinned": jnp.broadcast_to(last[:, None, None], (*ahead.shape, 1))}
            if self.config.smoothers:
                smoothed = smooth_series(forecast, ahead, last, self.config)
                told = [smoothed.forecasts - last[:, None, None], smoothed.remainders, smoothed.character]
                features = jnp.concatenate([features, *told], axis=-1)
                anchor = {
                    "pinned": jnp.concatenate([anchor["pinned"], smoothed.forecasts], axis=-1),
                    "remainders": smoothed.remainders,
                    "base": smoothed.forecasts[..., 0] if self.config.anchor_base else None,
                    "unit": smoothed.unit,
                }
            out = self.query_decoder(features, tokens, mask, values=values, packed_tokens=packing, **anchor)
            if self.is_initializing():
                # FIM-l's own decoder has no part in this, but belongs to the model: it interpolates.
                known = Known(forecast.values[:1, 0], forecast.times[:1, 0], forecast.mask[:1, 0])
                self.local.decode_points(forecast.points[:1], known, ahead, phases)
        else:
            out = self.local.decode(forecast.h, forecast.target_map.normalise(query_times), phases)
        return forecast.value_map.invert(out)

    def interpolate(
        self, forecast: Forecast, windows: Windows, query_times: jax.Array, packed_times: Packing | None = None
    ) -> jax.Array:
        """FIM-l's answer for the last seen windows, as many as there are query times for.

        Args:
            query_times: [B, W', Q].
            packed_times: which of the query times [B * W', Q] matter; None for all.

        Returns:
            [B, W', Q, L], in the units of the series.
        """
        windows, count = windows.with_zeros_in_gaps(), query_times.shape[1]
        fold = lambda x: x[:, -count:].reshape(-1, *x.shape[2:])
        values, mask = fold(windows.values), fold(windows.mask)
        times = fold(windows.time_map().normalise(windows.times))
        value_map, to_window = fit_range(values, mask), fit_range(times, mask)
        asked = fold(windows.time_map().normalise(query_times))
        phases = self.local.phases(forecast.clock.repeat(count), asked)
        points = unpack(forecast.points, forecast.packing)
        points = fold(points.reshape(*forecast.mask.shape, -1))
        known = to_unit_square(values, times, mask, value_map, to_window)
        out = self.local.decode_points(points, known, to_window.normalise(asked), phases, None, packed_times)
        return value_map.invert(out).reshape(*query_times.shape, -1)

    def __call__(self, windows: Windows, query_times: jax.Array) -> jax.Array:
        """Forecasts each series at query_times [B, Q] -> [B, Q, L], in the units of the series."""
        return self.decode(self.encode(windows), query_times)

    def places(self, forecast: Forecast) -> jax.Array | None:
        """Value and time of each point as the whole series has them, for FIM-l knows them within a window only.

        Returns:
            [B * W, T, 2D], or rows of it; None if the config does not ask for it.
        """
        if not self.config.placed_points:
            return None
        batch, count, slots = forecast.mask.shape
        fold = lambda x: x.reshape(batch * count, slots)
        times, clock = fold(forecast.times), forecast.clock.repeat(count)
        when = query_features(times, clock, self.local.phases(clock, times))
        features = jnp.concatenate([fold(forecast.values)[..., None], when], axis=-1)
        return self.point_embedding(pack(features, forecast.packing))

    def embed(
        self,
        values: jax.Array,
        times: jax.Array,
        mask: jax.Array,
        clock: SeasonPhase,
        packing: Packing | None = None,
    ) -> tuple[jax.Array, jax.Array]:
        """FIM-l's embedding of each window, h_j, and of its points.

        Args:
            values, times, mask: [B, W, T], values in units of the series, times in windows since the forecast origin.
            clock: [B], in the same unit of time.
            packing: of the observed points of the windows [B * W, T].

        Returns:
            [B, W, D], and [B * W, T, 2D] or rows of it.
        """
        batch, count, slots = values.shape
        values, times, mask = (x.reshape(batch * count, slots) for x in (values, times, mask))
        times = zero_unobserved(times, mask)
        value_map = fit_range(values, mask)
        value_map = value_map.replace(scale=jnp.maximum(value_map.scale, NARROWEST_WINDOW))
        phases = self.local.phases(clock.repeat(count), times)
        unit_square = value_map.normalise(values), fit_range(times, mask).normalise(times)
        points = self.local.encode_points(*unit_square, mask, phases, packing)
        h = self.local.summarise(points, mask, packing)
        return h.reshape(batch, count, -1), points


def build_memory(forecast: Forecast, places: jax.Array | None) -> tuple[jax.Array, jax.Array, Packing | None]:
    """All that query times may attend to: the windows, and every point together with its window and its place.

    Returns:
        [B, W + W * T, 2D], or rows of it; which of them stand for an observation [B, W + W * T]; the packing.
    """
    windows, points, mask, packing = forecast.windows, forecast.points, forecast.mask, forecast.packing
    batch, count, slots = mask.shape
    every = jnp.concatenate([jnp.any(mask, axis=-1), mask.reshape(batch, -1)], axis=1)
    flat = windows.reshape(batch * count, -1)
    placed = points + spread(flat, packing)  # a point knows its window's shape only, and its window where that lies
    placed = placed if places is None else placed + places
    if packing is None:
        return jnp.concatenate([windows, placed.reshape(batch, count * slots, -1)], axis=1), every, None
    return jnp.concatenate([flat, placed]), every, _beside_windows(packing, batch, count)


def observed_values(forecast: Forecast) -> jax.Array:
    """What `build_memory` recollects, in units of the series: the mean of each window, and every point [B, W + W * T]."""
    count = jnp.maximum(jnp.sum(forecast.mask, axis=-1), 1)
    means = jnp.sum(forecast.values, axis=-1) / count
    return jnp.concatenate([means, forecast.values.reshape(len(means), -1)], axis=1)


def smooth_series(forecast: Forecast, ahead: jax.Array, last: jax.Array, config: FIMConfig) -> Smoothed:
    """What classical smoothers, and growth above a floor, say of the times ahead [B, Q], in units of the series; the
    character for each of these times."""
    flat = lambda x: x.reshape(len(x), -1)
    for_each = lambda x: jnp.broadcast_to(x[:, None], (*ahead.shape, x.shape[-1]))
    step, season = forecast.clock.step[:, None], forecast.clock.season
    series = flat(forecast.values), flat(forecast.times) / step, flat(forecast.mask), season, ahead / step
    smoothed = smooth(*series)
    smoothed = smoothed._replace(character=for_each(smoothed.character))
    if not config.knows_floor:
        return smoothed
    grown = grow(*series, last, jnp.full_like(last, -jnp.inf) if forecast.floor is None else forecast.floor)
    character = [smoothed.character, for_each(grown.heights)]
    if config.unit_by_share:
        character += [for_each(jnp.log(grown.typical)[:, None]), jnp.log(grown.steps)[..., None]]
        smoothed = smoothed._replace(unit=choose_unit(smoothed.unit, ahead / step, grown))
    return smoothed._replace(
        forecasts=jnp.concatenate([smoothed.forecasts, grown.forecasts], axis=-1),
        character=jnp.concatenate(character, axis=-1),
    )


def last_value(forecast: Forecast) -> jax.Array:
    """The newest observation [B], in units of the series."""
    flat = lambda x: x.reshape(len(x), -1)
    newest = jnp.argmax(jnp.where(flat(forecast.mask), flat(forecast.times), -jnp.inf), axis=-1, keepdims=True)
    return jnp.take_along_axis(flat(forecast.values), newest, axis=-1)[:, 0]


def _beside_windows(packing: Packing, batch: int, count: int) -> Packing:
    """Rows of windows [B * W] followed by rows of their points, in slots [B, W + W * T]."""
    windows = jnp.arange(batch * count, dtype=jnp.int32)
    slots = packing.rows.shape[-1]
    of_points = (windows.size + packing.rows).reshape(batch, count * slots)
    series, place = jnp.divmod(packing.slots, count * slots)  # unused rows lie beyond the last series, and stay there
    whole = count * (1 + slots)
    return Packing(
        slots=jnp.concatenate(
            [windows // count * whole + windows % count, series * whole + jnp.where(series < batch, count + place, 0)]
        ),
        rows=jnp.concatenate([windows.reshape(batch, count), of_points], axis=1),
    )


def fit_series(windows: Windows) -> Affine:
    """The one map of a series' values: mean 0 and deviation 1 over all that was observed."""
    return fit_moments(windows.values, windows.mask, axes=(-2, -1))
