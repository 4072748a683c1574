"""`train.py` as people and schedulers use it: exit codes, messages, signals, files."""

import json
import signal
import subprocess
import sys
import time

import pytest

from fimjax.checkpoints.runs import load_run
from fimjax.config import to_dict
from tests.training.examples import DEEPONET_RUN, ROOT, write_config_file


@pytest.fixture
def config_file(tmp_path):
    return write_config_file(tmp_path, DEEPONET_RUN)


def start(config_file, *arguments):
    command = [sys.executable, str(ROOT / "train.py"), "--config", str(config_file), *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


@pytest.mark.processes
def test_a_run_leaves_a_checkpoint_metrics_and_a_picture(config_file, tmp_path):
    run = tmp_path / "run"
    code, out, err = finish(start(config_file, "--run", run, "--cpu-devices", 2))
    assert code == 0, err
    assert "2 cpu device(s)" in err and "linear interpolation" in err and "series/s" in err and "s left" in err
    assert (run / "picture.png").stat().st_size > 10_000
    assert load_run(run)[0] == DEEPONET_RUN
    phases = [json.loads(line)["phase"] for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert phases.count("train") == 6 and phases.count("validation") == 2
    assert json.loads((run / "config.json").read_text()) == to_dict(DEEPONET_RUN)
    assert list((run / "tensorboard").glob("events*"))

    code, _, err = finish(start(config_file, "--run", run))
    assert code == 2 and "holds a run at step 6" in err and "Traceback" not in err


@pytest.mark.processes
def test_sigterm_saves_and_the_run_can_be_resumed(config_file, tmp_path):
    run, endless = tmp_path / "run", ("--training.steps", 1_000_000, "--training.validate-every", 1_000_000)
    process = start(config_file, "--run", run, *endless)
    metrics = run / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while not (metrics.exists() and metrics.read_text().count("\n") > 5):
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    code, out, err = finish(process)
    assert code == 143, err
    assert "stopped by a signal at step" in out and "--resume" in out and "Traceback" not in err
    saved = [int(p.name) for p in (run / "checkpoints").iterdir() if p.name.isdigit()]
    assert len(saved) == 1 and saved[0] > 5

    steps = saved[0] + 2
    code, _, err = finish(
        start(config_file, "--run", run, "--resume", "--training.steps", steps, "--training.validate-every", steps)
    )
    assert code == 0, err
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    assert [line["step"] for line in lines if line["phase"] == "train"] == list(range(1, steps + 1))


@pytest.mark.processes
@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--training.batch-size", "10"], "training.batch_size: 10 series cannot be shared"),
        (["--coordinator", "127.0.0.1:1"], "coordinator: --processes and --process are needed"),
        (["--local", "nowhere"], "local: a pretrained FIM-l is for FIM"),
        (["--begin-from", "nowhere"], "begin_from: 'nowhere' is neither a folder nor a bundled model"),
        (["--begin-from", "fim-small"], "begin_from: the model in fim-small has other settings: model: FIMConfig"),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(config_file, tmp_path, arguments, message):
    code, _, err = finish(start(config_file, "--run", tmp_path / "run", *arguments))
    assert code == 2
    assert [line for line in err.splitlines() if line.startswith("train.py: ")] == [err.splitlines()[-1]]
    assert message in err and "Traceback" not in err
    assert not (tmp_path / "run" / "checkpoints" / "0").exists()
