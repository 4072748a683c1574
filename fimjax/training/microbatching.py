"""Batches with more points than a compiled program has room for are computed in several microbatches.

Networks run over packed points (`fimjax.nn.packing`), and a compiled program has a fixed capacity for them. If a batch
happens to hold more, some of its series go into a second microbatch, and the gradients are added.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp

from fimjax.nn.packing import Packing, pack_slots
from fimjax.prior.sampler import Sample


class Capacity(NamedTuple):
    """Shares of the slots that a program has room for; 1 for all slots, without packing."""

    points: float = 1.0
    queries: float = 1.0


ALL_SLOTS = Capacity()

MULTIPLE = 64
"""Capacities are multiples of it, because matrix products with odd edges are slower."""


def row_capacity(shape: tuple[int, ...], share: float) -> int | None:
    """Rows for a share of the slots of B series with W windows of T slots; None if they need no packing.

    Two series always fit, however long they are, so that every microbatch makes progress.
    """
    series, windows, slots = shape
    rows = max(share * series, 2) * windows * slots
    rows = -(-int(rows) // MULTIPLE) * MULTIPLE
    return rows if rows < series * windows * slots else None


def pack_windows(mask: jax.Array, share: float) -> Packing | None:
    """Packs the slots of a mask [B, W, T], seen as a grid [B * W, T]."""
    capacity = row_capacity(mask.shape, share)
    return None if capacity is None else pack_slots(mask.reshape(-1, mask.shape[-1]), capacity)


def assign_microbatches(packed: list[tuple[jax.Array, float]]) -> jax.Array:
    """The microbatch of each of B series, counted from 0.

    Args:
        packed: masks [B, W, T] of what is packed, each with the share of its slots that there is room for.
    """
    needs, fits = [], jnp.array(True)
    for mask, share in packed:
        capacity = row_capacity(mask.shape, share)
        if capacity is None:
            continue
        counts = jnp.sum(mask, axis=(1, 2))
        fits &= jnp.sum(counts) <= capacity
        # One series less than fits, because the last series of a microbatch may begin just before its end.
        needs.append(counts / (capacity - mask[0].size))
    if not needs:
        return jnp.zeros(len(packed[0][0]), jnp.int32)
    begun = jnp.cumsum(functools.reduce(jnp.maximum, needs))
    return jnp.where(fits, 0, jnp.floor(begun)).astype(jnp.int32)


def select_series(sample: Sample, chosen: jax.Array) -> Sample:
    """The batch with all series but the chosen ones [B] masked out."""
    chosen = chosen[:, None, None]
    return sample.replace(observed=sample.observed & chosen, valid=sample.valid & chosen)
