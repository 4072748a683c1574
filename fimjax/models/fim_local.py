"""FIM-l, the neural interpolation operator (lab report, section 6.1 and table 2)."""

from typing import Any

import chex
import flax.linen as nn
import jax
import jax.numpy as jnp

from fimjax.config import FIMLocalConfig
from fimjax.nn.embedding import Embedding
from fimjax.nn.head import apply_head, head_size
from fimjax.nn.scaling import fit_range, zero_unobserved
from fimjax.nn.season import Clock, waves
from fimjax.nn.summary import SummaryAttention
from fimjax.nn.transformer import TransformerEncoder
from fimjax.nn.trunk import DenseBlock, Projection, TrunkMLP


class FIMLocal(nn.Module):
    """From noisy observations of a function to the function at any time.

    `encode` and `decode` work in the unit square: values and times of a window run from 0 to 1 over its observed
    points. Calling the module does the whole way from raw observations to raw values.

    Readings taken where the report is silent or at odds with itself: the encoder's internals are those of
    `TransformerEncoder`; the branch MLP comes after the encoder and before the summary, so that the learnable query
    has width d; the projection's widths are those of `Projection`; one affine map for each window, fitted on observed
    points, serves inputs, targets, query times and the inverse.
    """

    config: FIMLocalConfig
    dtype: Any = jnp.float32

    def setup(self):
        c = self.config
        self.value_embedding = Embedding(c.width, self.dtype)  # phi_0
        self.time_embedding = Embedding(c.width, self.dtype)  # phi_1
        self.branch_encoder = TransformerEncoder(  # psi_0
            c.layers, c.heads, c.feedforward, c.norm_first, self.dtype
        )
        self.branch_mlp = DenseBlock(c.width, self.dtype)  # phi_3
        self.summary = SummaryAttention(1, self.dtype)  # lambda_0
        self.trunk_embedding = Embedding(c.width, self.dtype)  # phi_4
        self.trunk_mlp = TrunkMLP(c.width, c.trunk_layers, self.dtype)  # phi_5
        self.projection = Projection(  # phi_7
            tuple(n * c.width for n in c.projection), head_size(c.quantile_levels), self.dtype
        )

    def encode(self, values: jax.Array, times: jax.Array, mask: jax.Array, phases: jax.Array | None = None):
        """The window as one vector, h.

        Args:
            values, times: [B, T] in the unit square; mask: [B, T].
            phases: [B, T, F] of the season, if the config asks for them.

        Returns:
            [B, D]; what an empty window gives is finite and means nothing.
        """
        values, times = zero_unobserved(values, mask), zero_unobserved(times, mask)
        embedded = [self.value_embedding(values[..., None]), self.time_embedding(self._time_features(times, phases))]
        tokens = self.branch_encoder(jnp.concatenate(embedded, axis=-1), mask)  # [B, T, 2D]
        return self.summary(self.branch_mlp(tokens), mask)

    def decode(self, h: jax.Array, times: jax.Array, phases: jax.Array | None = None) -> jax.Array:
        """The function that h stands for, at any times.

        Args:
            h: [B, D]; times: [B, Q] in the unit square of the window; phases: [B, Q, F].

        Returns:
            [B, Q, L], float32: a value (L = 1) or rising quantiles.
        """
        trunk = self.trunk_mlp(self.trunk_embedding(self._time_features(times, phases)))
        return apply_head(self.projection(h, trunk), self.config.quantile_levels)

    def __call__(
        self,
        values: jax.Array,
        times: jax.Array,
        mask: jax.Array,
        query_times: jax.Array,
        clock: Clock | None = None,
    ) -> jax.Array:
        """Interpolates one window of each series.

        Args:
            values, times, mask: [B, T]; query_times: [B, Q]; clock: where the season stands, None for no season.

        Returns:
            [B, Q, L] in the units of the values.
        """
        chex.assert_equal_shape([values, times, mask])
        chex.assert_rank([values, query_times], 2)
        values, times = zero_unobserved(values, mask), zero_unobserved(times, mask)
        value_map, time_map = fit_range(values, mask), fit_range(times, mask)
        h = self.encode(value_map.normalise(values), time_map.normalise(times), mask, self.phases(clock, times))
        return value_map.invert(self.decode(h, time_map.normalise(query_times), self.phases(clock, query_times)))

    def phases(self, clock: Clock | None, times: jax.Array) -> jax.Array | None:
        """The season's features at these times, as far as the config asks for them."""
        harmonics = self.config.season_harmonics
        if harmonics == 0:
            return None
        if clock is None:
            return jnp.zeros((*times.shape, 2 * harmonics + 1))
        return clock.phases(times, harmonics)

    def _time_features(self, times: jax.Array, phases: jax.Array | None) -> jax.Array:
        """Time in the unit square, its waves and the season's phases, as far as the config asks for them."""
        features = [times[..., None]]
        if self.config.time_waves:
            features.append(waves(0.5 * times, self.config.time_waves))
        return jnp.concatenate(features + ([] if phases is None else [phases]), axis=-1)
