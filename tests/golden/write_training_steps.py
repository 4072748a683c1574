"""Writes `training_steps.npz` and `configs_old.json` with the OLD code, and does not run with any other.

`cd <old> && PYTHONPATH=<old> python -m tests.golden.write_training_steps`. For every config of `configs/`, and for the
variants below, the npz holds, under `<config>/`:

- `batch/<field>`: a batch of the old prior, the fields of `fimjax.prior.sampler.Sample`: times, noisy, clean, observed,
  valid [B, K, T], origin, duration, steps, season, floor [B]. It is the first group of `sample_groups(key(0), 0, 1)`,
  of which B series are taken evenly, the first and the last among them (B = 8, or 4 of the largest models);
  `batch_families` names the family of each.
- `paths`: the '/'-joined paths of all leaves of the old parameters, sorted; everything called `leaf_...` is in this
  order: `leaf_size`, `leaf_trained` (False for a frozen FIM-l), `leaf_decayed` (weight decay), `leaf_muon` (updated by
  Muon), all of which are not of the batch.
- The parameters are `golden_params` of `parameters.py`, by the old paths.
- `loss_total`, `loss_count`, `loss` (their quotient): as the training step computes them, by `make_total_gradient`, in
  float32 whatever the config's precision; `loss_all_slots` is the same without packing, and must agree.
- `gradient_norm`: global, before clipping, of the trained leaves; `leaf_gradient_norm`; `leaf_gradient_dot`, the sum of
  gradient times parameter, which has a sign. Leaves that are not trained have zeros.
- `evaluation/<metric>`: what `make_evaluation` says of the batch (loss without spread_power, mse, mae, simple answers).
- `output`: the model's answer for the first two series, [2, T, L] at the target window's slots for forecasters, and
  [2 * K, T, L] at all slots for interpolators; only slots that are valid mean anything.
- `wide/...`: loss_total, loss_count, loss, gradient_norm, leaf_gradient_norm, leaf_gradient_dot and output once more,
  with `golden_params(shapes, wide=True)`, whose attention is not even.
- `schedule_steps`, `schedule_rates`: the learning rate at some steps.
- `leaf_update_norm`, `leaf_update_dot`: of the eleventh update of the config's optimiser (so at step 10 of the
  schedule), clipping included. From a fresh state, for k = 0, ..., 10: `updates, state = optimizer.update(g cos(k),
  state, params)`, with the same gradient g and the same parameters; the updates are not applied. `leaf_update_dot` is
  the sum of update times parameter. Updates of leaves whose gradient is zero but for rounding, such as biases of
  attention's keys, are rounding as well, made large by Adam: skip leaves with a tiny `leaf_gradient_norm`.

All sums over leaves are taken in float64. `configs_old.json` has `to_dict` of each config and variant.
"""

import dataclasses
import importlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from fimjax.config import Config, to_dict
from fimjax.models import build_model, forecasts, init_params
from fimjax.models.deeponet import DeepONet
from fimjax.prior.sampler import Sample, family_counts, sample_groups
from fimjax.training.losses import fold_windows, interpolate, make_loss, target_window
from fimjax.training.optim import (
    decayed,
    frozen_parts,
    make_optimizer,
    make_schedule,
    orthogonalised,
    split_params,
)
from fimjax.training.step import make_total_gradient, mean_over_devices
from fimjax.training.validation import make_evaluation
from tests.golden.parameters import by_path, golden_params

FOLDER = Path(__file__).parent
SERIES, FEW_SERIES, MANY_PARAMETERS = 8, 4, 5_000_000
LAST_STEP = 10
LEVELS = (0.1, 0.5, 0.9)


def variants(configs: dict[str, Config]) -> dict[str, Config]:
    """Settings that no config has, on top of tiny ones."""
    fim, local = configs["tiny_fim"], configs["tiny_fim_local"]
    change = dataclasses.replace
    similar = change(fim.model, similarity_weight=0.3, positional_encoding=True, freeze_local=False)
    quantiles = change(
        fim.model, local=change(fim.model.local, quantile_levels=LEVELS, season_harmonics=2), learned_scale=False
    )
    return {
        "tiny_fim@similarity": change(fim, model=similar),
        "tiny_fim@quantiles": change(fim, model=quantiles, training=change(fim.training, spread_power=0.5)),
        "tiny_fim_local@norm_last": change(local, model=change(local.model, norm_first=False)),
    }


def all_configs() -> dict[str, Config]:
    """The configs of the old repository by name, and the variants."""
    names = sorted(path.stem for path in Path("configs").glob("*.py") if path.stem != "__init__")
    configs = {name: importlib.import_module(f"configs.{name}").get_config() for name in names}
    return configs | variants(configs)


def draw(config: Config, count: int) -> tuple[Sample, np.ndarray]:
    """A few series of the first group, and the names of their families."""
    sample = jax.jit(lambda key: sample_groups(key, 0, 1, config.prior))(jax.random.key(0))
    chosen = np.linspace(0, config.prior.group_size - 1, count).round().astype(int)
    counts = family_counts(config.prior.weights, config.prior.group_size)
    families = np.repeat(list(counts), list(counts.values()))
    return jax.tree.map(lambda x: jnp.asarray(np.asarray(x)[chosen]), sample), families[chosen]


def answer(model, params: dict, sample: Sample) -> jax.Array:
    """The model's answer for all series of a batch."""
    if forecasts(model.config):
        return model.apply({"params": params}, sample.past(), target_window(sample)[0])
    packings = () if isinstance(model, DeepONet) else (None, None)
    return interpolate(model, params, fold_windows(sample), *packings)


