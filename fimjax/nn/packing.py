"""Observed points packed into rows, so that layers which treat points one by one skip the empty slots.

Slots are a grid [B, T]: B sets with room for T points each. Most of them are empty: windows differ in length, histories
are short, and observations are missing. Rows are a list [N] of the slots that hold something. Going from one to the
other is a gather in both directions. The gradient of a gather is a scatter, which processors do one row at a time; but
here no row goes to two places, so that each direction's gradient is the gather of the other.
"""

import functools

import jax
import jax.numpy as jnp
from flax import struct


@struct.dataclass
class Packing:
    """Which row holds which slot; fields that point beyond the end stand for "none"."""

    slots: jax.Array  # [N], the slot of each row, counted through the grid
    rows: jax.Array  # [B, T], the row of each slot

    def pack(self, x: jax.Array) -> jax.Array:
        """[B, T, ...] -> [N, ...], zeros in rows without a slot."""
        return _move(x.reshape(-1, *x.shape[2:]), self.slots, self.rows.reshape(-1))

    def unpack(self, x: jax.Array) -> jax.Array:
        """[N, ...] -> [B, T, ...], zeros in slots without a row."""
        return _move(x, self.rows.reshape(-1), self.slots).reshape(*self.rows.shape, *x.shape[1:])

    def unpack_heads(self, x: jax.Array, parts: int, heads: int) -> tuple[jax.Array, ...]:
        """Rows of several projections, as attention reads them: [N, P * H * D] -> P times [B, H, T, D]."""
        return _unpack_heads(x, self, parts, heads)

    def pack_heads(self, x: jax.Array) -> jax.Array:
        """What attention gives, as rows: [B, H, T, D] -> [N, H * D]."""
        return _pack_heads(x, self)

    def spread(self, x: jax.Array) -> jax.Array:
        """What belongs to a set, for each of its rows: [B, ...] -> [N, ...]."""
        return self.pack(jnp.broadcast_to(x[:, None], (*self.rows.shape, *x.shape[1:])))


def pack_slots(mask: jax.Array, room: int) -> Packing:
    """Room for the slots of a mask [B, T], in their order; those beyond it are lost."""
    flat = mask.reshape(-1)
    row = jnp.cumsum(flat) - 1
    rows = jnp.where(flat & (row < room), row, room).astype(jnp.int32)
    slots = jnp.flatnonzero(flat, size=room, fill_value=flat.size).astype(jnp.int32)
    return Packing(slots, rows.reshape(mask.shape))


def pack(x: jax.Array, packing: Packing | None) -> jax.Array:
    """Rows of slots, or the slots as they are."""
    return x if packing is None else packing.pack(x)


def unpack(x: jax.Array, packing: Packing | None) -> jax.Array:
    """Slots of rows, or what never left its slots."""
    return x if packing is None else packing.unpack(x)


def spread(x: jax.Array, packing: Packing | None) -> jax.Array:
    """What belongs to a set [B, ...], for each of its rows [N, ...], or ready to meet its slots [B, 1, ...]."""
    return x[:, None] if packing is None else packing.spread(x)


def split_heads(x: jax.Array, parts: int, heads: int, packing: Packing | None) -> tuple[jax.Array, ...]:
    """Several projections side by side [B, T, P * H * D], or rows of them, apart and heads first: [B, H, T, D] each."""
    if packing is not None:
        return packing.unpack_heads(x, parts, heads)
    x = x.reshape(*x.shape[:2], parts, heads, -1)
    return tuple(x[:, :, i].swapaxes(1, 2) for i in range(parts))


def merge_heads(x: jax.Array, packing: Packing | None) -> jax.Array:
    """[B, H, T, D] -> [B, T, H * D], or rows of it."""
    if packing is not None:
        return packing.pack_heads(x)
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)


def _take(x: jax.Array, places: jax.Array) -> jax.Array:
    """Rows of x [M, ...], zeros for places beyond its end."""
    return x.at[places].get(mode="fill", fill_value=0)


@jax.custom_vjp
def _move(x: jax.Array, sources: jax.Array, targets: jax.Array) -> jax.Array:
    """x [M, ...] at `sources` [N]; `targets` [M] says where each row of x went."""
    return _take(x, sources)


_move.defvjp(
    lambda x, sources, targets: (_take(x, sources), (sources, targets)),
    lambda places, gradient: (_move(gradient, *places[::-1]), None, None),
)


@functools.partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def _unpack_heads(x: jax.Array, packing: Packing, parts: int, heads: int) -> tuple[jax.Array, ...]:
    # Heads are gathered one by one into their places: that is several times faster than to gather rows and transpose.
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


def _unpack_heads_backward(parts: int, heads: int, packing: Packing, gradients: tuple[jax.Array, ...]):
    return jnp.concatenate([_pack_heads(gradient, packing) for gradient in gradients], axis=-1), None


_unpack_heads.defvjp(
    lambda x, packing, parts, heads: (_unpack_heads(x, packing, parts, heads), packing), _unpack_heads_backward
)
_pack_heads.defvjp(
    lambda x, packing: (_pack_heads(x, packing), (packing, x.shape[1])),
    lambda kept, gradient: (*_unpack_heads(gradient, kept[0], 1, kept[1]), None),
)
