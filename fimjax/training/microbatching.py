"""A batch with more points than there is room for is worked through in several rounds.

Networks run over packed points (`fimjax.nn.packing`), and a compiled program has room for a fixed number of them. A
batch that holds more, by chance, is not cut: some of its series wait for a second round, whose gradients are added.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp

from fimjax.nn.packing import Packing, pack_slots
from fimjax.prior.sampler import Sample


class Capacity(NamedTuple):
    """Shares of the slots that there is room for; 1 for all of them, and no packing."""

    points: float = 1.0
    questions: float = 1.0


ALL_SLOTS = Capacity()

MULTIPLE = 64
"""Capacity are multiples of it, for products of matrices with odd edges are slower."""


def room_for(shape: tuple[int, int, int], share: float) -> int | None:
    """Rows for a share of the slots of B series with W windows of T slots; None if they need no packing.

    Two series always fit, however long they are, so that a round never ends without one.
    """
    series, windows, slots = shape
    room = max(share * series, 2) * windows * slots
    room = -(-int(room) // MULTIPLE) * MULTIPLE
    return room if room < series * windows * slots else None


def pack_windows(mask: jax.Array, share: float) -> Packing | None:
    """Packs the slots of a mask [B, W, T], seen as a grid [B * W, T]."""
    room = room_for(mask.shape, share)
    return None if room is None else pack_slots(mask.reshape(-1, mask.shape[-1]), room)


def assign_microbatches(packed: list[tuple[jax.Array, float]]) -> jax.Array:
    """In which round each of B series is computed, counted from 0.

    Args:
        packed: what is packed in a round: masks [B, W, T], and the share of their slots that there is room for.
    """
    needs, fits = [], jnp.array(True)
    for mask, share in packed:
        room = room_for(mask.shape, share)
        if room is None:
            continue
        counts = jnp.sum(mask, axis=(1, 2))
        fits &= jnp.sum(counts) <= room
        # One series less than there is room for: the last one of a round may begin just before its end.
        needs.append(counts / (room - mask[0].size))
    if not needs:
        return jnp.zeros(len(packed[0][0]), jnp.int32)
    begun = jnp.cumsum(functools.reduce(jnp.maximum, needs))
    return jnp.where(fits, 0, jnp.floor(begun)).astype(jnp.int32)


def only(sample: Sample, chosen: jax.Array) -> Sample:
    """A batch in which nothing of the other series is seen or asked for: chosen [B]."""
    chosen = chosen[:, None, None]
    return sample.replace(observed=sample.observed & chosen, valid=sample.valid & chosen)
