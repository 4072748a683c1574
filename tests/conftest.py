"""Four XLA devices on the CPU, strict shapes, fast compilation, and memory that is released after each test module."""

import ctypes
import functools
import gc
import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

# Tests compile far more than they run. Without the newer fusion emitters, a training step compiles in less than half
# the time; code generation split among threads would take more CPU time in all.
FAST_COMPILATION = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true --xla_cpu_use_fusion_emitters=false "
    "--xla_cpu_parallel_codegen_split_count=1"
)
COMPILE_CACHE = Path(__file__).parents[1] / ".cache" / "jax-tests"

# In the environment, so that processes started by tests have them too. Many tests compile the same programs.
os.environ.setdefault("XLA_FLAGS", FAST_COMPILATION)
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(COMPILE_CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")

# Traced programs are many small objects, so that frequent garbage collections would take long.
gc.set_threshold(200_000, 20, 100)

import jax  # noqa: E402
import pytest  # noqa: E402

jax.config.update("jax_num_cpu_devices", 4)
jax.config.update("jax_numpy_rank_promotion", "raise")

PEAKS = pytest.StashKey[dict[str, float]]()
"""Peak memory of each xdist worker in GB, by its name."""


MEMORY_LIMIT = 1.5
"""GB of memory from which on compiled programs are released between two tests of a module."""


@pytest.fixture(autouse=True, scope="module")
def release_memory() -> Iterator[None]:
    """Releases what a test module compiled and cached. Otherwise a worker would grow to several GB."""
    yield
    _release()


@pytest.fixture(autouse=True)
def limit_memory() -> Iterator[None]:
    """Releases compiled programs earlier if a module has many of them."""
    yield
    if _memory() > MEMORY_LIMIT:
        _release()


def _release() -> None:
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in ("tests", "fimjax"):
            for value in list(vars(module).values()):
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()
    jax.clear_caches()
    gc.collect()
    _return_free_memory()


def _return_free_memory() -> None:
    """Returns freed memory to the operating system, where the C library has a function for it."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):
        pass


def _memory() -> float:
    """Memory of this process now, in GB; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e9
    except OSError:
        return 0.0


def _peak_memory() -> float:
    """Largest memory of this process so far, in GB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def pytest_configure(config: pytest.Config) -> None:
    config.stash[PEAKS] = {}


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):  # this is a worker of xdist
        session.config.workeroutput["peak_memory"] = _peak_memory()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error) -> None:
    if "peak_memory" in (output := getattr(node, "workeroutput", None) or {}):
        node.config.stash[PEAKS][node.gateway.id] = output["peak_memory"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    peaks = config.stash[PEAKS] or {"one process": _peak_memory()}
    figures = (f"{peak:.1f} GB ({name})" for name, peak in sorted(peaks.items()))
    terminalreporter.write_line(f"peak memory: {', '.join(figures)}")
