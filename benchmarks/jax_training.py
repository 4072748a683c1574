"""fimjax's training step and forward pass on a given batch, on one or more devices."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.flops import matmul_flops
from fimjax.config import Config
from fimjax.models import build_model, forecasts, init_params
from fimjax.prior.sampler import Sample
from fimjax.training.loop import compute_options
from fimjax.training.losses import fold_windows, interpolate, packed_slots, target_window
from fimjax.training.microbatching import assign_microbatches, pack_windows
from fimjax.training.parallel import AXIS, replicate
from fimjax.training.step import TrainState, TrainStep, init_state


@dataclasses.dataclass(frozen=True)
class Program:
    """A compiled program to time."""

    run: Callable[[], Any]  # blocks until it is done
    steps: int  # in one run
    flops: float  # of the matrix products in one step on all devices; packed rows count
    compiled: Any  # XLA's executable, with its estimates


def with_all_slots(config: Config) -> Config:
    """The same config without packing: layers also process empty slots, as PyTorch does."""
    return dataclasses.replace(
        config, training=dataclasses.replace(config.training, point_capacity=1.0, query_capacity=1.0)
    )


def split_batch(sample: Sample, devices: int) -> Sample:
    """Splits a batch into one part per device."""
    return jax.tree.map(lambda x: x.reshape(devices, -1, *x.shape[1:]), sample)


def make_step(config: Config, sample: Sample, devices: Sequence[jax.Device], repeated: int) -> Program:
    """Loss, gradient, clipping, optimiser and running average on one batch, `repeated` times per call."""
    model = build_model(config.model, config.windows.count, compute_options(config.training))
    groups = len(sample.season) // len(devices) // config.prior.group_size
    train_step = TrainStep(config, model, groups, AXIS)

    def step(state: TrainState, sample: Sample) -> TrainState:
        return train_step.update(state, *train_step.batch_gradient(state.params, sample))[0]

    def steps(state: TrainState, sample: Sample) -> TrainState:
        return jax.lax.fori_loop(0, repeated, lambda _, state: step(state, sample), state)

    params = jax.jit(lambda key: init_params(model, key))(jax.random.key(0))
    states, samples = [replicate(init_state(config, params), devices)], split_batch(sample, len(devices))
    compiled = jax.pmap(steps, axis_name=AXIS, devices=devices, donate_argnums=0).lower(states[0], samples).compile()
    one = jax.tree.map(lambda x: x[0], samples)
    flops = len(samples.season) * matmul_flops(train_step.total_gradient, params, one)

    def run() -> None:
        states.append(jax.block_until_ready(compiled(states.pop(), samples)))

    return Program(run, repeated, flops, compiled)


def make_forward(config: Config, sample: Sample, devices: Sequence[jax.Device]) -> Program:
    """The model's output for the target window (FIM) or for all windows (FIM-l)."""
    model = build_model(config.model, config.windows.count, compute_options(config.training))
    training = config.training

    def forward(params: Any, sample: Sample) -> jax.Array:
        points, queried = packed_slots(model, sample)
        packing = pack_windows(points, training.point_capacity)
        if forecasts(config.model):
            encoded = model.apply({"params": params}, sample.past(), packing, method="encode")
            return model.apply({"params": params}, encoded, target_window(sample)[0], method="decode")
        return interpolate(model, params, fold_windows(sample), packing, pack_windows(queried, training.query_capacity))

    masks = zip(packed_slots(model, sample), (training.point_capacity, training.query_capacity))
    if jnp.max(assign_microbatches([(mask, share) for mask, share in masks if mask is not None])) > 0:
        raise ValueError("the batch has more points than the capacity: a forward pass would leave some out")
    params = jax.jit(lambda key: init_params(model, key))(jax.random.key(0))
    copies, samples = replicate(params, devices), split_batch(sample, len(devices))
    compiled = jax.pmap(forward, axis_name=AXIS, devices=devices).lower(copies, samples).compile()
    one = jax.tree.map(lambda x: x[0], samples)
    flops = len(samples.season) * matmul_flops(forward, params, one)
    return Program(lambda: jax.block_until_ready(compiled(copies, samples)), 1, flops, compiled)


def peak_memory(program: Program) -> int:
    """Bytes that a program needs on one device: inputs, outputs and intermediate values."""
    use = program.compiled.memory_analysis()
    return use.argument_size_in_bytes + use.temp_size_in_bytes + use.output_size_in_bytes - use.alias_size_in_bytes


def bytes_moved(program: Program) -> float:
    """XLA's estimate of the bytes that one step reads and writes on one device."""
    return float(program.compiled.cost_analysis().get("bytes accessed", jnp.nan))
