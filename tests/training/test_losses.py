"""Losses against the same formulas in NumPy."""

import dataclasses

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.config import Config
from fimjax.models import build_model, init_params
from fimjax.nn.scaling import Affine, fit_range
from fimjax.prior.sampler import sample_group
from fimjax.training.losses import (
    WINDOW_CLIP,
    Loss,
    fold_windows,
    interpolate,
    mean_over_series,
    pinball,
    prediction_errors,
    similarity_distance,
    spread_weights,
)
from fimjax.training.validation import interpolate_linearly, repeat_last_value, repeat_last_window
from tests.examples import random_windows
from tests.training.examples import (
    DEEPONET_RUN,
    FIM_LOCAL_RUN,
    FIM_RUN,
    PRIOR,
    QUANTILE_REPORT_RUN,
    REPORT_LOCAL_RUN,
    WINDOWS,
)


def model_and_params(config: Config):
    model = build_model(config.model, config.windows.count)
    return model, jax.jit(lambda key: init_params(model, key))(jax.random.key(0))


def draw(seed, prior=PRIOR):
    return jax.jit(lambda key: sample_group(key, prior, WINDOWS))(jax.random.key(seed))


def test_pinball_is_minimised_by_the_quantile():
    """A flipped loss would be minimised at the opposite level."""
    draws = jax.random.normal(jax.random.key(0), (1, 20_000))
    grid = jnp.linspace(-3, 3, 241)
    for level in (0.1, 0.5, 0.9):
        losses = jax.vmap(lambda q: pinball(draws, jnp.full((1, 20_000, 1), q), (level,)).mean())(grid)
        assert abs(grid[jnp.argmin(losses)] - np.quantile(draws, level)) < 0.05


def test_pinball_by_hand():
    loss = pinball(jnp.array([[10.0]]), jnp.array([[[8.0, 11.0]]]), (0.1, 0.9))
    np.testing.assert_allclose(loss, [[(0.1 * 2 + 0.1 * 1) / 2]], rtol=1e-6)


def test_each_series_counts_equally_and_empty_ones_not_at_all():
    errors = jnp.array([[1.0, 1.0, 1.0, 1.0], [5.0, 9.0, 9.0, 9.0], [7.0, 7.0, 7.0, 7.0]])
    valid = jnp.array([[1, 1, 1, 1], [1, 0, 0, 0], [0, 0, 0, 0]], bool)
    mean = mean_over_series(errors, valid)
    assert mean.value == (1 + 5) / 2 and mean.count == 2


def test_values_are_compared_with_clean_and_quantiles_with_noisy_targets():
    clean, noisy, valid = jnp.zeros((1, 3)), jnp.ones((1, 3)), jnp.ones((1, 3), bool)
    unit = Affine(jnp.zeros(1), jnp.ones(1))
    value_errors, _ = prediction_errors(jnp.zeros((1, 3, 1)), clean, noisy, unit, valid, (), 10.0)
    quantile_errors, _ = prediction_errors(jnp.ones((1, 3, 1)), clean, noisy, unit, valid, (0.5,), 10.0)
    assert not value_errors.any() and not quantile_errors.any()


def test_errors_are_in_units_of_the_series_and_targets_are_clipped():
    scale = Affine(jnp.array([100.0]), jnp.array([10.0]))
    out, clean = jnp.full((1, 2, 1), 120.0), jnp.array([[130.0, 1e9]])
    errors, counted = prediction_errors(out, clean, clean, scale, jnp.ones((1, 2), bool), (), 5.0)
    np.testing.assert_allclose(errors, [[1.0, 9.0]], rtol=1e-5)
    assert counted.all()


def test_a_constant_series_does_not_count():
    flat = Affine(jnp.array([100.0]), jnp.array([0.0]))
    ones = jnp.ones((1, 2))
    _, counted = prediction_errors(ones[..., None], ones, ones, flat, jnp.ones((1, 2), bool), (), 5.0)
    assert not counted.any()


def test_series_are_weighted_by_their_spread_without_a_gradient():
    quantiles = jnp.array([[[0.0, 1.0, 4.0]], [[0.0, 0.5, 1.0]]])
    weights = spread_weights(quantiles, jnp.ones((2, 1), bool), power=0.5, least=0.0)
    np.testing.assert_allclose(weights, [0.5, 1.0], rtol=1e-6)
    gradient = jax.grad(lambda q: spread_weights(q, jnp.ones((2, 1), bool), 0.5, 0.1).sum())(quantiles)
    assert not gradient.any()


def test_similarity_is_zero_for_equal_directions_and_two_for_opposite_ones():
    a = jax.random.normal(jax.random.key(0), (4, 8))
    np.testing.assert_allclose(similarity_distance(a, 3 * a), 0, atol=1e-6)
    np.testing.assert_allclose(similarity_distance(a, -a), 2, atol=1e-6)


