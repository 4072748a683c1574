"""What a family of the prior returns for one series."""

from typing import NamedTuple

import jax


class Path(NamedTuple):
    """One simulated series of N steps.

    `clean` is the underlying function, or the mean of each step before that step's innovation; `noisy` is what an
    error-free instrument would read. The two are the same array for functions and for processes without an error at
    the level of the observation.
    """

    clean: jax.Array  # [N]
    noisy: jax.Array  # [N]


def exact(values_N: jax.Array) -> Path:
    """A path without any error of its own."""
    return Path(clean=values_N, noisy=values_N)
