"""Observed points packed into rows, so that pointwise layers skip empty slots.

Slots are a grid [B, T]: B sets with room for T points each. Most slots are empty, because windows differ in length,
histories are short and observations are missing. Rows are a list [N] of the filled slots. Packing and unpacking are
gathers. The gradient of a gather is a slow scatter in general, but here every row goes to one place only, so the
gradient of each direction is the gather of the other.
"""

import functools

import jax
import jax.numpy as jnp
from flax import struct


class Packing(struct.PyTreeNode):
    """Which row holds which slot. An index beyond the end stands for "none"."""

    slots: jax.Array  # [N], the slot of each row, counted through the grid
    rows: jax.Array  # [B, T], the row of each slot

    def pack(self, x: jax.Array) -> jax.Array:
        """Maps [B, T, ...] to [N, ...], with zeros in rows without a slot."""
        return _move(x.reshape(-1, *x.shape[2:]), self.slots, self.rows.reshape(-1))

    def unpack(self, x: jax.Array) -> jax.Array:
        """Maps [N, ...] to [B, T, ...], with zeros in slots without a row."""
        return _move(x, self.rows.reshape(-1), self.slots).reshape(*self.rows.shape, *x.shape[1:])

    def unpack_heads(self, x: jax.Array, parts: int, heads: int) -> tuple[jax.Array, ...]:
        """Unpacks rows of P projections for attention: [N, P * H * D] -> P times [B, H, T, D]."""
        return _unpack_heads(x, self, parts, heads)

    def pack_heads(self, x: jax.Array) -> jax.Array:
        """Packs the output of attention: [B, H, T, D] -> [N, H * D]."""
        return _pack_heads(x, self)

    def spread(self, x: jax.Array) -> jax.Array:
        """Repeats what belongs to a set for each of its rows: [B, ...] -> [N, ...]."""
        return self.pack(jnp.broadcast_to(x[:, None], (*self.rows.shape, *x.shape[1:])))


def pack_slots(mask: jax.Array, capacity: int) -> Packing:
    """Packs the slots of a mask [B, T] in their order, into `capacity` rows. Slots beyond the capacity are lost."""
    flat = mask.reshape(-1)
    row = jnp.cumsum(flat) - 1
    rows = jnp.where(flat & (row < capacity), row, capacity).astype(jnp.int32)
    slots = jnp.flatnonzero(flat, size=capacity, fill_value=flat.size).astype(jnp.int32)
    return Packing(slots, rows.reshape(mask.shape))


def pack(x: jax.Array, packing: Packing | None) -> jax.Array:
    """Packs slots into rows, or returns them as they are without a packing."""
    return x if packing is None else packing.pack(x)


def unpack(x: jax.Array, packing: Packing | None) -> jax.Array:
    """Unpacks rows into slots, or returns the input without a packing."""
    return x if packing is None else packing.unpack(x)


def spread(x: jax.Array, packing: Packing | None) -> jax.Array:
    """Repeats [B, ...] for each row [N, ...], or adds an axis [B, 1, ...] to broadcast over slots."""
    return x[:, None] if packing is None else packing.spread(x)


def split_heads(x: jax.Array, parts: int, heads: int, packing: Packing | None) -> tuple[jax.Array, ...]:
    """Splits P projections [B, T, P * H * D], or packed rows of them, into P arrays [B, H, T, D]."""
    if packing is not None:
        return packing.unpack_heads(x, parts, heads)
    x = x.reshape(*x.shape[:2], parts, heads, -1)
    return tuple(x[:, :, i].swapaxes(1, 2) for i in range(parts))


def merge_heads(x: jax.Array, packing: Packing | None) -> jax.Array:
    """Maps [B, H, T, D] to [B, T, H * D], or packed rows of it."""
    if packing is not None:
        return packing.pack_heads(x)
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)


def _take(x: jax.Array, places: jax.Array) -> jax.Array:
    """Rows of x [M, ...], zeros for places beyond its end."""
    return x.at[places].get(mode="fill", fill_value=0)


@jax.custom_vjp
def _move(x: jax.Array, sources: jax.Array, targets: jax.Array) -> jax.Array:
    """Gathers x [M, ...] at `sources` [N]; `targets` [M] says where each row of x goes."""
    return _take(x, sources)


_move.defvjp(
    lambda x, sources, targets: (_take(x, sources), (sources, targets)),
    lambda places, gradient: (_move(gradient, *places[::-1]), None, None),
)


@functools.partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def _unpack_heads(x: jax.Array, packing: Packing, parts: int, heads: int) -> tuple[jax.Array, ...]:
    # Gathering head by head is several times faster than gathering rows and transposing.
    pieces = x.reshape(len(x) * parts * heads, -1)
    row, head = packing.rows[:, None, :], jnp.arange(heads, dtype=jnp.int32)[None, :, None]
    places = [jnp.where(row < len(x), (row * parts + i) * heads + head, len(pieces)) for i in range(parts)]
    return tuple(_take(pieces, place) for place in places)


@jax.custom_vjp
def _pack_heads(x: jax.Array, packing: Packing) -> jax.Array:
    batch, heads, slots, _ = x.shape
    entry, slot = (part[:, None] for part in jnp.divmod(packing.slots, slots))
    place = (entry * heads + jnp.arange(heads, dtype=jnp.int32)[None, :]) * slots + slot
    pieces = x.reshape(batch * heads * slots, -1)
    return _take(pieces, jnp.where(entry < batch, place, len(pieces))).reshape(len(packing.slots), -1)


def _unpack_heads_backward(parts: int, heads: int, packing: Packing, gradients: tuple[jax.Array, ...]) -> tuple:
    return jnp.concatenate([_pack_heads(gradient, packing) for gradient in gradients], axis=-1), None


_unpack_heads.defvjp(
    lambda x, packing, parts, heads: (_unpack_heads(x, packing, parts, heads), packing), _unpack_heads_backward
)
_pack_heads.defvjp(
    lambda x, packing: (_pack_heads(x, packing), (packing, x.shape[1])),
    lambda kept, gradient: (*_unpack_heads(gradient, kept[0], 1, kept[1]), None),
)
