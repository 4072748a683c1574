"""Compiling takes longer than running here, so the tests ask for less of it."""

import functools

import jax

quick_jit = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
"""For what runs briefly: compiles in less than half of the time, runs several times slower."""

fair_jit = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 1})
"""For thousands of draws."""
