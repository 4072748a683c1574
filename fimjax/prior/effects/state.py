"""The state of one series while effects are applied to it."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from fimjax.prior.family import Path, Traits


class SeriesState(NamedTuple):
    """One series of N simulated steps, and the facts about it that later effects need."""

    path: Path  # [N], with all effects so far except noise
    base: jax.Array  # [N], noisy path before growth, cycle and jumps, whose sizes are relative to it
    exists: jax.Array  # [N], True for the steps of the history and the target
    slot_steps: jax.Array  # [W, T], the step that each slot of each window holds
    season: jax.Array  # in steps, 1 = none
    traits: Traits  # of the family, scalars
    has_daily_pattern: jax.Array
    rise: jax.Array  # change through steady growth over the steps that exist, 0 = no growth
    is_multiplicative: jax.Array  # the path is an exponential, so growth, season and noise are multiplicative
    noise: jax.Array  # [W, T], noise and outliers, in standard deviations of the path
    noise_is_multiplicative: jax.Array

    @classmethod
    def start(
        cls, path: Path, exists_N: jax.Array, slot_steps_WT: jax.Array, season: jax.Array, traits: Traits
    ) -> "SeriesState":
        """The state before any effect."""
        false = jnp.array(False)
        return cls(
            path=path,
            base=path.noisy,
            exists=exists_N,
            slot_steps=slot_steps_WT,
            season=season,
            traits=traits,
            has_daily_pattern=false,
            rise=jnp.array(0.0),
            is_multiplicative=false,
            noise=jnp.zeros(slot_steps_WT.shape),
            noise_is_multiplicative=false,
        )

    def add(self, change_N: jax.Array) -> "SeriesState":
        """Add a change of level to the path; `base` stays as it is."""
        return self._replace(path=jax.tree.map(lambda values_N: values_N + change_N, self.path))


def where(condition: jax.Array, changed: Path, unchanged: Path) -> Path:
    """One of two paths, by a scalar condition."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), changed, unchanged)