def norms(tree: dict, paths: list[str], other: dict | None = None) -> np.ndarray:
    """The norm of each leaf, or its product with another tree's; zero for leaves that are not there."""
    leaves = {path: np.asarray(x, np.float64) for path, x in by_path(tree).items()}
    if other is None:
        return np.array([np.linalg.norm(leaves[path]) if path in leaves else 0.0 for path in paths])
    others = by_path(other)
    return np.array([np.sum(leaves[path] * others[path]) if path in leaves else 0.0 for path in paths])


def eleventh_update(config: Config, grads: dict, trained: dict) -> dict:
    """The update of step 10, after ten with the same gradient times cos(k)."""
    optimizer = make_optimizer(config.training)

    @jax.jit
    def step(k, state):
        return optimizer.update(jax.tree.map(lambda g: g * jnp.cos(k), grads), state, trained)

    state = optimizer.init(trained)
    for k in range(LAST_STEP + 1):
        updates, state = step(jnp.float32(k), state)
    return updates


def measure(gradient, ask, params: dict, sample: Sample, paths: list[str]) -> tuple[dict[str, np.ndarray], dict]:
    """Loss, gradient and answer with some parameters, and the gradient itself."""
    total, count, grads = gradient(params, sample)
    loss, grads = mean_over_devices(total, count, grads, None)
    found = {
        "loss_total": total,
        "loss_count": count,
        "loss": loss,
        "gradient_norm": np.linalg.norm(norms(grads, paths)),
        "leaf_gradient_norm": norms(grads, paths),
        "leaf_gradient_dot": norms(grads, paths, params),
        "output": np.asarray(ask(params), np.float32),
    }
    return found, grads


def one_config(config: Config) -> dict[str, np.ndarray]:
    """All that is stored of a config."""
    model = build_model(config.model)  # float32
    shapes = jax.eval_shape(lambda key: init_params(model, key), jax.random.key(0))
    paths = list(by_path(shapes))
    sizes = np.array([x.size for x in by_path(shapes).values()])
    sample, families = draw(config, FEW_SERIES if sizes.sum() > MANY_PARAMETERS else SERIES)
    params = jax.tree.map(jnp.asarray, golden_params(shapes))
    trained, _ = split_params(params, frozen_parts(config.model))
    two = jax.tree.map(lambda x: x[:2], sample)

    gradient = jax.jit(make_total_gradient(config, model))
    ask = jax.jit(lambda params: answer(model, params, two))
    measured, grads = measure(gradient, ask, params, sample, paths)
    wide, _ = measure(gradient, ask, jax.tree.map(jnp.asarray, golden_params(shapes, wide=True)), sample, paths)
    plain = jax.jit(make_loss(model, config.training))(params, sample)
    metrics = jax.jit(make_evaluation(model, config.training))(params, sample)
    updates = eleventh_update(config, grads, trained)

    training = config.training
    steps = sorted({0, 1, LAST_STEP, training.warmup_steps, training.steps // 2, training.steps - 1})
    is_muon = by_path(jax.tree.map(lambda x: x is not None, orthogonalised(params), is_leaf=lambda x: x is None))
    found = {
        "batch_families": families,
        "paths": np.array(paths),
        "leaf_size": sizes,
        "leaf_trained": np.isin(paths, list(by_path(trained))),
        "leaf_decayed": np.array(list(by_path(decayed(params)).values())),
        "leaf_muon": _muon_leaves(is_muon, paths) & (training.optimizer == "muon"),
        **measured,
        **{f"wide/{name}": x for name, x in wide.items()},
        "loss_all_slots": plain.value,
        "leaf_update_norm": norms(updates, paths),
        "leaf_update_dot": norms(updates, paths, params),
        "schedule_steps": np.array(steps),
        "schedule_rates": np.array([float(make_schedule(training)(step)) for step in steps]),
    }
    found |= {f"batch/{field}": getattr(sample, field) for field in Sample.__dataclass_fields__}
    found |= {f"evaluation/{name}": mean.value for name, mean in metrics.items()}
    return {name: np.asarray(x) for name, x in found.items()}


def _muon_leaves(chosen: dict, paths: list[str]) -> np.ndarray:
    """Whether Muon updates each leaf; its dimension numbers are trees of their own, so paths go on inside them."""
    return np.array([any(p == path or p.startswith(f"{path}/") for p, x in chosen.items() if x) for path in paths])


def main(names: list[str], say: Callable[[str], None] = print) -> None:
    """Writes all configs; the named ones alone go to a file in /tmp, to look at."""
    configs, found = all_configs(), {}
    (FOLDER / "configs_old.json").write_text(
        json.dumps({name: to_dict(config) for name, config in configs.items()}, indent=1) + "\n"
    )
    for name in names or configs:
        began = time.perf_counter()
        parts = one_config(configs[name])
        found |= {f"{name}/{key}": x for key, x in parts.items()}
        say(
            f"{name}: loss {parts['loss']:.6f}, without packing {parts['loss_all_slots']:.6f}, "
            f"gradient {parts['gradient_norm']:.4g}, {time.perf_counter() - began:.0f} s"
        )
        say(f"  wide: loss {parts['wide/loss']:.6f}, gradient {parts['wide/gradient_norm']:.4g}")
    path = FOLDER / "training_steps.npz"
    path = Path("/tmp/training_steps_partial.npz") if names else path
    np.savez_compressed(path, **found)
    say(f"{path}: {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
