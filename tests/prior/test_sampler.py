"""Geometry and reproducibility of batches, with two cheap families."""

import dataclasses
import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.config import PriorConfig, PriorWeights, WindowConfig
from fimjax.errors import ConfigError
from fimjax.nn.windows import Windows
from fimjax.prior.families import FAMILIES
from fimjax.prior.sampler import family_counts, sample_group, sample_groups, seasons_by_series
from tests.examples import ALL_FAMILIES
from tests.prior.quick import quick_jit

CONFIG = PriorConfig(
    weights=PriorWeights(chebyshev=1.0, random_walk=1.0),
    group_size=24,
    seasons=(1, 1, 4, 7, 12, 24, 52),
    short_history=0.6,
    growth=0.9,
    jumps=0.25,
    exponential=0.6,
    noise=0.7,
    level_noise=0.6,
    outliers=0.05,
    irregular=0.2,
    missing=0.4,
    hidden_season=0.15,
    wrong_season=0.03,
    hidden_floor=0.4,
)
WINDOWS = WindowConfig(count=5, slots=128, min_steps=4, max_steps=96, min_history=3)
THINNED = dataclasses.replace(CONFIG, weights=PriorWeights(chebyshev=1.0), irregular=1.0)
THINNED_WINDOWS = dataclasses.replace(WINDOWS, slots=20, count=3)
GROUPS = 40
draw = quick_jit(sample_groups, static_argnames=("n_groups", "config", "windows"))


@functools.cache
def drawn(config=CONFIG, windows=WINDOWS):
    return jax.tree.map(np.asarray, draw(jax.random.key(0), 0, n_groups=GROUPS, config=config, windows=windows))


def test_shapes_and_types():
    sample = drawn()
    b, shape = GROUPS * CONFIG.group_size, (GROUPS * CONFIG.group_size, WINDOWS.count, WINDOWS.slots)
    chex.assert_shape([sample.times, sample.noisy, sample.clean, sample.observed, sample.valid], shape)
    chex.assert_shape([sample.origin, sample.duration, sample.steps, sample.season], (b,))
    chex.assert_type([sample.times, sample.noisy, sample.clean, sample.origin, sample.duration], np.float32)
    chex.assert_type([sample.observed, sample.valid], bool)
    chex.assert_type([sample.steps, sample.season], np.int32)
    known = np.isfinite(sample.floor)
    assert 0.5 < known.mean() < 0.7 and (sample.floor[~known] == -np.inf).all()
    chex.assert_tree_all_finite(sample.replace(floor=sample.floor[known]))
    lowest = np.where(sample.valid, sample.noisy, np.inf).min(axis=(1, 2))
    assert (lowest >= sample.floor - 1e-5 * np.abs(lowest)).all()


@pytest.mark.parametrize(
    "config, windows", [(CONFIG, WINDOWS), (THINNED, THINNED_WINDOWS)], ids=["all_slots", "thinned"]
)
def test_times_increase_and_lie_in_their_window(config, windows):
    sample = drawn(config, windows)
    steps = sample.steps[:, None, None]
    end = sample.origin[:, None, None] + steps * (np.arange(windows.count) - windows.count + 2)[None, :, None]
    inside = (sample.times <= end) & (sample.times > end - steps)
    assert inside[sample.valid].all()
    for i in range(len(sample.origin)):
        times = sample.times[i][sample.valid[i]]
        assert (np.diff(times) > 0).all()
    assert (sample.times[:, :-1] <= sample.origin[:, None, None])[sample.valid[:, :-1]].all()
    assert (sample.times[:, -1] > sample.origin[:, None])[sample.valid[:, -1]].all()
    np.testing.assert_array_equal(sample.duration, sample.steps)
    np.testing.assert_array_equal(sample.origin, windows.total_steps - 1 - sample.steps)


def test_regular_series_have_one_slot_for_each_step():
    sample = drawn()
    target = sample.valid[:, -1]
    np.testing.assert_array_equal(target.sum(axis=1), sample.steps)
    whole = np.array([(t[v] == np.round(t[v])).all() for t, v in zip(sample.times, sample.valid)])
    for i in np.flatnonzero(whole):
        np.testing.assert_array_equal(np.diff(sample.times[i][sample.valid[i]]), 1.0)
    is_continuous = np.tile(np.arange(CONFIG.group_size) < 12, GROUPS)  # Chebyshev expansions
    assert whole[~is_continuous].all()
    np.testing.assert_allclose((~whole[is_continuous]).mean(), CONFIG.irregular, atol=0.06)


def test_long_windows_are_thinned_to_their_slots_evenly():
    sample = drawn(THINNED, THINNED_WINDOWS)
    slots = THINNED_WINDOWS.slots
    long = sample.steps > slots
    assert long.any() and (sample.valid[long, -1].sum(axis=1) == slots).all()
    gaps = np.diff(np.round(sample.times[long, -1]), axis=1) / sample.steps[long, None] * slots
    assert gaps.max() < 2.2


def test_observed_slots_are_valid_and_at_least_two_in_the_latest_windows():
    sample = drawn()
    assert sample.valid[sample.observed].all()
    context = sample.valid[:, :-1].sum(axis=(1, 2))
    assert (sample.observed[:, -1].sum(axis=1) >= 2).all()
    assert (sample.observed[:, -2].sum(axis=1) >= np.minimum(2, context)).all()
    share = sample.observed.sum() / sample.valid.sum()
    assert 0.7 < share < 0.9


