"""jit with less optimisation: in these tests compiling takes longer than running."""

import functools

import jax

quick_jit = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
"""Compiles in less than half of the time and runs several times slower: for few draws."""

fair_jit = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 1})
"""For thousands of draws."""
