"""FIM, the shipped forecaster: query times attend to the encoded past and correct classical forecasts."""

import jax
import jax.numpy as jnp

from fimjax.config import FIMConfig
from fimjax.models.encoders import EncodedWindows, WindowEncoder
from fimjax.models.fim_local import FIMLocal, UnitSquarePoints, to_unit_square
from fimjax.nn.classical.log_trend import choose_error_scale, fit_log_trend
from fimjax.nn.classical.smoothers import Smoothed, smooth
from fimjax.nn.embedding import Embedding
from fimjax.nn.packing import Packing, pack, spread, unpack
from fimjax.nn.query_decoder import AnchorInputs, QueryDecoder, query_features
from fimjax.nn.scaling import fit_range
from fimjax.nn.windows import Windows


class FIM(WindowEncoder):
    """From the seen windows of a series to its values at any later time.

    Each query time attends to all encoded windows and their points, so that a season can be looked up where it was last
    seen. The output corrects a baseline: a weighted sum of observed values and of classical forecasts. FIM-l serves as
    the encoder of windows, and interpolates between observations.
    """

    config: FIMConfig

    def setup(self) -> None:
        super().setup()
        c = self.config
        self.local = FIMLocal(c.local, self.compute)
        width = 2 * c.local.width
        self.point_embedding = Embedding(width, self.compute.dtype)
        self.query_decoder = QueryDecoder(
            width, c.query_layers, c.heads, c.feedforward, c.quantile_levels, c.anchor_heads, self.compute
        )

    def encode(self, windows: Windows, packing: Packing | None = None) -> EncodedWindows:
        """Encodes the past of B series; see `WindowEncoder.encode_windows`."""
        return self.encode_windows(windows, packing)

    def decode(self, encoded: EncodedWindows, query_times: jax.Array) -> jax.Array:
        """The forecast at query_times [B, Q]: [B, Q, L], in the units of the series."""
        relative_times = encoded.time_map.normalise(query_times)
        season_features = self.local.season_features(encoded.season_phase, relative_times)
        features = query_features(relative_times, encoded.season_phase, season_features)
        tokens, mask, packing = build_memory(encoded, self.point_positions(encoded))
        last = last_value(encoded)[:, None, None]
        baselines = baseline_forecasts(encoded, relative_times)
        extra_features = [baselines.forecasts - last, baselines.seasonal_residuals, baselines.scale_features]
        last = jnp.broadcast_to(last, (*relative_times.shape, 1))
        out = self.query_decoder(
            jnp.concatenate([features, *extra_features], axis=-1),
            tokens,
            mask,
            error_scale=baselines.error_scale,
            anchor_inputs=AnchorInputs(
                values=memory_values(encoded),
                baseline_forecasts=jnp.concatenate([last, baselines.forecasts], axis=-1),
                seasonal_residuals=baselines.seasonal_residuals,
                reference=baselines.forecasts[..., 0],
            ),
            packed_tokens=packing,
        )
        if self.is_initializing():
            # FIM-l's decoder takes no part in a forecast, but its parameters belong to the model: it interpolates.
            points = UnitSquarePoints(encoded.values[:1, 0], encoded.times[:1, 0], encoded.mask[:1, 0])
            self.local.decode_points(encoded.points[:1], points, relative_times, season_features)
        return encoded.value_map.invert(out)

    def interpolate(
        self, encoded: EncodedWindows, windows: Windows, query_times: jax.Array, packed_times: Packing | None = None
    ) -> jax.Array:
        """FIM-l's interpolation of the last seen windows.

        Args:
            query_times: [B, W', Q], for the last W' windows.
            packed_times: which of the query times [B * W', Q] matter; None for all.

        Returns:
            [B, W', Q, L], in the units of the series.
        """
        windows, count = windows.with_zeros_in_gaps(), query_times.shape[1]
        fold = lambda x: x[:, -count:].reshape(-1, *x.shape[2:])
        values, mask = fold(windows.values), fold(windows.mask)
        times = fold(windows.time_map().normalise(windows.times))
        value_map, time_map = fit_range(values, mask), fit_range(times, mask)
        relative_times = fold(windows.time_map().normalise(query_times))
        season_features = self.local.season_features(encoded.season_phase.repeat(count), relative_times)
        encoded_points = unpack(encoded.points, encoded.packing)
        encoded_points = fold(encoded_points.reshape(*encoded.mask.shape, -1))
        points = to_unit_square(values, times, mask, value_map, time_map)
        out = self.local.decode_points(
            encoded_points, points, time_map.normalise(relative_times), season_features, None, packed_times
        )
        return value_map.invert(out).reshape(*query_times.shape, -1)

    def __call__(self, windows: Windows, query_times: jax.Array) -> jax.Array:
        """Forecasts each series at query_times [B, Q]: [B, Q, L], in the units of the series."""
        return self.decode(self.encode(windows), query_times)

    def point_positions(self, encoded: EncodedWindows) -> jax.Array:
        """Embeds value and time of each point within the whole series, because FIM-l only knows them within a window.

        Returns:
            [B * W, T, 2D], or packed rows.
        """
        batch, count, slots = encoded.mask.shape
        fold = lambda x: x.reshape(batch * count, slots)
        times, season_phase = fold(encoded.times), encoded.season_phase.repeat(count)
        time_features = query_features(times, season_phase, self.local.season_features(season_phase, times))
        features = jnp.concatenate([fold(encoded.values)[..., None], time_features], axis=-1)
        return self.point_embedding(pack(features, encoded.packing))


