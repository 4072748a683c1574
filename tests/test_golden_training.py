"""One training step of every config of fimjax 0.1 gives the same loss, gradient, update and output as it did then."""

import functools
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fimjax.config import Config, from_dict
from fimjax.config.migration import upgrade_parameter_name
from fimjax.models import build_model, forecasts, param_shapes
from fimjax.prior.sampler import Sample
from fimjax.training.losses import fold_windows, interpolate, target_window
from fimjax.training.optim import frozen_parts, make_optimizer, make_schedule, split_params
from fimjax.training.step import TrainStep
from fimjax.training.validation import validation_metrics
from tests.golden.parameters import by_path, golden_leaf

FOLDER = Path(__file__).parent / "golden"
CONFIGS = json.loads((FOLDER / "configs_old.json").read_text())
WITH_REMOVED_OPTIONS = ("first_fim", "tiny_fim@quantiles", "tiny_fim_local@norm_last")
"""These configs use an option that no longer exists (see test_config.py)."""
RTOL = 2e-4
"""Relative, of sums over thousands of float32 products in another order."""


def load_config(name: str) -> Config:
    """The stored config in today's form. The similarity variant trained its FIM-l, which is now always frozen."""
    entries = json.loads(json.dumps(CONFIGS[name]))
    if name == "tiny_fim@similarity":
        entries["model"]["freeze_local"] = True
    return from_dict(entries)


@functools.cache
def stored(name: str) -> dict[str, np.ndarray]:
    with np.load(FOLDER / "training_steps.npz", allow_pickle=False) as file:
        return {key.removeprefix(f"{name}/"): file[key] for key in file if key.startswith(f"{name}/")}


def stored_params(paths: np.ndarray, shapes: dict) -> dict:
    """The golden parameters by their old paths, in today's tree."""
    old_path = {upgrade_parameter_name(path): path for path in paths.tolist()}
    assert set(old_path) == set(by_path(shapes))

    def fill(tree: dict, prefix: str = "") -> dict:
        return {
            key: fill(leaf, f"{prefix}{key}/")
            if isinstance(leaf, dict)
            else jnp.asarray(golden_leaf(old_path[f"{prefix}{key}"], tuple(leaf.shape)))
            for key, leaf in tree.items()
        }

    return fill(shapes)


def leaf_sums(tree: dict, paths: np.ndarray, other: dict | None = None) -> np.ndarray:
    """The norm of each leaf in the stored order, or its product with another tree's; zero for missing leaves."""
    leaves = {path: np.asarray(x, np.float64) for path, x in by_path(tree).items()}
    others = None if other is None else by_path(other)
    sums = []
    for path in map(upgrade_parameter_name, paths.tolist()):
        leaf = leaves.get(path)
        if leaf is None:
            sums.append(0.0)
        else:
            sums.append(np.linalg.norm(leaf) if others is None else np.sum(leaf * others[path]))
    return np.array(sums)


def predict(model, params: dict, sample: Sample) -> jax.Array:
    if forecasts(model.config):
        return model.apply({"params": params}, sample.past(), target_window(sample)[0])
    return interpolate(model, params, fold_windows(sample))


def eleventh_update(config: Config, grads: dict, trained: dict) -> dict:
    """The update of step 10, after ten with the same gradient times cos(k)."""
    optimizer = make_optimizer(config.training)
    step = jax.jit(lambda k, state: optimizer.update(jax.tree.map(lambda g: g * jnp.cos(k), grads), state, trained))
    state = optimizer.init(trained)
    for k in range(11):
        updates, state = step(jnp.float32(k), state)
    return updates


SHORT = ("small_fim", "small_nbeats", "tiny_fim", "tiny_fim_local", "tiny_fim@similarity", "tiny_deeponet")
"""One recipe of each kind. `make golden` compares all of them, models of 50 million parameters included."""


@pytest.fixture(autouse=True)
def release_programs():
    yield
    jax.clear_caches()


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[] if n in SHORT else [pytest.mark.long]) for n in CONFIGS if n not in WITH_REMOVED_OPTIONS],
)
def test_a_training_step_is_as_before(name):
    config, old = load_config(name), stored(name)
    paths, trained_leaves = old["paths"], old["leaf_trained"]
    model = build_model(config.model, config.windows.count)
    params = stored_params(paths, param_shapes(model))
    fields = {key.removeprefix("batch/"): jnp.asarray(x) for key, x in old.items() if key.startswith("batch/")}
    sample = Sample(**fields)

    step = TrainStep(config, model, groups=1)
    total, count, grads = jax.jit(step.total_gradient)(params, sample)
    np.testing.assert_allclose(total / count, old["loss"], rtol=RTOL)
    grads = jax.tree.map(lambda g: g / count, grads)
    now = leaf_sums(grads, paths)
    # What is frozen today has no gradient, though one variant trained it.
    compared = trained_leaves & (now > 0) if name == "tiny_fim@similarity" else trained_leaves
    largest = old["leaf_gradient_norm"].max()
    np.testing.assert_allclose(now[compared], old["leaf_gradient_norm"][compared], rtol=1e-3, atol=1e-5 * largest)
    dots = leaf_sums(grads, paths, params)
    size = np.abs(old["leaf_gradient_dot"]).max()
    np.testing.assert_allclose(dots[compared], old["leaf_gradient_dot"][compared], rtol=1e-3, atol=1e-4 * size)

    metrics = jax.jit(lambda p, s: validation_metrics(model, config.training, p, s))(params, sample)
    for key in (key for key in old if key.startswith("evaluation/")):
        np.testing.assert_allclose(metrics[key.removeprefix("evaluation/")].value, old[key], rtol=RTOL)

    out = np.asarray(jax.jit(lambda p, s: predict(model, p, s))(params, sample))[: len(old["output"])]
    valid = sample.valid[:2, -1] if forecasts(config.model) else sample.valid[:2].reshape(-1, sample.valid.shape[-1])
    # In parts of the range of each series' values.
    scale = np.ptp(np.asarray(sample.noisy)[:2].reshape(2, -1), axis=-1).repeat(len(out) // 2)[:, None, None]
    np.testing.assert_allclose((out / scale)[valid], (old["output"] / scale)[valid], atol=1e-5)

    schedule = make_schedule(config.training)
    np.testing.assert_allclose([schedule(s) for s in old["schedule_steps"]], old["schedule_rates"], rtol=1e-6)
    if name == "tiny_fim@similarity":
        return  # the clipped norm of its gradient included the FIM-l
    trained, _ = split_params(params, frozen_parts(config.model))
    updates = leaf_sums(eleventh_update(config, grads, trained), paths)
    # Adam enlarges the rounding of gradients that are all but zero.
    clear = trained_leaves & (old["leaf_gradient_norm"] > 1e-3 * largest)
    np.testing.assert_allclose(updates[clear], old["leaf_update_norm"][clear], rtol=2e-3)
