"""Windows cover a series, and their answers join without a seam."""

import numpy as np
import pytest

from fimjax.inference.interpolation import Blend, cut_windows

SLOTS = 8


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 12, 13, 40])
def test_every_query_is_in_a_window_of_neighbouring_points(n):
    times = np.sort(np.random.default_rng(n).uniform(0, 50, n))
    queries = np.random.default_rng(0).uniform(times[0], times[-1], 30)
    cuts = cut_windows(times, queries, SLOTS)
    assert set(np.concatenate([cut.queries for cut in cuts])) == set(range(30))
    for cut in cuts:
        inside = times[cut.points]
        assert len(inside) == min(n, SLOTS) and (cut.first, cut.last) == (inside[0], inside[-1])
        assert ((queries[cut.queries] >= cut.first) & (queries[cut.queries] <= cut.last)).all()


def test_windows_without_a_query_are_not_computed():
    cuts = cut_windows(np.arange(1000.0), np.array([500.2]), SLOTS)
    assert len(cuts) == 2 and all(cut.first <= 500.2 <= cut.last for cut in cuts)


def blended(queries, answers):
    """Two windows [0, 8] and [4, 12] that say `answers`, pairs of a function and its derivative."""
    blend = Blend(queries, outputs=1, slopes=True)
    for cut, (f, slope) in zip(cut_windows(np.arange(13.0), queries, 9), answers):
        x = queries[cut.queries]
        blend.add(cut, np.stack([f(x), slope(x)], axis=-1))
    return blend.result()


def test_windows_that_agree_are_left_as_they_are():
    queries = np.linspace(0, 12, 41)
    out = blended(queries, [(np.sin, np.cos)] * 2)
    np.testing.assert_allclose(out, np.stack([np.sin(queries), np.cos(queries)], axis=-1), atol=1e-9)


def test_windows_that_disagree_are_joined_without_a_seam_and_the_slope_is_that_of_what_is_reported():
    queries = np.linspace(0, 12, 4801)
    out = blended(queries, [(np.zeros_like, np.zeros_like), (lambda x: 1 + 0 * x, np.zeros_like)])
    assert out[0, 0] == 0 and out[-1, 0] == 1 and np.all(np.diff(out[:, 0]) >= -1e-12)
    assert np.abs(np.diff(out[:, 0])).max() < 2e-3
    np.testing.assert_allclose(np.gradient(out[:, 0], queries)[1:-1], out[1:-1, 1], atol=2e-3)
