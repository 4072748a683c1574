"""Multi-head attention that respects masks, over slots or packed rows."""

import flax.linen as nn
import jax
import jax.numpy as jnp

from fimjax.nn.compute import Compute
from fimjax.nn.packing import Packing, merge_heads, split_heads

HIDDEN = -1e30
"""Score of a masked token: finite, so that no difference of two scores is NaN."""


def masked_attention(query: jax.Array, key: jax.Array, value: jax.Array, mask: jax.Array) -> jax.Array:
    """Scaled dot-product attention with a float32 softmax. A row whose tokens are all masked yields zeros.

    Without that rule a fully masked row would return the mean over its padding. Heads come before tokens, so that each
    product reads contiguous matrices.

    Args:
        query: [B, N, Q, D]; key, value: [B, N, T, D]; mask: [B, T], True = may be seen.

    Returns:
        [B, N, Q, D]
    """
    seen = mask[:, None, None, :]
    scores = jnp.einsum("bnqd,bntd->bnqt", query, key, preferred_element_type=jnp.float32)
    scores = jnp.where(seen, scores * query.shape[-1] ** -0.5, HIDDEN)
    weights = jnp.where(jnp.any(seen, axis=-1, keepdims=True), jax.nn.softmax(scores, axis=-1), 0.0)
    return jnp.einsum("bnqt,bntd->bnqd", weights.astype(value.dtype), value)


def fused_attention(query: jax.Array, key: jax.Array, value: jax.Array, mask: jax.Array) -> jax.Array:
    """The same by cuDNN's kernel, which never writes the scores to memory.

    cuDNN needs bfloat16, a head size that is a multiple of 8 up to 128, a mask for each query, and even numbers of
    queries and tokens, so masked ones are added. A single query, as in pooling, uses `masked_attention`, because it has
    only one row of scores.
    """
    queries, tokens = query.shape[2], key.shape[2]
    if queries == 1:
        return masked_attention(query, key, value, mask)
    # A fully masked set attends to everything and is zeroed afterwards, because the kernel fails on rows of HIDDEN.
    some = jnp.any(mask, axis=-1, keepdims=True)
    seen = jnp.pad(mask | ~some, ((0, 0), (0, tokens % 2)))[:, None, None, :]
    even = lambda x: jnp.pad(x.swapaxes(1, 2), ((0, 0), (0, x.shape[2] % 2), (0, 0), (0, 0)))
    seen = jnp.broadcast_to(seen, (len(seen), 1, queries + queries % 2, seen.shape[-1]))
    out = jax.nn.dot_product_attention(even(query), even(key), even(value), mask=seen, implementation="cudnn")
    return jnp.where(some[:, None, None], out[:, :queries].swapaxes(1, 2), jnp.zeros((), out.dtype))


class Weights(nn.Module):
    """Kernel and bias of a projection with the network's width, shaped as in Linen's own attention."""

    kernel_shape: tuple[int, ...]
    bias_shape: tuple[int, ...]

    @nn.compact
    def __call__(self, width: int) -> tuple[jax.Array, jax.Array]:
        """Kernel [D, D] and bias [D]."""

        def init(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
            return nn.initializers.lecun_normal()(key, (width, width)).reshape(shape)

        kernel = self.param("kernel", init, self.kernel_shape)
        bias = self.param("bias", nn.initializers.zeros, self.bias_shape)
        return kernel.reshape(width, width), bias.reshape(width)


class Attention(nn.Module):
    """Multi-head attention with four biased projections, as in PyTorch.

    Projections of the same input are one matrix product, and run over packed rows. Only scores and weights are computed
    in slots.
    """

    heads: int
    compute: Compute = Compute()

    @nn.compact
    def __call__(
        self,
        queries: jax.Array,
        tokens: jax.Array | None,
        mask: jax.Array,
        packed_queries: Packing | None = None,
        packed_tokens: Packing | None = None,
    ) -> jax.Array:
        """Attention from queries to tokens, or among the queries.

        Args:
            queries: [B, Q, D], or packed rows, or [1, Q, D] to share them between all sets.
            tokens: [B, T, D], or packed rows; None for self-attention.
            mask: [B, T], True = may be seen.

        Returns:
            The shape of the queries.
        """
        width = queries.shape[-1]
        heads = (self.heads, width // self.heads)
        projections = [Weights((width, *heads), heads, name=name)(width) for name in ("query", "key", "value")]
        if tokens is None:
            parts = self._project(queries, projections, packed_queries)
        else:
            parts = self._project(queries, projections[:1], packed_queries)
            parts += self._project(tokens, projections[1:], packed_tokens)
        query, key, value = parts
        query = jnp.broadcast_to(query, (mask.shape[0], *query.shape[1:]))
        attend = fused_attention if self.compute.attention == "cudnn" else masked_attention
        out = merge_heads(attend(query, key, value, mask), packed_queries)
        return self._linear(out, *Weights((*heads, width), (width,), name="out")(width))

    def _project(self, x: jax.Array, projections: list, packing: Packing | None) -> tuple[jax.Array, ...]:
        """Each projection of x, heads first: [B, N, T, D / N]."""
        kernels, biases = (jnp.concatenate(part, axis=-1) for part in zip(*projections))
        return split_heads(self._linear(x, kernels, biases), len(projections), self.heads, packing)

    def _linear(self, x: jax.Array, kernel: jax.Array, bias: jax.Array) -> jax.Array:
        x, kernel, bias = nn.dtypes.promote_dtype(x, kernel, bias, dtype=self.compute.dtype)
        return x @ kernel + bias.reshape((1,) * (x.ndim - 1) + (-1,))
