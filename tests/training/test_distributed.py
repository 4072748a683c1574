"""Two processes on loopback: gradients, `train.py` on both, one log, a common stop."""

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import time

import jax
import numpy as np
import optax
import pytest

from fimjax.checkpoints.runs import load_run
from fimjax.training.loop import train
from fimjax.training.parallel import first, parallel_gradient, replicate
from tests.training.examples import DEEPONET_RUN, ROOT, run_config, write_config_file
from tests.training.test_step import fresh

GRADIENT_WORKER = """
import pickle, sys
from pathlib import Path
from fimjax.training.parallel import first, parallel_gradient, replicate, use_cpu_devices
import jax

process, port, folder = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
use_cpu_devices(1)
jax.distributed.initialize(f"127.0.0.1:{port}", 2, process)

from tests.training.examples import DEEPONET_RUN
from tests.training.test_step import fresh

model, state = fresh(DEEPONET_RUN)
gradient = first(parallel_gradient(DEEPONET_RUN, model)(replicate(state)))
(folder / f"gradient_{process}.pickle").write_bytes(pickle.dumps(gradient))
"""


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start_both(commands):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return [
        subprocess.Popen(
            [sys.executable, *map(str, command)],
            cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for command in commands
    ]  # fmt: skip


def train_both(folder, run, *settings):
    config = write_config_file(folder, DEEPONET_RUN)
    common = ["train.py", "--config", config, "--run", run, "--cpu-devices", 1, *settings]
    several = ["--coordinator", f"127.0.0.1:{free_port()}", "--processes", 2]
    return start_both([*common, *several, "--process", i] for i in range(2))


def finish(workers, timeout=300):
    try:
        results = [worker.communicate(timeout=timeout) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    return [worker.returncode for worker in workers], results


@pytest.mark.processes
def test_raw_gradients_of_two_processes_are_those_of_one(tmp_path):
    port = free_port()
    codes, results = finish(start_both(["-c", GRADIENT_WORKER, process, port, tmp_path] for process in range(2)))
    assert codes == [0, 0], results
    model, state = fresh(DEEPONET_RUN)
    two = jax.devices()[:2]
    loss, expected = first(parallel_gradient(DEEPONET_RUN, model, two)(replicate(state, two)))
    for process in range(2):
        other_loss, grads = pickle.loads((tmp_path / f"gradient_{process}.pickle").read_bytes())
        np.testing.assert_allclose(other_loss, loss, rtol=1e-5)
        difference = optax.tree.norm(jax.tree.map(lambda a, b: a - b, grads, expected))
        assert difference < 1e-4 * optax.tree.norm(expected)


@pytest.mark.long
@pytest.mark.processes
def test_two_processes_train_and_one_continues(tmp_path):
    run = tmp_path / "run"
    codes, results = finish(train_both(tmp_path, run))
    assert codes == [0, 0], results
    # Only process 0 writes: each step is logged once, and the other process prints nothing.
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if line["phase"] == "train"] == [1, 2, 3, 4, 5, 6]
    assert "2 cpu device(s) in 2 process(es)" in results[0][1] and "series/s" not in results[1][1]
    assert (run / "picture.png").exists() and "validation error" in results[0][0]
    assert "validation error" not in results[1][0]

    config, params = load_run(run)
    assert config == DEEPONET_RUN and np.isfinite(optax.tree.norm(params))
    longer = run_config(DEEPONET_RUN.model, steps=9)
    assert train(longer, run, devices=jax.devices()[:2], resume=True).step == 9


@pytest.mark.long
@pytest.mark.processes
def test_a_signal_to_one_process_stops_both_at_the_same_step(tmp_path):
    run = tmp_path / "run"
    # Every step at which a stop is possible is also validated, which must not hide the stop.
    often = ("--training.steps", 999_999, "--training.log-every", 3, "--training.validate-every", 3)
    workers = train_both(tmp_path, run, *often)
    deadline = time.monotonic() + 120
    while not list(run.glob("checkpoints/[0-9]*/config")):
        assert all(worker.poll() is None for worker in workers) and time.monotonic() < deadline, finish(workers, 5)
        time.sleep(0.1)
    workers[1].send_signal(signal.SIGTERM)
    codes, results = finish(workers)
    assert codes == [143, 143], results
    assert "stopped by a signal at step" in results[0][0]
    assert load_run(run, "latest")[0].model == DEEPONET_RUN.model
