"""What every forecasting model guarantees: masks, equivariance, independence, finite outputs, sorted quantiles."""

import functools
from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.config import ModelConfig
from fimjax.models import build_model, model_name
from fimjax.nn.compute import Compute
from fimjax.nn.windows import Windows
from tests.examples import (
    FIM,
    REPORT_FIM,
    WINDOW_COUNT,
    apply,
    parameters_without_gradient,
    query_times,
    random_windows,
    with_params,
)
from tests.models.examples import FORECASTING_MODELS, GRID_MODELS, SEASONAL_GRID_MODELS

EACH_MODEL = pytest.mark.parametrize("name", FORECASTING_MODELS)

RUBBISH = (1e9, jnp.nan, -jnp.inf)

WITHOUT_GRADIENT = {
    # A key's bias shifts all scores alike, which softmax ignores.
    "fim_report": ("/key/bias",),
    "fim_report_quantiles": ("/key/bias",),
    # FIM-l's own decoder interpolates and has no part in the forecast.
    "fim": ("/key/bias", "local/query_decoder/"),
    # The decoder's only token attends to itself alone.
    "chronos_bolt": ("decoder/layer_0/self_attention/query", "decoder/layer_0/self_attention/key", "decoder/relative"),
}
"""Parts of parameter names that get no gradient, for each model that has some."""


class Gradients(NamedTuple):
    params: dict
    values: jax.Array  # [B, W, T]


@functools.cache
def case(name: str) -> tuple[Windows, jax.Array, jax.Array]:
    """Windows, query times, and the model's forecasts [B, Q, L] there."""
    windows = random_windows()
    times = query_times(windows)
    return windows, times, forecast(name, windows, times)


def forecast(name: str, windows: Windows, times: jax.Array) -> jax.Array:
    """Forecasts [B, Q, L]; every test uses the same shapes, so that each model is compiled once."""
    return apply(*with_params(FORECASTING_MODELS[name]), windows, times)


@functools.cache
def compiled_gradients(config: ModelConfig):
    model, _ = with_params(config)
    loss = lambda variables, values, windows, times: jnp.sum(
        model.apply(variables, windows.replace(values=values), times) ** 2
    )
    return jax.jit(jax.grad(loss, argnums=(0, 1)))


def gradients(name: str, windows: Windows) -> Gradients:
    """Gradients of the sum of squared forecasts with respect to parameters and observed values."""
    config = FORECASTING_MODELS[name]
    _, variables = with_params(config)
    by_variables, by_values = compiled_gradients(config)(variables, windows.values, windows, query_times(windows))
    return Gradients(by_variables["params"], by_values)


def fill_gaps_with(windows: Windows, rubbish: float) -> Windows:
    return windows.replace(
        values=jnp.where(windows.mask, windows.values, rubbish), times=jnp.where(windows.mask, windows.times, rubbish)
    )


def without_window(windows: Windows, index: int) -> Windows:
    return windows.replace(mask=windows.mask.at[:, index].set(False))


@EACH_MODEL
def test_output_is_float32_with_one_column_per_level(name):
    _, _, out = case(name)
    chex.assert_shape(out, (3, 5, max(1, len(FORECASTING_MODELS[name].quantile_levels))))
    chex.assert_type(out, jnp.float32)
    chex.assert_tree_all_finite(out)


@EACH_MODEL
def test_quantiles_do_not_cross(name):
    for seed in range(10):
        windows = random_windows(seed)
        windows = windows.replace(values=windows.values * 10.0 ** (seed - 5))
        rises = np.diff(forecast(name, windows, query_times(windows)), axis=-1)
        assert np.all(rises >= 0)
        assert rises.size == 0 or np.any(rises > 0)


@EACH_MODEL
def test_unobserved_slots_are_never_read(name):
    windows, times, out = case(name)
    for rubbish in RUBBISH:
        chex.assert_trees_all_equal(forecast(name, fill_gaps_with(windows, rubbish), times), out)
    # The same holds for a whole window without observations.
    gap = without_window(windows, 1)
    expected = forecast(name, gap, times)
    chex.assert_tree_all_finite(expected)
    for rubbish in RUBBISH:
        chex.assert_trees_all_equal(forecast(name, fill_gaps_with(gap, rubbish), times), expected)


@EACH_MODEL
def test_empty_slots_and_an_empty_oldest_window_change_nothing(name):
    small = random_windows(windows=2, slots=5)
    times = query_times(small)
    pad = lambda x, filler: jnp.pad(x, ((0, 0), (1, 0), (1, 2)), constant_values=filler)
    padded = small.replace(values=pad(small.values, 7.0), times=pad(small.times, -3.0), mask=pad(small.mask, False))
    assert padded.values.shape == random_windows().values.shape
    expected = forecast(name, small, times)
    chex.assert_trees_all_close(forecast(name, padded, times), expected, rtol=1e-4, atol=1e-4)


@EACH_MODEL
def test_order_of_observations_does_not_matter(name):
    windows, times, out = case(name)
    order = jax.random.permutation(jax.random.key(5), windows.values.shape[-1])
    shuffled = windows.replace(
        values=windows.values[..., order], times=windows.times[..., order], mask=windows.mask[..., order]
    )
    chex.assert_trees_all_close(forecast(name, shuffled, times), out, rtol=1e-4, atol=1e-4)


