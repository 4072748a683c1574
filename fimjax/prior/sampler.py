"""Batches of synthetic series, drawn on device inside the compiled step."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct
from jax import random

from fimjax.config import PriorConfig, PriorWeights
from fimjax.errors import ConfigError
from fimjax.nn.windows import Windows
from fimjax.prior import observation
from fimjax.prior.families import FAMILIES
from fimjax.prior.layout import Layout, assign_slots, draw_layout, exists, origin
from fimjax.prior.path import Path


@struct.dataclass
class Sample:
    """B series in K windows of T slots, the last window being the target.

    `valid` marks the slots that hold a step of the history or the target, `observed` those of them that the model may
    see. What stands in a slot that is not valid is never read; a valid one has its values though it be unobserved.
    """

    times: jax.Array  # [B, K, T], in steps
    noisy: jax.Array  # [B, K, T], what is measured
    clean: jax.Array  # [B, K, T], the underlying function, or the mean before each step's innovation
    observed: jax.Array  # [B, K, T]
    valid: jax.Array  # [B, K, T]
    origin: jax.Array  # [B], time of the last step before the target window
    duration: jax.Array  # [B], of a window
    steps: jax.Array  # [B], of a window
    season: jax.Array  # [B], as told to the model; 1 = none, or hidden
    floor: jax.Array  # [B], below which no value lies, as told to the model; -inf = hidden

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


def _starved(weights: PriorWeights, counts: dict[str, int]) -> list[str]:
    return [name for name, count in counts.items() if count == 0 and getattr(weights, name) > 0]


def family_counts(weights: PriorWeights, group_size: int) -> dict[str, int]:
    """Series of each family in a group, by largest remainders; every family with a weight must get one.

    Raises:
      ConfigError: a family with a weight gets no series; the message says which group_size would do.
    """
    counts = _largest_remainder(weights, group_size)
    starved = _starved(weights, counts)
    if starved:
        enough = group_size
        while _starved(weights, _largest_remainder(weights, enough)):
            enough += 1
        raise ConfigError(
            f"group_size: {group_size} leaves no series to {', '.join(starved)}; {enough} would, or set weight 0"
        )
    return counts


def seasons_by_series(counts: dict[str, int], config: PriorConfig) -> np.ndarray:
    """Seasons of equal chance for each series of a group [S, n]: its family's as far as the config has them, or the
    config's. Zeros fill the shorter lists."""
    preferred = {name: tuple(s for s in FAMILIES[name].seasons if s in config.seasons) for name in counts}
    lists = {name: seasons or config.seasons for name, seasons in preferred.items()}
    length = max(map(len, lists.values()))
    rows = [np.pad(lists[name], (0, length - len(lists[name]))) for name in counts]
    return np.repeat(np.array(rows, np.int32), list(counts.values()), axis=0)


def _draw_paths(keys_GS: jax.Array, layout_GS: Layout, counts: dict[str, int]) -> Path:
    """Paths [G, S, N], one vmapped call a family: a switch under vmap would compute every family for each series."""
    groups, stop, paths = keys_GS.shape[0], 0, []
    for name, count in counts.items():
        start, stop = stop, stop + count
        if count == 0:
            continue
        flat = jax.tree.map(
            lambda x: x[:, start:stop].reshape(-1, *x.shape[2:]), (keys_GS, layout_GS.times, layout_GS.season)
        )
        path = jax.vmap(FAMILIES[name].draw)(*flat)
        paths.append(jax.tree.map(lambda x: x.reshape(groups, count, -1), path))
    return jax.tree.map(lambda *parts: jnp.concatenate(parts, axis=1), *paths)


def _observe(
    key: jax.Array,
    layout: Layout,
    path: Path,
    may_exponentiate: jax.Array,
    may_grow: jax.Array,
    has_zero: jax.Array,
    noise: jax.Array,
    config: PriorConfig,
) -> Sample:
    """One series as it is observed, cut into windows."""
    value_key, slot_key, gap_key, season_key, floor_key = random.split(key, 5)
    slots = assign_slots(slot_key, layout, config)
    values = observation.draw_values(
        value_key, path, exists(layout), slots.steps, layout.season, may_exponentiate, may_grow, has_zero, noise, config
    )
    window_slots = jnp.minimum(layout.window_steps, config.slots)
    observed_KT = observation.draw_observed(gap_key, slots.steps, window_slots, config)
    return Sample(
        times=layout.times[slots.steps],
        noisy=values.noisy,
        clean=values.clean,
        observed=observation.keep_two(observed_KT, slots.valid),
        valid=slots.valid,
        origin=origin(layout),
        duration=layout.window_steps.astype(jnp.float32),
        steps=layout.window_steps,
        season=observation.reported_season(random.uniform(season_key), layout.season, config),
        floor=observation.reported_floor(random.uniform(floor_key, (2,)), values, slots.valid, config),
    )


def _sample(group_keys: jax.Array, config: PriorConfig) -> Sample:
    """The groups of the given keys [G], one after the other. All randomness of a series comes from its own key."""
    counts = family_counts(config.weights, config.group_size)
    groups = group_keys.shape[0]

    def flags(field: str) -> jax.Array:
        by_series = np.repeat([getattr(FAMILIES[name], field) for name in counts], list(counts.values()))
        return jnp.tile(jnp.asarray(by_series), groups)

    noise = jnp.where(flags("has_errors"), config.process_noise, 1.0) * flags("may_be_noisy")
    series_keys = jax.vmap(lambda key: random.split(key, config.group_size))(group_keys).reshape(-1)
    part_keys = jax.vmap(lambda key: random.split(key, 3))(series_keys)
    layout_keys, path_keys, observation_keys = part_keys[:, 0], part_keys[:, 1], part_keys[:, 2]
    seasons = jnp.tile(seasons_by_series(counts, config), (groups, 1))
    layout_B = jax.vmap(lambda *series: draw_layout(*series, config))(layout_keys, flags("continuous"), seasons)
    by_group = jax.tree.map(lambda x: x.reshape(groups, config.group_size, *x.shape[1:]), (path_keys, layout_B))
    path_B = jax.tree.map(lambda x: x.reshape(-1, x.shape[-1]), _draw_paths(*by_group, counts))
    return jax.vmap(lambda *series: _observe(*series, config))(
        observation_keys, layout_B, path_B, flags("may_exponentiate"), flags("may_grow"), flags("has_zero"), noise
    )


def sample_group(key: jax.Array, config: PriorConfig) -> Sample:
    """One group of config.group_size series, families in the order of PriorWeights."""
    return _sample(key[None], config)


def sample_groups(key: jax.Array, first_group: int | jax.Array, n_groups: int, config: PriorConfig) -> Sample:
    """Groups first_group .. first_group + n_groups - 1, each drawn with fold_in(key, its index).

    Which series a group holds depends on the key and its index only, not on the groups drawn with it; so devices that
    share out the groups of a step draw the same series as one device that draws them all.

    Args:
      key: a typed key.
      first_group: index of the first group, may be traced.
      n_groups: how many groups, static.
      config: the prior, static.

    Returns:
      n_groups * config.group_size series, in the order of the groups.
    """
    return _sample(jax.vmap(lambda group: random.fold_in(key, group))(first_group + jnp.arange(n_groups)), config)
