"""Four XLA devices on the CPU, strict shapes, and a compiler in a hurry: the tests compile far more than they run."""

import gc
import os
from pathlib import Path

# Without the newer emitters of fusions, a training step compiles in less than half the time; split among threads, it
# takes the processor longer.
HASTY_COMPILER = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true --xla_cpu_use_fusion_emitters=false "
    "--xla_cpu_parallel_codegen_split_count=1"
)
COMPILED = Path(__file__).parents[1] / ".cache" / "jax-tests"

# In the environment, so that the processes that tests start have them too. Many tests compile the same step.
os.environ.setdefault("XLA_FLAGS", HASTY_COMPILER)
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(COMPILED))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")

# What was traced is kept, and looking through all of it for garbage takes long.
gc.set_threshold(200_000, 20, 100)

import jax  # noqa: E402

jax.config.update("jax_num_cpu_devices", 4)
jax.config.update("jax_numpy_rank_promotion", "raise")
