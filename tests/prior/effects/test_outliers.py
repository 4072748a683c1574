"""Outliers."""

import dataclasses

import jax
import numpy as np
from scipy import stats

from fimjax.prior.effects.outliers import outlier_shifts, outliers
from tests.prior.effects.apply import QUIET, WAVE_DEVIATION, apply

ALWAYS = dataclasses.replace(QUIET, outliers=1.0)


def test_outliers_are_few_and_far_from_the_path():
    clean, noisy, _ = apply(outliers, ALWAYS)
    shifts = np.abs(noisy - clean)
    assert 0.003 < (shifts > 0).mean() < 0.05 and (shifts > 0).any(axis=1).mean() > 0.8
    assert shifts[shifts > 0].min() > 2.0 * WAVE_DEVIATION


def test_shifts_are_uniform_from_three_to_eight_in_both_directions():
    shifts = np.asarray(outlier_shifts(jax.random.uniform(jax.random.key(5), (200_000,)), 0.04))
    found = shifts[shifts != 0]
    np.testing.assert_allclose(len(found) / len(shifts), 0.04, rtol=0.05)
    # Uniform over both intervals once the gap between them is closed.
    assert stats.kstest(np.where(found > 0, found + 2, found + 8) / 10, "uniform").pvalue > 0.01


def test_families_without_noise_have_no_outliers():
    clean, noisy, _ = apply(outliers, ALWAYS, may_add_noise=False)
    assert (noisy == clean).all()
