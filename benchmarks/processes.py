"""Fresh processes for measurements, and the memory of a process."""

import contextlib
import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CACHES = ("FIMJAX_CACHE", "NUMBA_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")
"""Environment variables with the folders of compiled programs."""
UNSET = ("JAX_COMPILATION_CACHE_DIR", "JAX_ENABLE_COMPILATION_CACHE")
"""Environment variables that would override the cache under test."""


class MeasuredProcess(contextlib.AbstractContextManager):
    """A fresh process of benchmarks.tasks that does tasks one after the other until it is closed."""

    def __init__(self, cache: Path):
        """Starts the process with all caches of compiled programs in one folder."""
        kept = {name: value for name, value in os.environ.items() if name not in UNSET}
        environment = kept | {name: str(cache) for name in CACHES} | {"HF_HUB_OFFLINE": "1", "NIXTLA_NUMBA_CACHE": "1"}
        self._errors = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.tasks"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=ROOT,
            env=environment,
        )

    def run(self, task: str, **settings: Any) -> Any:
        """Runs a task of benchmarks.tasks and returns its result."""
        with contextlib.suppress(BrokenPipeError):  # then there is no result, and stderr says why
            print(json.dumps({"task": task, **settings}), file=self._process.stdin, flush=True)
        result = self._process.stdout.readline()
        if not result:
            code = self._process.wait()
            self._errors.seek(0)
            raise RuntimeError(f"{task} of {settings} ended with code {code}:\n{self._errors.read()[-4000:]}")
        return json.loads(result)

    def __exit__(self, *_: Any) -> None:
        self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()


def resident() -> int:
    """Resident memory of this process in bytes, after garbage is returned to the system."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return _status("VmRSS")


def peak() -> int:
    """Peak resident memory in bytes since the start of the process or the last `reset_peak`."""
    return _status("VmHWM")


def reset_peak() -> None:
    """Resets the peak (Linux, proc(5): clear_refs)."""
    Path("/proc/self/clear_refs").write_text("5")


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return 1024 * int(line.split()[1])
    raise RuntimeError(f"/proc/self/status has no {field}")