def test_a_single_step_of_history_is_observed():
    weights = PriorWeights(random_walk=1.0)
    config = dataclasses.replace(CONFIG, short_history=1.0, missing=1.0, weights=weights)
    sample = drawn(config, dataclasses.replace(WINDOWS, min_history=1))
    assert (sample.valid[:, :-1].sum(axis=(1, 2)) == 1).any()
    assert (sample.observed[:, :-1].sum(axis=(1, 2)) >= 1).all()


def test_histories_and_seasons_cover_their_ranges():
    sample = drawn()
    context = sample.valid[:, :-1].sum(axis=(1, 2))
    assert context.min() == WINDOWS.min_history and context.max() > 350 and (context <= 12).mean() > 0.05
    assert set(sample.season) == set(CONFIG.seasons)
    seasons = seasons_by_series(family_counts(CONFIG.weights, CONFIG.group_size), CONFIG)
    reported = np.mean([np.mean(row[row > 0] > 1) for row in seasons]) * (1 - CONFIG.hidden_season)
    np.testing.assert_allclose((sample.season > 1).mean(), reported, atol=0.05)


def test_families_have_their_seasons_as_far_as_the_config_has_them():
    counts = {"growing": 2, "ets": 1}
    grow, again, smooth = seasons_by_series(counts, dataclasses.replace(CONFIG, seasons=(1, 4, 7)))
    assert set(grow) - {0} == {1, 4} and (grow == again).all() and set(smooth) - {0} == {1, 4, 7}
    only_days = seasons_by_series(counts, dataclasses.replace(CONFIG, seasons=(7,)))
    assert (only_days == 7).all()


def test_history_has_no_holes_and_ends_at_the_target():
    sample = drawn()
    for i in range(100):
        is_valid = sample.valid[i, :, : sample.steps[i]].ravel()
        assert is_valid[np.argmax(is_valid) :].all()


def test_past_is_the_observed_context():
    sample = drawn()
    past = sample.past()
    assert isinstance(past, Windows)
    np.testing.assert_array_equal(past.values, sample.noisy[:, :-1])
    np.testing.assert_array_equal(past.times, sample.times[:, :-1])
    np.testing.assert_array_equal(past.mask, sample.observed[:, :-1])
    np.testing.assert_array_equal(past.season, sample.season)


def test_groups_are_the_same_drawn_together_or_apart():
    together = jax.tree.map(lambda x: x[: 4 * CONFIG.group_size], drawn())
    apart = [draw(jax.random.key(0), jnp.int32(g), n_groups=1, config=CONFIG, windows=WINDOWS) for g in range(4)]
    joined = jax.tree.map(lambda *parts: jnp.concatenate(parts), *apart)
    chex.assert_trees_all_equal(
        [together.observed, together.valid, together.season, together.steps],
        [joined.observed, joined.valid, joined.season, joined.steps],
    )
    chex.assert_trees_all_close(together, joined, rtol=1e-4, atol=1e-4)
    assert not np.allclose(apart[0].noisy, apart[1].noisy)


def test_another_key_or_group_does_not_recompile():
    config = dataclasses.replace(CONFIG, weights=PriorWeights(random_walk=1.0), group_size=3)
    traced = quick_jit(chex.assert_max_traces(lambda key, g: sample_groups(key, g, 1, config, WINDOWS), n=1))
    first, second, third = traced(jax.random.key(0), 0), traced(jax.random.key(1), 0), traced(jax.random.key(0), 5)
    assert not np.allclose(first.noisy, second.noisy) and not np.allclose(first.noisy, third.noisy)
    alone = quick_jit(lambda key: sample_group(key, config, WINDOWS))(jax.random.fold_in(jax.random.key(0), 5))
    chex.assert_trees_all_close(alone, third, rtol=1e-4, atol=1e-4)


def test_family_counts_fill_the_group_by_largest_remainder():
    equal = PriorWeights(**dict.fromkeys(FAMILIES, 1.0))
    for size in (len(FAMILIES), 32, 100):
        counts = family_counts(equal, size)
        assert sum(counts.values()) == size and max(counts.values()) - min(counts.values()) <= 1
    assert list(family_counts(equal, len(FAMILIES))) == list(FAMILIES)
    assert family_counts(ALL_FAMILIES, 32) == dataclasses.asdict(ALL_FAMILIES)  # these need no rounding
    counts = family_counts(PriorWeights(ets=5.0, sarima=3.0, counts=2.0), 11)  # quotas 5.5, 3.3, 2.2
    assert (counts["ets"], counts["sarima"], counts["counts"], counts["rbf"]) == (6, 3, 2, 0)


def test_error_names_a_family_without_series_and_a_sufficient_group_size():
    weights = PriorWeights(ets=0.9, counts=0.1)
    with pytest.raises(ConfigError, match=r"group_size: 4 leaves no series to counts; a group_size of 6 is enough"):
        family_counts(weights, 4)
    assert family_counts(weights, 6)["counts"] == 1


def test_a_prior_without_families_is_refused():
    with pytest.raises(ConfigError, match="weights: at least one family needs a positive weight"):
        sample_group(jax.random.key(0), PriorConfig(), WINDOWS)
