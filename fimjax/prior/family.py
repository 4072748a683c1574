"""A family of the prior: how to draw a path, and which effects may be applied to it."""

from collections.abc import Callable
from typing import NamedTuple

import jax


class Path(NamedTuple):
    """One simulated series of N steps.

    `clean` is the underlying function, or the mean of each step before that step's innovation. `noisy` is the value
    that an error-free instrument would read. The two are equal for deterministic functions and for processes whose
    innovations enter the state only.
    """

    clean: jax.Array  # [N]
    noisy: jax.Array  # [N]


def noise_free(values_N: jax.Array) -> Path:
    """A path without observation error."""
    return Path(clean=values_N, noisy=values_N)


class Traits(NamedTuple):
    """What may be done to the series of a family: Python booleans in the registry, arrays [B] in the sampler."""

    is_continuous: bool | jax.Array  # defined at any time, so times may be irregular
    may_add_structure: bool | jax.Array = True  # daily and weekly patterns, growth, cycles and jumps
    may_exponentiate: bool | jax.Array = True
    may_add_noise: bool | jax.Array = True  # and outliers
    has_own_noise: bool | jax.Array = False  # the process has innovations, so measurement noise is rarer
    is_nonnegative: bool | jax.Array = False  # zero is its lower bound


class Family(NamedTuple):
    """One entry of the registry."""

    draw: Callable[[jax.Array, jax.Array, jax.Array], Path]  # (key, times [N], season) -> path of N steps
    traits: Traits
    seasons: tuple[int, ...] = ()  # its own list of season lengths; () = the list of the config
