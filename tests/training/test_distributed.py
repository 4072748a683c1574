"""Two processes on loopback: the gradients of one process, checkpoints that either can read, one set of logs."""

import json
import os
import pickle
import socket
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import optax
import pytest

from fimjax.training.checkpoint import load_params
from fimjax.training.loop import train
from fimjax.training.parallel import first, parallel_gradient, replicate
from tests.training.examples import AVERAGED_RUN, run_config
from tests.training.test_step import fresh

ROOT = Path(__file__).parents[2]

WORKER = """
import pickle, sys
from pathlib import Path
from fimjax.training.parallel import first, parallel_gradient, replicate, use_cpu_devices
import jax

process, port, folder = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
use_cpu_devices(1)
jax.distributed.initialize(f"127.0.0.1:{port}", 2, process)

from fimjax.training.loop import train
from tests.training.examples import AVERAGED_RUN
from tests.training.test_step import fresh

model, state = fresh(AVERAGED_RUN)
gradient = first(parallel_gradient(AVERAGED_RUN, model)(replicate(state)))
(folder / f"gradient_{process}.pickle").write_bytes(pickle.dumps(gradient))
outcome = train(AVERAGED_RUN, folder / "run")
print("trained to", outcome.step, flush=True)
"""


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.mark.processes
def test_two_processes(tmp_path):
    port = str(free_port())
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(process), port, str(tmp_path)],
            cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for process in range(2)
    ]  # fmt: skip
    results = [worker.communicate(timeout=400) for worker in workers]
    for worker, (out, err) in zip(workers, results):
        assert worker.returncode == 0 and "trained to 6" in out, err[-3000:]

    # Raw gradients: those of either process are those of one process with one or two devices.
    model, state = fresh(AVERAGED_RUN)
    two = jax.devices()[:2]
    loss, expected = first(parallel_gradient(AVERAGED_RUN, model, two)(replicate(state, two)))
    norm = optax.tree.norm(expected)
    for process in range(2):
        other_loss, grads = pickle.loads((tmp_path / f"gradient_{process}.pickle").read_bytes())
        np.testing.assert_allclose(other_loss, loss, rtol=1e-5)
        assert optax.tree.norm(jax.tree.map(lambda a, b: a - b, grads, expected)) < 1e-4 * norm

    # Process 0 alone writes: each step is there once, and the other process shows no progress.
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if line["phase"] == "train"] == [1, 2, 3, 4, 5, 6]
    assert "2 cpu device(s) in 2 process(es)" in results[0][1] and "series/s" not in results[1][1]

    # One process reads what two have written, and goes on from there.
    config, params = load_params(tmp_path / "run")
    assert config == AVERAGED_RUN and np.isfinite(optax.tree.norm(params))
    longer = run_config(AVERAGED_RUN.model, average_decay=0.9, steps=9)
    assert train(longer, tmp_path / "run", devices=two, resume=True).step == 9