@EACH_MODEL
@pytest.mark.parametrize("scale, shift", [(3.0, 0.0), (1.0, 40.0), (50.0, 1000.0), (1e-6, 2e-6), (1e6, -1e7)])
def test_forecasts_scale_and_shift_with_the_values(name, scale, shift):
    windows, times, out = case(name)
    moved = forecast(name, windows.replace(values=scale * windows.values + shift), times)
    chex.assert_trees_all_close((moved - shift) / scale, out, rtol=5e-3, atol=5e-3)


@EACH_MODEL
@pytest.mark.parametrize("scale, shift", [(0.125, 0.0), (1.0, 64.0), (3.0, 7.0), (30.0, -900.0)])
def test_the_unit_and_origin_of_time_do_not_matter(name, scale, shift):
    windows, times, out = case(name)
    moved = windows.replace(
        times=windows.times * scale + shift, origin=windows.origin * scale + shift, duration=windows.duration * scale
    )
    chex.assert_trees_all_close(forecast(name, moved, times * scale + shift), out, rtol=5e-3, atol=5e-3)


@EACH_MODEL
@pytest.mark.parametrize("constant", [0.0, 0.1, -5.0, 1e9])
def test_a_constant_series_gets_exactly_its_constant(name, constant):
    windows, times, out = case(name)
    found = forecast(name, windows.replace(values=jnp.full_like(windows.values, constant)), times)
    chex.assert_trees_all_equal(found, jnp.full_like(out, constant))


@EACH_MODEL
def test_a_series_without_observations_gets_zeros(name):
    windows, times, out = case(name)
    nothing = windows.replace(mask=jnp.zeros_like(windows.mask))
    chex.assert_trees_all_equal(forecast(name, nothing, times), jnp.zeros_like(out))


@EACH_MODEL
def test_series_of_a_batch_do_not_influence_each_other(name):
    windows, times, out = case(name)
    others = windows.replace(
        values=windows.values.at[1].multiply(-3.0).at[2].add(100.0),
        times=windows.times.at[1:].add(-0.4),
        mask=windows.mask.at[1].set(False).at[2].set(True),
    )
    found = forecast(name, others, times.at[1:].add(0.3))
    chex.assert_trees_all_equal(found[0], out[0])
    assert not jnp.allclose(found[1:], out[1:])


@EACH_MODEL
def test_query_times_do_not_influence_each_other(name):
    windows, times, out = case(name)
    found = forecast(name, windows, times.at[:, 1:].add(0.6))
    chex.assert_trees_all_close(found[:, 0], out[:, 0], rtol=1e-5, atol=1e-5)
    assert not jnp.allclose(found[:, 1:], out[:, 1:])


@EACH_MODEL
def test_vmap_over_single_series_equals_a_batch(name):
    model, variables = with_params(FORECASTING_MODELS[name])
    windows, times, out = case(name)
    single = lambda *inputs: model.apply(variables, *jax.tree.map(lambda x: x[None], inputs))[0]
    chex.assert_trees_all_close(jax.jit(jax.vmap(single))(windows, times), out, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "config, reads_season",
    [
        (FIM, True),
        (REPORT_FIM, False),
        *((config, False) for config in GRID_MODELS.values()),
        *((config, True) for config in SEASONAL_GRID_MODELS.values()),
    ],
    ids=lambda x: model_name(x) if isinstance(x, ModelConfig) else str(x),
)
def test_season_matters_if_and_only_if_the_model_reads_it(config, reads_season):
    windows = random_windows()
    times = query_times(windows)
    out, found = (apply(*with_params(config), w, times) for w in (windows, windows.replace(season=windows.season + 2)))
    assert jnp.allclose(found, out, atol=1e-3) != reads_season


@EACH_MODEL
def test_gradients_reach_every_parameter(name):
    found = parameters_without_gradient(gradients(name, random_windows()).params)
    allowed = WITHOUT_GRADIENT.get(name, ())
    assert not {parameter for parameter in found if not any(part in parameter for part in allowed)}


@EACH_MODEL
def test_gradients_are_finite_and_zero_at_missing_values(name):
    windows = random_windows()
    broken = without_window(windows, 1).replace(values=windows.values.at[1].set(3.0))
    found = gradients(name, fill_gaps_with(broken, jnp.nan))
    chex.assert_tree_all_finite(found)
    assert not found.values[~broken.mask].any() and found.values[0][broken.mask[0]].all()
    chex.assert_tree_all_finite(gradients(name, windows.replace(mask=jnp.zeros_like(windows.mask))))


@EACH_MODEL
def test_bfloat16_stays_close(name):
    config = FORECASTING_MODELS[name]
    _, variables = with_params(config)
    windows, times, out = case(name)
    found = apply(build_model(config, WINDOW_COUNT, Compute(jnp.bfloat16, remat=True)), variables, windows, times)
    chex.assert_type(found, jnp.float32)
    np.testing.assert_allclose(found, out, atol=0.15 * float(jnp.std(out)))
    assert not jnp.array_equal(found, out)
