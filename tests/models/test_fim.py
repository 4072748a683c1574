"""What is particular to the shipped FIM; what all forecasting models share is in test_invariants.py."""

import chex
import jax
import jax.numpy as jnp

from fimjax.models import build_model, param_shapes
from fimjax.nn.season import SeasonPhase
from tests.examples import FIM, WINDOW_COUNT, apply, query_times, random_windows, with_params


def test_it_contains_a_whole_fim_l_whose_decoder_has_no_part_in_the_forecast():
    model, variables = with_params(FIM)
    params = variables["params"]
    chex.assert_trees_all_equal_shapes(params["local"], param_shapes(build_model(FIM.local, WINDOW_COUNT)))
    windows = random_windows()
    zeros = jax.tree.map(jnp.zeros_like, params["local"]["query_decoder"])
    changed = {**params, "local": {**params["local"], "query_decoder": zeros}}
    times = query_times(windows)
    expected = apply(model, variables, windows, times)
    chex.assert_trees_all_equal(apply(model, {"params": changed}, windows, times), expected)


def test_it_interpolates_its_last_windows_as_its_fim_l_does():
    model, variables = with_params(FIM)
    windows = random_windows(share=1.0)
    times = windows.times[:, -2:] + 0.1
    encoded = apply(model, variables, windows, method="encode")
    found = apply(model, variables, encoded, windows, times, method="interpolate")
    local = build_model(FIM.local, WINDOW_COUNT)
    season_phase = SeasonPhase(windows.origin, jnp.ones(3), windows.season).repeat(2)
    fold = lambda x: x[:, -2:].reshape(-1, x.shape[-1])
    inputs = (*map(fold, (windows.values, windows.times, windows.mask)), fold(times), season_phase)
    expected = apply(local, {"params": variables["params"]["local"]}, *inputs)
    chex.assert_trees_all_close(found.reshape(expected.shape), expected, rtol=1e-3, atol=1e-3)


def test_a_known_floor_changes_the_forecast_and_moves_with_the_values():
    model, variables = with_params(FIM)
    windows = random_windows()
    times = query_times(windows)
    floor = jnp.min(windows.values, axis=(1, 2)) - 1.0
    unknown, known = (apply(model, variables, w, times) for w in (windows, windows.replace(floor=floor)))
    infinite = apply(model, variables, windows.replace(floor=jnp.full_like(floor, -jnp.inf)), times)
    chex.assert_trees_all_close(infinite, unknown, rtol=1e-6)
    assert jnp.abs(known - unknown).max() > 1e-3
    moved = windows.replace(values=40.0 + 3.0 * windows.values, floor=40.0 + 3.0 * floor)
    chex.assert_trees_all_close((apply(model, variables, moved, times) - 40.0) / 3.0, known, rtol=5e-3, atol=5e-3)
