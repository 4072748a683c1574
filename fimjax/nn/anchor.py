"""Where an answer starts from: a weighted sum of observed values, chosen by attention.

Exponential smoothing, seasonal naive and autoregression all forecast by weighted sums of what was observed. A network
that has to carry values through its layers copies them roughly; this one points at them.
"""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from fimjax.nn.attention import masked_attention
from fimjax.nn.compute import Compute
from fimjax.nn.packing import Packing, merge_heads, split_heads


class Anchor(nn.Module):
    """Heads that each take a mean of the observed values, and pinned values, added up with weights of any sign."""

    heads: int
    compute: Compute = Compute()

    @nn.compact
    def __call__(
        self,
        queries: jax.Array,
        tokens: jax.Array,
        mask: jax.Array,
        values: jax.Array,
        pinned: jax.Array,
        remainders: jax.Array | None = None,
        base: jax.Array | None = None,
        packed_queries: Packing | None = None,
        packed_tokens: Packing | None = None,
    ) -> jax.Array:
        """What the answers at the queries are counted from.

        Args:
            queries: [B, Q, D]; tokens: [B, T, D]; each of them maybe as rows.
            mask: [B, T]; values: [B, T], what was observed at each token.
            pinned: [B, Q, P] or rows, values that matter always, so that no attention is needed to find them.
            remainders: [B, Q, R] or rows, what may have to be added to these.
            base: [B, Q] or rows, a value from which all others are counted. Without it, gates that sum to one but for a
                hundredth miss by a hundredth of the value, which is much for a series of small errors.

        Returns:
            [B, Q] or rows.
        """
        width = queries.shape[-1] // 2  # to point takes less than to understand
        project = lambda x, name: nn.Dense(width, dtype=self.compute.dtype, name=name)(x)
        (query,) = split_heads(project(queries, "query"), 1, self.heads, packed_queries)
        (key,) = split_heads(project(tokens, "key"), 1, self.heads, packed_tokens)
        column = jnp.broadcast_to(values[:, None, :, None], (*key.shape[:3], 1)).astype(jnp.float32)
        means = merge_heads(masked_attention(query, key, column, mask), packed_queries)  # [B, Q, N]
        levels = jnp.concatenate([means, pinned], axis=-1)
        levels = levels if base is None else levels - base[..., None]
        parts = levels if remainders is None else jnp.concatenate([levels, remainders], axis=-1)
        gates = nn.Dense(
            parts.shape[-1],
            dtype=jnp.float32,
            precision="highest",
            kernel_init=nn.initializers.zeros,
            bias_init=_plain_mean,
            name="gates",
        )(queries.astype(jnp.float32))
        total = jnp.sum(gates * parts, axis=-1)
        return total if base is None else base + total


def _plain_mean(key: jax.Array, shape: tuple[int, ...], dtype: Any = jnp.float32) -> jax.Array:
    """Gates at first: the plain mean of heads and pinned values."""
    return jnp.full(shape, 1 / shape[0], dtype)
