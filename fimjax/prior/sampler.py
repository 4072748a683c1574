"""Batches of synthetic series, drawn on the device inside the compiled training step."""

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct
from jax import random

from fimjax.config import PriorConfig, PriorWeights, WindowConfig
from fimjax.errors import ConfigError
from fimjax.nn.windows import Windows
from fimjax.prior.effects.gaps import draw_observed, ensure_observed
from fimjax.prior.effects.noise import noisy_values
from fimjax.prior.effects.reporting import reported_floor, reported_season
from fimjax.prior.effects.state import SeriesState
from fimjax.prior.families import FAMILIES
from fimjax.prior.family import Path, Traits
from fimjax.prior.layout import Layout, assign_slots, draw_layout
from fimjax.prior.observation import apply_effects


class Sample(struct.PyTreeNode):
    """B series in W windows of T slots; the last window is the target.

    `valid` marks the slots that hold a step of the history or the target, `observed` the valid slots that the model
    may see. Valid slots have values even if they are not observed. The content of invalid slots is never read.
    """

    times: jax.Array  # [B, W, T], in steps
    noisy: jax.Array  # [B, W, T], measured values
    clean: jax.Array  # [B, W, T], the underlying function, or the mean before each step's innovation
    observed: jax.Array  # [B, W, T]
    valid: jax.Array  # [B, W, T]
    origin: jax.Array  # [B], time of the last step before the target window
    duration: jax.Array  # [B], of a window
    steps: jax.Array  # [B], of a window
    season: jax.Array  # [B], as the model sees it; 1 = none or hidden
    floor: jax.Array  # [B], lower bound of all values as the model sees it; -inf = hidden

    def past(self) -> Windows:
        """The context windows as a model reads them."""
        return Windows(
            values=self.noisy[:, :-1],
            times=self.times[:, :-1],
            mask=self.observed[:, :-1],
            origin=self.origin,
            duration=self.duration,
            steps=self.steps,
            season=self.season,
            floor=self.floor,
        )


def sample_groups(
    key: jax.Array, first_group: int | jax.Array, n_groups: int, config: PriorConfig, windows: WindowConfig
) -> Sample:
    """Draw the groups first_group .. first_group + n_groups - 1, each with fold_in(key, its index).

    The series of a group depend on the key and its index only, not on the groups drawn with it. So devices that share
    the groups of a step draw the same series as one device that draws them all.

    Args:
      key: a typed key.
      first_group: index of the first group, may be traced.
      n_groups: number of groups, static.
      config: the prior, static.
      windows: the windows, static.

    Returns:
      n_groups * config.group_size series, in the order of the groups.
    """
    group_keys = jax.vmap(lambda group: random.fold_in(key, group))(first_group + jnp.arange(n_groups))
    return _sample(group_keys, config, windows)


def sample_group(key: jax.Array, config: PriorConfig, windows: WindowConfig) -> Sample:
    """Draw one group of config.group_size series, families in the order of PriorWeights."""
    return _sample(key[None], config, windows)


def _sample(group_keys: jax.Array, config: PriorConfig, windows: WindowConfig) -> Sample:
    """Draw the groups of the given keys [G], one after the other; all randomness of a series comes from its own key."""
    groups, group_size = group_keys.shape[0], config.group_size
    counts = family_counts(config.weights, group_size)
    traits_B = jax.tree.map(lambda flags: jnp.tile(flags, groups), traits_by_series(counts))
    seasons_B = jnp.tile(seasons_by_series(counts, config), (groups, 1))

    series_keys = jax.vmap(lambda key: random.split(key, group_size))(group_keys).reshape(-1)
    layout_keys, path_keys, effect_keys = jax.vmap(lambda key: random.split(key, 3))(series_keys).T

    draw_layouts = jax.vmap(functools.partial(draw_layout, config=config, windows=windows))
    layout_B = draw_layouts(layout_keys, traits_B.is_continuous, seasons_B)
    path_B = _draw_paths(path_keys, layout_B, counts)
    observe = jax.vmap(functools.partial(_observe, config=config, windows=windows))
    return observe(effect_keys, layout_B, path_B, traits_B)