@pytest.mark.parametrize(
    "config",
    [REPORT_LOCAL_RUN, FIM_LOCAL_RUN, DEEPONET_RUN, QUANTILE_REPORT_RUN, FIM_RUN],
    ids=["fim_local_report", "fim_local", "deeponet", "fim_report", "fim"],
)
def test_invalid_slots_do_not_reach_the_loss_and_the_target_does(config):
    model, params = model_and_params(config)
    loss_function = Loss(model, config.training)
    loss = jax.jit(loss_function)
    sample = draw(seed=1)
    rubbish = lambda x: jnp.where(sample.valid, x, 1e6)
    dirty = sample.replace(noisy=rubbish(sample.noisy), clean=rubbish(sample.clean), times=rubbish(sample.times))
    chex.assert_trees_all_close(loss(params, dirty), loss(params, sample), rtol=1e-5)
    broken = jnp.where(sample.valid, sample.noisy, jnp.nan)
    gradient = jax.jit(jax.grad(lambda params, sample: loss_function(params, sample).total))
    chex.assert_tree_all_finite(gradient(params, sample.replace(noisy=broken, times=rubbish(sample.times))))
    bend = jnp.square(jnp.arange(float(WINDOWS.slots)))[None]
    other = sample.replace(noisy=sample.noisy.at[:, -1].add(bend), clean=sample.clean.at[:, -1].add(bend))
    assert loss(params, other).total != loss(params, sample).total


def test_the_similarity_loss_sends_no_gradient_into_the_true_embedding():
    """The target's values get no gradient from the similarity term, which only trains the predicted embedding."""
    _, params = model_and_params(QUANTILE_REPORT_RUN)
    sample = draw(seed=1)

    def gradient(similarity_weight):
        config = dataclasses.replace(QUANTILE_REPORT_RUN.model, similarity_weight=similarity_weight)
        loss = Loss(build_model(config, WINDOWS.count), QUANTILE_REPORT_RUN.training)
        change = lambda noise: loss(params, sample.replace(noisy=sample.noisy.at[:, -1].add(noise))).total
        return jax.jit(jax.grad(change))(jnp.zeros_like(sample.noisy[:, -1]))

    np.testing.assert_allclose(gradient(1e3), gradient(0.0), rtol=1e-4, atol=1e-6)


def test_interpolation_weight_adds_fim_ls_own_loss_on_the_seen_windows():
    """FIM-l's error as in its own training, averaged over the unobserved points of each series."""
    _, params = model_and_params(FIM_RUN)
    sample = draw(3, dataclasses.replace(PRIOR, missing=1.0, short_history=0.0))
    losses = {}
    for weight in (0.0, 0.5):
        model = build_model(dataclasses.replace(FIM_RUN.model, interpolation_weight=weight), WINDOWS.count)
        losses[weight] = jax.jit(Loss(model, FIM_RUN.training))(params, sample)
    local = build_model(FIM_RUN.model.local, WINDOWS.count)
    past = jax.tree.map(lambda x: x[:, :-1] if x.ndim == 3 else x, sample)
    folded = fold_windows(past)
    out = jax.jit(lambda params: interpolate(local, params, folded))(params["local"])
    unseen = folded.valid & ~folded.observed
    value_map = fit_range(folded.noisy, folded.observed)
    levels = FIM_RUN.model.quantile_levels
    errors, counted = prediction_errors(out, folded.clean, folded.noisy, value_map, unseen, levels, WINDOW_CLIP)
    by_series = lambda x: np.asarray(x).reshape(len(sample.season), -1)
    expected = np.sum(by_series(errors * counted), axis=-1) / np.maximum(by_series(counted).sum(axis=-1), 1)
    added = losses[0.5].total - losses[0.0].total
    np.testing.assert_allclose(added, 0.5 * expected.sum(), rtol=1e-3)


def test_linear_interpolation_is_numpys():
    values, times = jnp.array([[3.0, 1.0, 9.0, 4.0]]), jnp.array([[2.0, 0.0, 7.0, 4.0]])
    mask, query = jnp.array([[True, True, False, True]]), jnp.array([[-1.0, 0.5, 2.0, 3.0, 9.0]])
    expected = np.interp(query[0], [0.0, 2.0, 4.0], [1.0, 3.0, 4.0])
    np.testing.assert_allclose(interpolate_linearly(values, times, mask, query)[0], expected, rtol=1e-6)


def test_repeating_the_last_window_and_value():
    windows = random_windows(share=1.0)
    regular = jnp.broadcast_to(jnp.arange(1.0, 25.0).reshape(1, 3, 8), (3, 3, 8))
    windows = windows.replace(times=regular)
    out = repeat_last_window(windows, regular[:, -1] + 8.0)
    chex.assert_trees_all_close(out, windows.values[:, -1], rtol=1e-6)
    out = repeat_last_value(windows, regular[:, -1] + 8.0)
    chex.assert_trees_all_close(out, jnp.repeat(windows.values[:, -1, -1:], 8, axis=1), rtol=1e-6)
