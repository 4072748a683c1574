"""Permanent level shifts."""

import dataclasses

import numpy as np

from fimjax.prior.effects.jumps import jumps
from tests.prior.effects.apply import QUIET, WAVE, WAVE_DEVIATION, N, apply, changed_share

CONFIG = dataclasses.replace(QUIET, jumps=0.3)


def test_levels_jump_in_their_share_and_stay():
    added = (apply(jumps, CONFIG)[0] - np.asarray(WAVE)) / WAVE_DEVIATION
    has_jumped = np.abs(added).max(axis=1) > 1e-3
    assert 0.22 < has_jumped.mean() < 0.38
    steps = np.abs(np.diff(added[has_jumped], axis=1))
    count = (steps > 1e-3).sum(axis=1)  # once in 8 to 150 steps
    assert count.max() < N / 5 and 5 < np.median(count) < 25
    assert np.median(steps[steps > 1e-3]) > 0.3 and abs(added[has_jumped, -1].mean()) < 2.0  # up and down


def test_families_without_added_structure_do_not_jump():
    assert changed_share(jumps, CONFIG, may_add_structure=False) == 0
