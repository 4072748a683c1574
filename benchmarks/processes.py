"""Fresh processes that measure, and the memory that a process takes."""

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
"""Where contenders keep what they compile."""
UNSET = ("JAX_COMPILATION_CACHE_DIR", "JAX_ENABLE_COMPILATION_CACHE")
"""What would overrule the cache under test."""


class Worker(contextlib.AbstractContextManager):
    """A fresh process of benchmarks.worker, which does tasks one after the other until it is closed."""

    def __init__(self, cache: Path):
        """Starts it with all caches of compiled programs in one folder."""
        kept = {name: value for name, value in os.environ.items() if name not in UNSET}
        environment = kept | {name: str(cache) for name in CACHES} | {"HF_HUB_OFFLINE": "1", "NIXTLA_NUMBA_CACHE": "1"}
        self._errors = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=ROOT,
            env=environment,
        )

    def ask(self, task: str, **settings: Any) -> Any:
        """What the process answers to a task of benchmarks.worker."""
        with contextlib.suppress(BrokenPipeError):  # then it answers nothing, and says why
            print(json.dumps({"task": task, **settings}), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            code = self._process.wait()
            self._errors.seek(0)
            raise RuntimeError(f"{task} of {settings} ended with code {code}:\n{self._errors.read()[-4000:]}")
        return json.loads(answer)

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
    """Bytes of memory that this process takes now, after what it no longer needs is given back."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return _status("VmRSS")


def peak() -> int:
    """The most bytes that this process has taken since its start or the last `reset_peak`."""
    return _status("VmHWM")


def reset_peak() -> None:
    """Forgets the peak so far, such as that of making the input (Linux, proc(5): clear_refs)."""
    Path("/proc/self/clear_refs").write_text("5")


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return 1024 * int(line.split()[1])
    raise RuntimeError(f"/proc/self/status has no {field}")
