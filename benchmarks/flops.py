"""Floating-point operations of a program, and the peak speed and bandwidth of the machine."""

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend import core

SIDE = 2_048
"""Side of the matrices for the peak: products this large are limited by arithmetic only."""

COPIED = 2**26
"""Size of an array that no processor cache holds."""


def matmul_flops(function: Callable, *inputs: Any) -> float:
    """Floating-point operations of a function's matrix products; element-wise operations are not counted."""
    return sum(_flops(jax.make_jaxpr(function)(*inputs).jaxpr))


def _flops(jaxpr: Any) -> Iterator[float]:
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            shape = equation.invars[0].aval.shape
            yield 2.0 * math.prod(equation.outvars[0].aval.shape) * math.prod(shape[i] for i in contracted)
        repeated = equation.params.get("length", 1) if equation.primitive.name == "scan" else 1
        for inner in _inner(equation.params):
            yield repeated * sum(_flops(inner))


def _inner(params: dict[str, Any]) -> Iterator[Any]:
    """The programs inside an equation: calls and loops (counted once if their length is unknown)."""
    for value in params.values():
        for item in value if isinstance(value, tuple | list) else [value]:
            if isinstance(item, core.ClosedJaxpr):
                yield item.jaxpr
            elif isinstance(item, core.Jaxpr):
                yield item


def make_peak() -> tuple[Callable[[], Any], float]:
    """A product of large matrices on every device, and its floating-point operations."""
    devices = jax.local_device_count()
    x = jax.pmap(lambda key: jax.random.normal(key, (SIDE, SIDE)))(jax.random.split(jax.random.key(0), devices))
    multiply = jax.pmap(lambda x: x @ x)
    return lambda: jax.block_until_ready(multiply(x)), devices * 2.0 * SIDE**3


def copy_bandwidth() -> float:
    """Bytes per second that one device reads and writes when it adds to an array in place."""
    add = jax.jit(lambda x: jax.lax.fori_loop(0, 8, lambda _, x: x + 1, x), donate_argnums=0)
    x = jax.block_until_ready(add(jnp.zeros(COPIED)))
    start = time.perf_counter()
    jax.block_until_ready(add(x))
    return 8 * 2 * 4 * COPIED / (time.perf_counter() - start)
