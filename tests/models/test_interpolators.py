"""What every interpolator guarantees: the shipped FIM-l, the lab report's, and DeepONet."""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.nn.season import SeasonPhase
from tests.examples import (
    DEEPONET,
    FIM_LOCAL,
    QUANTILE_REPORT_FIM_LOCAL,
    REPORT_FIM_LOCAL,
    apply,
    parameters_without_gradient,
    random_window,
    with_params,
)

INTERPOLATORS = {
    "fim_local": FIM_LOCAL,
    "fim_local_report": REPORT_FIM_LOCAL,
    "fim_local_report_quantiles": QUANTILE_REPORT_FIM_LOCAL,
    "deeponet": DEEPONET,
}
EACH_MODEL = pytest.mark.parametrize("name", INTERPOLATORS)
RUBBISH = (1e9, jnp.nan, jnp.inf)
SEASON = SeasonPhase(jnp.zeros(3), jnp.ones(3), jnp.array([1, 4, 12]))
QUERY_TIMES = jnp.linspace(0.5, 11.0, 5)[None].repeat(3, axis=0)


@functools.cache
def case(name: str) -> tuple[tuple[jax.Array, jax.Array, jax.Array], jax.Array]:
    """Values, times and mask of three windows, and the model's output [B, Q, L] there."""
    window = random_window()
    return window, interpolate(name, *window)


def interpolate(name, values, times, mask, query_times=QUERY_TIMES, season_phase=SEASON):
    return apply(*with_params(INTERPOLATORS[name]), values, times, mask, query_times, season_phase)


@EACH_MODEL
def test_output_is_float32_with_one_column_per_level(name):
    _, out = case(name)
    chex.assert_shape(out, (3, 5, max(1, len(INTERPOLATORS[name].quantile_levels))))
    chex.assert_type(out, jnp.float32)
    chex.assert_tree_all_finite(out)


@EACH_MODEL
def test_quantiles_do_not_cross(name):
    for seed in range(10):
        values, times, mask = random_window(seed)
        assert np.all(np.diff(interpolate(name, values * 10.0 ** (seed - 5), times, mask), axis=-1) >= 0)


@EACH_MODEL
def test_unobserved_slots_are_never_read(name):
    (values, times, mask), out = case(name)
    for rubbish in RUBBISH:
        dirty = jnp.where(mask, values, rubbish), jnp.where(mask, times, rubbish)
        chex.assert_trees_all_equal(interpolate(name, *dirty, mask), out)


@EACH_MODEL
def test_empty_slots_and_the_order_of_observations_do_not_matter(name):
    window, out = case(name)
    padded = [jnp.pad(x, ((0, 0), (0, 4))) for x in window]
    chex.assert_trees_all_close(interpolate(name, *padded), out, rtol=1e-4, atol=1e-4)
    order = jax.random.permutation(jax.random.key(5), 12)
    chex.assert_trees_all_close(interpolate(name, *(x[:, order] for x in window)), out, rtol=1e-4, atol=1e-4)


@EACH_MODEL
def test_an_observation_changes_the_output(name):
    (values, times, mask), out = case(name)
    difference = interpolate(name, values.at[:, 1].add(1.0), times, mask) - out
    assert jnp.abs(difference).max(axis=(1, 2)).min() > 1e-3


@EACH_MODEL
@pytest.mark.parametrize("scale, shift", [(3.0, 0.0), (1.0, 40.0), (1e-6, 2e-6), (1e6, -1e7)])
def test_the_output_scales_and_shifts_with_the_values(name, scale, shift):
    (values, times, mask), out = case(name)
    moved = interpolate(name, scale * values + shift, times, mask)
    chex.assert_trees_all_close((moved - shift) / scale, out, rtol=2e-3, atol=2e-3)


@EACH_MODEL
@pytest.mark.parametrize("scale, shift", [(0.125, 0.0), (1.0, 64.0), (30.0, -900.0)])
def test_the_unit_and_origin_of_time_do_not_matter(name, scale, shift):
    (values, times, mask), out = case(name)
    season_phase = SeasonPhase(SEASON.origin * scale + shift, SEASON.step * scale, SEASON.season)
    moved = interpolate(name, values, times * scale + shift, mask, QUERY_TIMES * scale + shift, season_phase)
    chex.assert_trees_all_close(moved, out, rtol=2e-3, atol=2e-3)


@EACH_MODEL
@pytest.mark.parametrize("constant", [0.0, 0.1, -5.0, 1e9, 1e-9])
def test_a_constant_window_gets_exactly_its_constant(name, constant):
    (values, times, mask), out = case(name)
    found = interpolate(name, jnp.full_like(values, constant), times, mask)
    chex.assert_trees_all_equal(found, jnp.full_like(out, constant))


@EACH_MODEL
def test_one_observation_is_repeated_and_none_gives_finite_numbers(name):
    (values, times, mask), out = case(name)
    one = jnp.zeros_like(mask).at[:, 4].set(True)
    expected = jnp.broadcast_to(values[:, 4, None, None], out.shape)
    chex.assert_trees_all_equal(interpolate(name, values, times, one), expected)
    chex.assert_tree_all_finite(interpolate(name, values, times, jnp.zeros_like(mask)))


@EACH_MODEL
def test_season_matters_if_and_only_if_the_model_reads_it(name):
    window, out = case(name)
    other = SeasonPhase(SEASON.origin, SEASON.step, jnp.array([1, 5, 12]))
    changed = np.any(interpolate(name, *window, season_phase=other) != out, axis=(1, 2))
    reads_season = bool(getattr(INTERPOLATORS[name], "season_harmonics", 0))
    np.testing.assert_array_equal(changed, [False, reads_season, False])
    no_season = SeasonPhase(jnp.zeros(3), jnp.ones(3), jnp.ones(3, jnp.int32))
    without = [interpolate(name, *window, season_phase=phase) for phase in (no_season, None)]
    chex.assert_trees_all_close(*without, rtol=1e-5)


@EACH_MODEL
def test_gradients_reach_every_parameter(name):
    model, variables = with_params(INTERPOLATORS[name])
    loss = lambda v: jnp.sum(model.apply(v, *random_window(), QUERY_TIMES, SEASON) ** 2)
    found = parameters_without_gradient(jax.jit(jax.grad(loss))(variables)["params"])
    # A key's bias shifts all scores alike, which softmax ignores. FIM alone reads the summary of the shipped FIM-l.
    unused = ("branch_mlp/", "summary/") if name == "fim_local" else ()
    assert not {path for path in found if not path.endswith("/key/bias") and not path.startswith(unused)}


@EACH_MODEL
def test_bfloat16_stays_close(name):
    config = INTERPOLATORS[name]
    model, variables = with_params(config, dtype=jnp.bfloat16)
    chex.assert_type(jax.tree.leaves(variables), jnp.float32)
    window, out = case(name)
    found = apply(model, variables, *window, QUERY_TIMES, SEASON)
    chex.assert_type(found, jnp.float32)
    chex.assert_trees_all_close(found, out, rtol=0.1, atol=0.3)
