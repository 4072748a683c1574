"""Saving and restoring with Orbax: the only place that knows of it."""

import json
import logging
import math
from pathlib import Path
from typing import Any, Literal

import jax
import numpy as np
import orbax.checkpoint as ocp
from orbax.checkpoint.checkpoint_managers import preservation_policy

from fimjax.config import Config, differing_keys, from_dict, to_dict
from fimjax.errors import CheckpointError, ConfigError
from fimjax.models import build_model, init_params
from fimjax.training.losses import Params
from fimjax.training.optim import frozen_parts, split_params
from fimjax.training.parallel import Devices, everywhere_like, from_global, to_global
from fimjax.training.step import TrainState, inference_params

# Orbax tells every step of its work at INFO, and warns of choices that are ours.
logging.getLogger("absl").setLevel(logging.ERROR)

FOLDER = "checkpoints"


class Checkpoints:
    """The checkpoints of one run: the latest one and the best one by validation loss are kept.

    Each holds three items: `params`, what inference needs; `training`, the rest of the state; `config`. Saving is
    asynchronous. A checkpoint appears under its name only when it is complete, so that a process killed in the middle
    of saving loses nothing older.
    """

    def __init__(self, run: Path, config: Config, devices: Devices = None):
        self.config, self.devices = config, devices
        keep = preservation_policy.AnyPreservationPolicy(
            [
                preservation_policy.LatestN(1),
                preservation_policy.BestN(
                    n=1,
                    get_metric_fn=lambda metrics: metrics["loss"],
                    reverse=True,
                    keep_checkpoints_without_metrics=False,
                ),
            ]
        )
        self._manager = ocp.CheckpointManager(
            (run / FOLDER).absolute(),
            item_names=("params", "training", "config"),
            options=ocp.CheckpointManagerOptions(
                preservation_policy=keep,
                best_fn=lambda metrics: metrics["loss"],
                best_mode="min",
                cleanup_tmp_directories=True,
            ),
        )

    @property
    def latest_step(self) -> int | None:
        return self._manager.latest_step()

    def save(self, step: int, stacked: TrainState, metrics: dict[str, float] | None = None) -> None:
        """Starts saving the replicated state; returns as soon as its arrays are copied."""
        if step == self.latest_step:
            return  # a signal right after a validation asks for what has just been saved
        if metrics is not None and not math.isfinite(metrics["loss"]):
            metrics = None  # no number to be ranked by: it must not push out the best one
        state = to_global(stacked, self.devices)
        self._manager.save(
            step,
            args=ocp.args.Composite(
                params=ocp.args.StandardSave(inference_params(state)),
                training=ocp.args.StandardSave(_without_saved_params(state)),
                config=ocp.args.JsonSave(to_dict(self.config)),
            ),
            metrics=metrics,
        )

    def restore(self, like: TrainState) -> TrainState:
        """The latest state, on the host; `like` gives the shapes, and the number of devices may have changed.

        Raises:
            ConfigError: if the checkpoint was made by another model; the message names the differing keys.
        """
        step = self.latest_step
        refuse_other_run(self._manager.directory, _read_config(self._manager, step), self.config, step)
        restored = self._manager.restore(
            step,
            args=ocp.args.Composite(
                params=ocp.args.StandardRestore(everywhere_like(inference_params(like), self.devices)),
                training=ocp.args.StandardRestore(everywhere_like(_without_saved_params(like), self.devices)),
            ),
        )
        params, training = from_global(restored["params"]), from_global(restored["training"])
        if training.params is None:
            return training.replace(params=params)
        trained, _ = split_params(params, frozen_parts(self.config.model))
        return training.replace(average=trained)

    def wait(self) -> None:
        """Returns when everything is on disk."""
        self._manager.wait_until_finished()

    def close(self) -> None:
        self.wait()
        self._manager.close()


def _without_saved_params(state: TrainState) -> TrainState:
    """The part of the state that the `params` item does not hold already."""
    return state.replace(params=None) if state.average is None else state.replace(average=None)


def _read_config(manager: ocp.CheckpointManager, step: int) -> Config:
    return from_dict(manager.restore(step, args=ocp.args.Composite(config=ocp.args.JsonRestore()))["config"])


def refuse_other_run(folder: Any, saved: Config, asked: Config, step: int) -> None:
    """Raises a ConfigError that names what keeps a run with other settings from going on here."""
    differences = differing_keys(saved.model, asked.model, "model.")
    if differences:
        raise ConfigError(f"the checkpoint in {folder} is of another model: {'; '.join(differences)}")
    before, now = saved.training.average_decay, asked.training.average_decay
    if bool(before) != bool(now):
        raise ConfigError(f"training.average_decay: the run in {folder} was made with {before}, not with {now}")
    if step % asked.training.steps_per_dispatch:
        raise ConfigError(
            f"training.steps_per_dispatch: {asked.training.steps_per_dispatch} does not divide step {step}, "
            f"at which the run in {folder} stopped"
        )


def latest_step(run: Path) -> int:
    """The step of the newest complete checkpoint of a run, 0 if there is none; nothing is created."""
    folder = run / FOLDER
    steps = ocp.utils.checkpoint_steps(folder.absolute()) if folder.is_dir() else []
    return max(steps, default=0)


def load_params(run: Path | str, which: Literal["best", "latest"] = "best") -> tuple[Config, Params]:
    """Config and parameters of a trained model, for inference: nothing else is read.

    Args:
        run: the folder of a run, or its `checkpoints` folder.
        which: the checkpoint with the lowest validation loss, or the newest one.

    Returns:
        The config of the run and the parameters as NumPy arrays.
    """
    run = Path(run)
    folder = run / FOLDER if (run / FOLDER).is_dir() else run
    if not folder.is_dir():
        raise CheckpointError(f"{run}: no such run")
    with ocp.CheckpointManager(
        folder.absolute(),
        item_names=("params", "config"),
        options=ocp.CheckpointManagerOptions(
            read_only=True,
            create=False,
            best_fn=lambda metrics: metrics["loss"],
            best_mode="min",
            multiprocessing_options=_this_process_alone(),
        ),
    ) as manager:
        step = manager.best_step() if which == "best" else manager.latest_step()
        step = manager.latest_step() if step is None else step
        if step is None:
            raise CheckpointError(f"{run}: holds no checkpoint")
        config = _read_config(manager, step)
        model = build_model(config.model)
        shapes = jax.eval_shape(lambda key: init_params(model, key), jax.random.key(0))
        device = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
        like = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=device), shapes)
        params = manager.restore(step, args=ocp.args.Composite(params=ocp.args.StandardRestore(like)))["params"]
    return config, jax.tree.map(np.asarray, params)


def _this_process_alone() -> ocp.options.MultiprocessingOptions:
    """Reading is nobody else's business: no process waits for another."""
    me = jax.process_index()
    return ocp.options.MultiprocessingOptions(
        primary_host=me, active_processes={me}, barrier_sync_key_prefix=f"reader_{me}"
    )


def write_config(run: Path, config: Config) -> None:
    """The config as a file that people can read."""
    (run / "config.json").write_text(json.dumps(to_dict(config), indent=2) + "\n")
