"""What is particular to FIM as in the lab report; what all forecasting models share is in test_invariants.py."""

import dataclasses

import chex
import jax.numpy as jnp
import numpy as np

from fimjax.config import ReportFIMConfig
from fimjax.models import build_model, count_params, param_shapes
from tests.examples import REPORT_FIM, WINDOW_COUNT, apply, query_times, random_windows, with_params


def test_the_decoder_is_fim_ls_own():
    """y(t) = phi_7(h*_K, trunk(t)), with FIM-l's trunk and projection, in the units of the series."""
    model, variables = with_params(REPORT_FIM)
    windows = random_windows()
    times = query_times(windows)
    predicted = apply(model, variables, windows, method="encode")
    chex.assert_shape(predicted.h, (3, REPORT_FIM.local.width))
    local = build_model(REPORT_FIM.local, WINDOW_COUNT)
    unit_times = (times - windows.origin[:, None] - 1) / (windows.duration[:, None] - 1)  # first step 0, last step 1
    decoded = apply(local, {"params": variables["params"]["local"]}, predicted.h, unit_times, method="decode")
    observed = [np.asarray(v)[np.asarray(m)] for v, m in zip(windows.values, windows.mask)]
    mean, std = (np.array([f(x) for x in observed])[:, None, None] for f in (np.mean, np.std))
    chex.assert_trees_all_close(apply(model, variables, windows, times), mean + std * decoded, rtol=1e-3, atol=1e-3)


def test_each_window_is_encoded_alone_in_its_own_unit_square():
    """h_j depends on the shape of a window, but neither on its level nor on the other windows."""
    model, variables = with_params(REPORT_FIM)
    windows = random_windows(share=1.0)
    times, phase = windows.time_map().normalise(windows.times), windows.season_phase()
    embed = lambda values: apply(model, variables, values, times, windows.mask, phase, method="embed_windows")[0]
    before, after = embed(windows.values), embed(windows.values.at[:, 0].multiply(7.0).at[:, 1].set(-3.0))
    chex.assert_trees_all_close(after[:, 0], before[:, 0], rtol=1e-3, atol=1e-3)
    chex.assert_trees_all_close(after[:, 2], before[:, 2], rtol=1e-6)
    assert jnp.abs(after[:, 1] - before[:, 1]).max() > 1e-2


def test_positional_encoding_distinguishes_windows():
    """Without it, swapping two windows in the array changes nothing, because their times say where they are."""
    windows = random_windows()
    swapped = windows.replace(values=windows.values[:, ::-1], times=windows.times[:, ::-1], mask=windows.mask[:, ::-1])
    times = query_times(windows)
    for encoding in (False, True):
        model, variables = with_params(dataclasses.replace(REPORT_FIM, positional_encoding=encoding))
        difference = apply(model, variables, swapped, times) - apply(model, variables, windows, times)
        assert (jnp.abs(difference).max() > 1e-3) == encoding
        if encoding:
            chex.assert_shape(variables["params"]["position"], (WINDOW_COUNT - 1, 2 * REPORT_FIM.local.width))


def test_parameter_counts_are_the_reports():
    shapes = param_shapes(build_model(ReportFIMConfig(), window_count=5))
    local = shapes["local"]
    assert count_params(local) == 22_465_281
    assert count_params(local["branch_encoder"]) == 6 * 3_152_384 + 1_024
    five_linear = 512 * 1024 + (1024 + 1) * 1024 + 1024 * 1024 + (1024 + 1) * 256 + (256 + 1) * 1
    assert count_params(local["projection"]) == five_linear + 2 * 2 * 1024  # and two LayerNorms
    assert count_params(shapes) - count_params(local) == 27_456_256
    assert count_params(shapes["window_encoder"]) == 8 * 3_152_384 + 1_024
    assert count_params(shapes["scale_embedding"]) == 9 * 256 + 256
    assert count_params(shapes["extractor"]) == 1_182_464