def _draw_paths(keys_B: jax.Array, layout_B: Layout, counts: dict[str, int]) -> Path:
    """Paths [B, N], one vmapped call for each family; a switch under vmap would compute all families every time."""
    group_size = sum(counts.values())
    groups, stop, paths = keys_B.shape[0] // group_size, 0, []
    by_group = jax.tree.map(
        lambda x: x.reshape(groups, group_size, *x.shape[1:]), (keys_B, layout_B.times, layout_B.season)
    )
    for name, count in counts.items():
        start, stop = stop, stop + count
        if count == 0:
            continue
        inputs = jax.tree.map(lambda x: x[:, start:stop].reshape(-1, *x.shape[2:]), by_group)
        path = jax.vmap(FAMILIES[name].draw)(*inputs)
        paths.append(jax.tree.map(lambda x: x.reshape(groups, count, -1), path))
    path_GS = jax.tree.map(lambda *parts: jnp.concatenate(parts, axis=1), *paths)
    return jax.tree.map(lambda x: x.reshape(-1, x.shape[-1]), path_GS)


def _observe(
    key: jax.Array, layout: Layout, path: Path, traits: Traits, config: PriorConfig, windows: WindowConfig
) -> Sample:
    """Apply all effects to one series and cut it into windows."""
    slot_key, effect_key, gap_key, report_key = random.split(key, 4)
    slots = assign_slots(slot_key, layout, windows)
    state = SeriesState.start(path, layout.exists(), slots.steps, layout.season, traits)
    state = apply_effects(effect_key, state, config)
    noisy_WT = noisy_values(state)
    observed_WT = draw_observed(gap_key, slots.steps, jnp.minimum(layout.window_steps, windows.slots), config)
    season_u, hidden_u, distance_u = random.uniform(report_key, (3,))
    is_nonnegative = traits.is_nonnegative | state.is_multiplicative
    return Sample(
        times=layout.times[slots.steps],
        noisy=noisy_WT,
        clean=state.path.clean[slots.steps],
        observed=ensure_observed(observed_WT, slots.valid),
        valid=slots.valid,
        origin=layout.origin(),
        duration=layout.window_steps.astype(jnp.float32),
        steps=layout.window_steps,
        season=reported_season(season_u, layout.season, config),
        floor=reported_floor(hidden_u, distance_u, noisy_WT, slots.valid, is_nonnegative, config),
    )


def traits_by_series(counts: dict[str, int]) -> Traits:
    """Traits of each series of a group, arrays [group_size]."""
    repeats = list(counts.values())
    return jax.tree.map(lambda *flags: np.repeat(flags, repeats), *(FAMILIES[name].traits for name in counts))


def seasons_by_series(counts: dict[str, int], config: PriorConfig) -> np.ndarray:
    """Season lengths of equal probability for each series of a group [group_size, S].

    They are the family's own as far as the config has them, otherwise those of the config. Zeros pad shorter lists.
    """
    own = {name: tuple(s for s in FAMILIES[name].seasons if s in config.seasons) for name in counts}
    lists = {name: seasons or config.seasons for name, seasons in own.items()}
    length = max(map(len, lists.values()))
    rows = [np.pad(lists[name], (0, length - len(lists[name]))) for name in counts]
    return np.repeat(np.array(rows, np.int32), list(counts.values()), axis=0)


def family_counts(weights: PriorWeights, group_size: int) -> dict[str, int]:
    """Number of series of each family in a group, by largest remainders.

    Raises:
      ConfigError: a family with a positive weight gets no series; the message names a sufficient group_size.
    """
    if not any(dataclasses.asdict(weights).values()):
        raise ConfigError("weights: at least one family needs a positive weight")
    counts = _largest_remainder(weights, group_size)
    without_series = _without_series(weights, counts)
    if without_series:
        enough = group_size
        while _without_series(weights, _largest_remainder(weights, enough)):
            enough += 1
        raise ConfigError(
            f"group_size: {group_size} leaves no series to {', '.join(without_series)}; "
            f"a group_size of {enough} is enough, or set the weight to 0"
        )
    return counts


def _largest_remainder(weights: PriorWeights, group_size: int) -> dict[str, int]:
    entries = dataclasses.asdict(weights)
    total = math.fsum(entries.values())
    quotas = {name: group_size * weight / total for name, weight in entries.items()}
    counts = {name: math.floor(quota) for name, quota in quotas.items()}
    # Rounded, so that equal weights are ties, which the order of the families decides.
    by_remainder = sorted(quotas, key=lambda name: -round(quotas[name] - counts[name], 9))
    for name in by_remainder[: group_size - sum(counts.values())]:
        counts[name] += 1
    return counts


def _without_series(weights: PriorWeights, counts: dict[str, int]) -> list[str]:
    return [name for name, count in counts.items() if count == 0 and getattr(weights, name) > 0]
