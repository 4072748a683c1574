"""Our KernelSynth has the kernels of scikit-learn, and its speed is in one table with the prior's."""

import json
import subprocess
import sys

import numpy as np
import pytest

from benchmarks.kernel_synth import (
    BANK,
    JITTER,
    MAX_KERNELS,
    Kernel,
    Recipe,
    as_scikit_learn,
    bank_covariances,
    compose,
    compose_covariance,
    covariance,
    draw_lean,
    draw_path,
    draw_published,
    draw_recipe,
    grid,
)
from benchmarks.processes import ROOT
from benchmarks.sampling import LEAN, MIX, PUBLISHED, Throughput, table
from benchmarks.table import MISSING
from fimjax.prior.families import FAMILIES

N = 48


def recipes(count):
    rng = np.random.default_rng(0)
    return [draw_recipe(rng) for _ in range(count)]


def one_of_each():
    return list(dict.fromkeys(BANK))


def test_the_bank_is_the_published_one():
    assert len(BANK) == 33 and len(one_of_each()) == 31
    assert sum(kernel.name == "ExpSineSquared" for kernel in BANK) == 21


def test_recipes_take_one_to_five_kernels_and_join_them_either_way():
    drawn = recipes(2_000)
    counts = np.bincount([len(recipe.places) for recipe in drawn])[1:]
    assert len(counts) == MAX_KERNELS
    np.testing.assert_allclose(counts / len(drawn), 1 / MAX_KERNELS, atol=0.04)
    assert all(len(recipe.are_products) == len(recipe.places) - 1 for recipe in drawn)
    np.testing.assert_allclose(np.mean([x for recipe in drawn for x in recipe.are_products]), 0.5, atol=0.03)
    assert {place for recipe in drawn for place in recipe.places} == set(range(len(BANK)))


@pytest.mark.parametrize("kernel", one_of_each(), ids=lambda kernel: f"{kernel.name}-{kernel.parameter:g}")
def test_covariance_is_that_of_scikit_learn(kernel):
    pytest.importorskip("sklearn")
    theirs = as_scikit_learn(kernel, N)(grid(N)[:, None])
    np.testing.assert_allclose(covariance(kernel, N), theirs, rtol=1e-9, atol=1e-12)


def test_composed_covariance_is_that_of_scikit_learn():
    pytest.importorskip("sklearn")
    bank = [as_scikit_learn(kernel, N) for kernel in BANK]
    for recipe in recipes(50):
        theirs = compose(recipe, bank)(grid(N)[:, None])
        ours = compose_covariance(recipe, N)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=2 * JITTER * np.trace(theirs) / N)


def test_an_unknown_kernel_is_named():
    with pytest.raises(ValueError, match="Matern is not in the bank"):
        covariance(Kernel("Matern", 1.0), N)


def test_compositions_are_folded_from_the_left():
    constant, linear = BANK.index(Kernel("ConstantKernel", 1.0)), BANK.index(Kernel("DotProduct", 0.0))
    recipe = Recipe([constant, constant, linear], [False, True])  # (1 + 1) x y
    np.testing.assert_allclose(compose(recipe, bank_covariances(N)), 2.0 * np.outer(grid(N), grid(N)))


def test_compositions_are_positive_semidefinite_and_leave_the_bank_unchanged():
    before = bank_covariances(N).copy()
    for recipe in recipes(300):
        covariance_NN = compose_covariance(recipe, N)
        np.testing.assert_array_equal(covariance_NN, covariance_NN.T)
        eigenvalues = np.linalg.eigvalsh(covariance_NN)
        assert eigenvalues[0] > -1e-12 * eigenvalues[-1]
        assert np.isfinite(draw_path(covariance_NN, np.random.default_rng(0))).all()
    np.testing.assert_array_equal(bank_covariances(N), before)


def test_paths_have_the_covariance_of_their_kernel():
    rng, n, draws = np.random.default_rng(0), 12, 20_000
    smooth, noise = BANK.index(Kernel("RBF", 0.1)), BANK.index(Kernel("WhiteKernel", 0.1))
    expected = compose_covariance(Recipe([smooth, noise], [False]), n)
    paths = np.stack([draw_path(expected.copy(), rng) for _ in range(draws)])
    found = paths.T @ paths / draws
    # An entry's deviation is at most sqrt(2 / draws) variances of 1.1.
    np.testing.assert_allclose(found, expected, atol=5 * 1.1 * np.sqrt(2 / draws))


def test_lean_series_depend_on_the_seed():
    series = draw_lean((0, 0), 3, N)
    assert series.shape == (3, N) and np.isfinite(series).all()
    np.testing.assert_array_equal(series, draw_lean((0, 0), 3, N))
    assert not np.allclose(series, draw_lean((0, 1), 3, N))


def test_published_series_depend_on_the_seed():
    pytest.importorskip("sklearn")
    published = draw_published((0, 0), N)
    assert published.shape == (N,) and np.isfinite(published).all()
    np.testing.assert_array_equal(published, draw_published((0, 0), N))
    assert not np.allclose(published, draw_published((0, 1), N))


def test_table_shows_speeds_and_ratios():
    ours = Throughput("ets", "one device", 64, (2_000.0, 1_000.0, 4_000.0))
    lean = Throughput(LEAN, "2 processes", 1_024, (400.0,))
    published = Throughput(PUBLISHED, "2 processes", 64, (10.0,))
    text = table([ours, lean, published], points=512, batches=(64, 1_024))
    for part in (
        "512 points",
        "2,000 (1,000 to 4,000)",
        "64 per call",
        "1,024 per call",
        " 5 |",
        "10.0 (10.0 to 10.0)",
    ):
        assert part in text
    assert table([ours], points=512, batches=(64,)).count(MISSING) == 2


@pytest.mark.long
@pytest.mark.processes
def test_a_quick_run_prints_every_family_and_both_forms(tmp_path):
    output = tmp_path / "results.json"
    command = [sys.executable, "-m", "benchmarks.sampling", "--quick", "--output", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-4_000:]
    rows = {line.split("|")[1].strip() for line in done.stdout.splitlines() if line.startswith("|")}
    assert rows >= {*FAMILIES, MIX, PUBLISHED, LEAN}
    samplers = json.loads(output.read_text())["samplers"]
    assert {sampler["name"] for sampler in samplers} >= {*FAMILIES, MIX}
    assert all(len(sampler["rates"]) == 2 and min(sampler["rates"]) > 0 for sampler in samplers)
