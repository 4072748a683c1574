"""A training run from its config to its last checkpoint, top to bottom."""

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from fimjax.checkpoints.runs import RunCheckpoints, latest_step, write_config
from fimjax.config import Config, TrainingConfig
from fimjax.errors import CheckpointError
from fimjax.models import build_model, count_params, init_params, param_shapes
from fimjax.nn.compute import Compute
from fimjax.training.init import initial_params
from fimjax.training.interrupt import StopRequest
from fimjax.training.metrics import MetricsLog, ProgressReport
from fimjax.training.parallel import (
    Devices,
    everywhere_like,
    first,
    from_global,
    parallel_training,
    parallel_validation,
    replicate,
    to_global,
)
from fimjax.training.step import TrainState, init_state, join_from_checkpoint, split_for_checkpoint
from fimjax.training.validation import describe


class TrainingDiverged(RuntimeError):
    """Too many non-finite steps in a row."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    step: int
    metrics: dict[str, float]  # of the last validation; empty if there was none
    summary: str  # of that validation, in a sentence
    stopped: bool  # by a signal, before the last step


def compute_options(training: TrainingConfig) -> Compute:
    """Precision and memory options of a training run."""
    return Compute(jnp.dtype(training.precision), training.attention, training.remat)


def train(
    config: Config,
    run: Path,
    *,
    local_run: Path | None = None,
    begin_from: str | Path | None = None,
    resume: bool = False,
    devices: Devices = None,
) -> Outcome:
    """Trains until the last step, a signal, or divergence.

    Args:
        config: everything that the result depends on.
        run: folder for checkpoints, metrics and config; must not hold a run yet, unless it is resumed.
        local_run: run of a pretrained FIM-l, for FIM.
        begin_from: a run or weights of the same model, whose parameters to start from with a fresh optimiser.
        resume: continue from the latest checkpoint in `run`, if there is one.
        devices: which to use; None for all of all hosts.
    """
    training = config.training
    model = build_model(config.model, config.windows.count, compute_options(training))
    train_steps = parallel_training(config, model, devices)
    validate = parallel_validation(config, model, devices)

    start = latest_step(run)
    if start and not resume:
        raise CheckpointError(f"{run}: holds a run at step {start}; resume it or choose another folder")
    # Nothing is written before everything that can be refused has been checked.
    fresh = None if start else init_state(config, initial_params(config, local_run, begin_from))

    with contextlib.ExitStack() as stack:
        checkpoints = stack.enter_context(contextlib.closing(RunCheckpoints(run, config)))
        state = replicate(fresh if fresh is not None else _restore(checkpoints, config, model, devices), devices)

        is_main = jax.process_index() == 0
        if is_main:
            write_config(run, config)
            log = stack.enter_context(contextlib.closing(MetricsLog(run, start)))
            report = stack.enter_context(
                contextlib.closing(ProgressReport(training.steps, start, training.batch_size, type(model).__name__))
            )
            report.say(introduce(model, run, devices))

        def note(step: int, metrics: Any) -> None:
            """Reads the metrics of a step, once the next one is under way."""
            values = {name: value.item() for name, value in first(metrics).items()}
            if values["bad_run"] >= training.max_bad_steps:
                kept = checkpoints.latest_step
                raise TrainingDiverged(
                    f"{values['bad_run']} non-finite steps in a row up to step {step}; "
                    + (f"the checkpoint of step {kept} in {run} is intact" if kept else "there was no checkpoint yet")
                )
            if is_main and (step % training.log_every == 0 or step == training.steps):
                values["series_per_second"] = report.update(step, values["loss"])
                log.write("train", step, values)

        def save(step: int, metrics: dict[str, float] | None = None) -> None:
            checkpoints.save(step, *split_for_checkpoint(to_global(state, devices)), metrics)

        stop = stack.enter_context(StopRequest())
        step, pending, validation = start, None, {}
        while step < training.steps:
            state, metrics = train_steps(state)
            step += training.steps_per_dispatch
            if pending is not None:
                note(*pending)
            pending = (step, metrics)
            if step % training.validate_every == 0 or step >= training.steps:
                note(*pending)
                pending = None
                validation = {name: value.item() for name, value in first(validate(state)).items()}
                save(step, validation)
                if is_main:
                    log.write("validation", step, validation)
                    report.say(f"step {step:,}: {describe(validation)}")
            if step < training.steps and stop.agreed(step, training.log_every):
                if pending is not None:
                    note(*pending)
                save(step)
                break

    summary = describe(validation) if validation else f"was trained to step {start} already"
    return Outcome(step, validation, summary, stopped=step < training.steps)


def _restore(checkpoints: RunCheckpoints, config: Config, model: nn.Module, devices: Devices) -> TrainState:
    """The state of the latest checkpoint, on the host. The number of devices may have changed."""
    like = jax.eval_shape(lambda key: init_state(config, init_params(model, key)), jax.random.key(0))
    restored = checkpoints.restore(*(everywhere_like(part, devices) for part in split_for_checkpoint(like)))
    params, rest = (from_global(part) for part in restored)
    return join_from_checkpoint(config, params, rest)


def introduce(model: nn.Module, run: Path, devices: Devices) -> str:
    """What is trained, and on which devices."""
    parameters = count_params(param_shapes(model))
    devices = jax.devices() if devices is None else devices
    where = f"{len(devices)} {devices[0].platform} device(s) in {jax.process_count()} process(es)"
    return f"{type(model).__name__}: {parameters:,} parameters, {where}, {run}"