def build_memory(encoded: EncodedWindows, positions: jax.Array) -> tuple[jax.Array, jax.Array, Packing | None]:
    """All tokens that query times may attend to: the windows, and every point with its window and its position.

    Returns:
        tokens [B, W + W * T, 2D], or packed rows; mask [B, W + W * T]; the packing.
    """
    windows, mask, packing = encoded.windows, encoded.mask, encoded.packing
    batch, count, slots = mask.shape
    all_mask = jnp.concatenate([jnp.any(mask, axis=-1), mask.reshape(batch, -1)], axis=1)
    flat = windows.reshape(batch * count, -1)
    points = encoded.points + spread(flat, packing) + positions
    if packing is None:
        return jnp.concatenate([windows, points.reshape(batch, count * slots, -1)], axis=1), all_mask, None
    return jnp.concatenate([flat, points]), all_mask, _add_windows_to_packing(packing, batch, count)


def memory_values(encoded: EncodedWindows) -> jax.Array:
    """The standardised value of each token of `build_memory`: window means and points, [B, W + W * T]."""
    count = jnp.maximum(jnp.sum(encoded.mask, axis=-1), 1)
    means = jnp.sum(encoded.values, axis=-1) / count
    return jnp.concatenate([means, encoded.values.reshape(means.shape[0], -1)], axis=1)


def baseline_forecasts(encoded: EncodedWindows, relative_times: jax.Array) -> Smoothed:
    """Additive and multiplicative classical forecasts at the times [B, Q], standardised.

    Returns:
        As `smooth`, with the forecasts of `fit_log_trend` appended and scale_features [B, Q, C] for each time.
    """
    flat = lambda x: x.reshape(x.shape[0], -1)
    per_query = lambda x: jnp.broadcast_to(x[:, None], (*relative_times.shape, x.shape[-1]))
    last, step, season = last_value(encoded), encoded.season_phase.step[:, None], encoded.season_phase.season
    query_steps = relative_times / step
    series = flat(encoded.values), flat(encoded.times) / step, flat(encoded.mask), season, query_steps
    additive = smooth(*series)
    floor = jnp.full_like(last, -jnp.inf) if encoded.floor is None else encoded.floor
    multiplicative = fit_log_trend(*series, last, floor)
    scale_features = [
        per_query(additive.scale_features),
        per_query(multiplicative.heights),
        per_query(jnp.log(multiplicative.typical_step_size)[:, None]),
        jnp.log(multiplicative.step_size)[..., None],
    ]
    return Smoothed(
        forecasts=jnp.concatenate([additive.forecasts, multiplicative.forecasts], axis=-1),
        seasonal_residuals=additive.seasonal_residuals,
        error_scale=choose_error_scale(additive.error_scale, query_steps, multiplicative),
        scale_features=jnp.concatenate(scale_features, axis=-1),
    )


def last_value(encoded: EncodedWindows) -> jax.Array:
    """The newest observation [B], standardised."""
    flat = lambda x: x.reshape(x.shape[0], -1)
    newest = jnp.argmax(jnp.where(flat(encoded.mask), flat(encoded.times), -jnp.inf), axis=-1, keepdims=True)
    return jnp.take_along_axis(flat(encoded.values), newest, axis=-1)[:, 0]


def _add_windows_to_packing(packing: Packing, batch: int, count: int) -> Packing:
    """The packing of rows of windows [B * W] followed by rows of their points, in slots [B, W + W * T]."""
    windows = jnp.arange(batch * count, dtype=jnp.int32)
    slots = packing.rows.shape[-1]
    point_rows = (windows.size + packing.rows).reshape(batch, count * slots)
    series, place = jnp.divmod(packing.slots, count * slots)  # unused rows lie beyond the last series, and stay there
    length = count * (1 + slots)
    return Packing(
        slots=jnp.concatenate(
            [windows // count * length + windows % count, series * length + jnp.where(series < batch, count + place, 0)]
        ),
        rows=jnp.concatenate([windows.reshape(batch, count), point_rows], axis=1),
    )
