"""Four XLA devices on the CPU, strict shapes, and a compiler in a hurry: the tests compile far more than they run."""

import os

HASTY_COMPILER = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
os.environ.setdefault("XLA_FLAGS", HASTY_COMPILER)  # inherited by the processes that tests start

import jax  # noqa: E402

jax.config.update("jax_num_cpu_devices", 4)
jax.config.update("jax_numpy_rank_promotion", "raise")
