"""DeepONet, the classical operator network, as a baseline for interpolation (lab report, section 5.1)."""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from fimjax.config import DeepONetConfig
from fimjax.nn.compute import Compute
from fimjax.nn.embedding import Embedding
from fimjax.nn.quantile_head import apply_quantile_head, head_size
from fimjax.nn.scaling import fit_range, zero_unobserved
from fimjax.nn.season import SeasonPhase


class MLP(nn.Module):
    """Linear layers with LeakyReLU between; the first and the last in float32, like FIM-l's."""

    width: int
    layers: int
    outputs: int
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        x = nn.leaky_relu(Embedding(self.width, self.dtype)(x))
        for _ in range(self.layers - 1):
            x = nn.leaky_relu(nn.Dense(self.width, dtype=self.dtype)(x))
        return nn.Dense(self.outputs, dtype=jnp.float32, precision="highest")(x.astype(jnp.float32))


class DeepONet(nn.Module):
    """y(t) = <branch(observations), trunk(t)> + bias.

    The classical branch reads a function at m fixed places. Ours are neither fixed nor complete, so it reads m slots
    of (value, time, observed), filled in order of time; windows with fewer points leave slots empty.
    """

    config: DeepONetConfig
    compute: Compute = Compute()

    def setup(self) -> None:
        c, outputs = self.config, head_size(self.config.quantile_levels)
        self.branch = MLP(c.width, c.layers, c.features, self.compute.dtype)
        self.trunk = MLP(c.width, c.layers, c.features * outputs, self.compute.dtype)
        self.bias = self.param("bias", nn.initializers.zeros, (outputs,))

    def encode(self, values: jax.Array, times: jax.Array, mask: jax.Array) -> jax.Array:
        """values, times, mask [B, T], in the unit square -> [B, p]"""
        order = jnp.argsort(jnp.where(mask, times, jnp.inf), axis=-1)
        values, times = zero_unobserved(values, mask), zero_unobserved(times, mask)
        missing = self.config.sensors - mask.shape[-1]
        if missing < 0:
            raise ValueError(
                f"a window of {mask.shape[-1]} slots does not fit DeepONet's {self.config.sensors} sensors"
            )
        slots = [
            jnp.pad(jnp.take_along_axis(x.astype(jnp.float32), order, axis=-1), ((0, 0), (0, missing)))
            for x in (values, times, mask)
        ]
        return self.branch(jnp.concatenate(slots, axis=-1))

    def decode(self, h: jax.Array, times: jax.Array) -> jax.Array:
        """h [B, p], times [B, Q] -> [B, Q, L]"""
        trunk = self.trunk(times[..., None])
        trunk = trunk.reshape(*trunk.shape[:-1], self.config.features, -1)  # [B, Q, p, L]
        raw = jnp.einsum("bp,bqpl->bql", h, trunk) + self.bias.reshape(1, 1, -1)
        return apply_quantile_head(raw, self.config.quantile_levels)

    def __call__(
        self,
        values: jax.Array,
        times: jax.Array,
        mask: jax.Array,
        query_times: jax.Array,
        season_phase: SeasonPhase | None = None,
    ) -> jax.Array:
        """Interpolates one window of each series, [B, Q, L]; the season, if any, is not used."""
        values, times = zero_unobserved(values, mask), zero_unobserved(times, mask)
        value_map, time_map = fit_range(values, mask), fit_range(times, mask)
        h = self.encode(value_map.normalise(values), time_map.normalise(times), mask)
        return value_map.invert(self.decode(h, time_map.normalise(query_times)))
