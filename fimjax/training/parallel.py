"""Training on all devices of all hosts: the only module that uses `pmap`."""

from collections.abc import Callable, Sequence
from typing import Any

import flax.linen as nn
import jax
import numpy as np

from fimjax.config import Config
from fimjax.models import Params
from fimjax.training.step import Metrics, TrainState, TrainStep, Validation, groups_per_device, inference_params

AXIS = "devices"

Devices = Sequence[jax.Device] | None
"""Which devices to use; None for all of all hosts."""


def use_cpu_devices(count: int) -> None:
    """Makes that many XLA devices of the CPU, so that pmap uses all cores. Call it before JAX's first use."""
    jax.config.update("jax_num_cpu_devices", count)


def replicate(tree: Any, devices: Devices = None) -> Any:
    """A copy of every array for each device of this host, stacked for pmap."""
    local = [d for d in _all(devices) if d.process_index == jax.process_index()]

    def stack(x: Any) -> np.ndarray:
        x = np.asarray(x)
        return np.broadcast_to(x[None], (len(local), *x.shape))  # a view: each device copies its own row

    return jax.pmap(lambda tree: tree, axis_name=AXIS, devices=devices)(jax.tree.map(stack, tree))


def first(stacked: Any) -> Any:
    """This host's first copy, as NumPy arrays."""
    return jax.tree.map(lambda x: np.asarray(x.addressable_shards[0].data)[0], stacked)


def to_global(stacked: Any, devices: Devices = None) -> Any:
    """The equal copies of pmap as global arrays that live on every device of every host."""

    def join(x: jax.Array) -> jax.Array:
        # A copy, because a checkpoint that is still being written must not share a buffer that the next step reuses.
        # Through the host, because slicing on the devices would compile a program for every shape and device.
        host = np.array(x.addressable_shards[0].data)[0]
        copies = [jax.device_put(host, shard.device) for shard in x.addressable_shards]
        return jax.make_array_from_single_device_arrays(x.shape[1:], _everywhere(devices), copies)

    return jax.tree.map(join, stacked)


def everywhere_like(tree: Any, devices: Devices = None) -> Any:
    """Shapes and types of a tree, to be restored on every device of every host."""
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=_everywhere(devices)), tree)


def from_global(tree: Any) -> Any:
    """Global arrays that live on every device, as NumPy arrays of this host."""
    return jax.tree.map(lambda x: np.asarray(x.addressable_data(0)), tree)


def _all(devices: Devices) -> list[jax.Device]:
    return jax.devices() if devices is None else list(devices)


def _everywhere(devices: Devices) -> jax.sharding.Sharding:
    mesh = jax.sharding.Mesh(np.array(_all(devices)), (AXIS,))
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())


def training_groups(config: Config, devices: Devices = None) -> int:
    """Groups of series that each device draws for a step."""
    count, size = len(_all(devices)), config.prior.group_size
    return groups_per_device(config.training.batch_size, count, size, "training.batch_size")


def validation_groups(config: Config, devices: Devices = None) -> int:
    """Groups of series that each device validates on."""
    count, size = len(_all(devices)), config.prior.group_size
    return groups_per_device(config.training.validation_series, count, size, "training.validation_series")


def parallel_training(
    config: Config, model: nn.Module, devices: Devices = None
) -> Callable[[TrainState], tuple[TrainState, Metrics]]:
    """Several optimiser steps in one call on all devices. The state passed in is donated.

    Metrics are those of the last step, except the loss, which is the mean over the steps, and the longest run of bad
    steps.
    """
    step = TrainStep(config, model, training_groups(config, devices), AXIS)

    def steps(state: TrainState) -> tuple[TrainState, Metrics]:
        if config.training.steps_per_dispatch == 1:
            return step(state)
        state, history = jax.lax.scan(lambda s, _: step(s), state, length=config.training.steps_per_dispatch)
        metrics = jax.tree.map(lambda x: x[-1], history)
        return state, {**metrics, "loss": history["loss"].mean(), "bad_run": history["bad_run"].max()}

    return jax.pmap(steps, axis_name=AXIS, devices=devices, donate_argnums=0)


def parallel_gradient(
    config: Config, model: nn.Module, devices: Devices = None
) -> Callable[[TrainState], tuple[jax.Array, Params]]:
    """Loss and raw gradient of the next batch, the same whatever the number of devices."""
    step = TrainStep(config, model, training_groups(config, devices), AXIS)
    return jax.pmap(step.gradient, axis_name=AXIS, devices=devices)


def parallel_validation(config: Config, model: nn.Module, devices: Devices = None) -> Callable[[TrainState], Metrics]:
    """Validation metrics of the parameters for inference."""
    groups, max_groups = validation_groups(config, devices), training_groups(config, devices)
    validate = Validation(config, model, groups, max_groups, AXIS)
    return jax.pmap(lambda state: validate(inference_params(state)), axis_name=AXIS, devices=devices)
