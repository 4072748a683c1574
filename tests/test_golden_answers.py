"""The bundled weights answer as fimjax 0.1 did; `python -m tests.golden.compare` compares all calls."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.golden.answers import compute_answers, stored_answers
from tests.golden.compare import TOLERANCE, deviations

ROOT = Path(__file__).parents[1]


def test_nbeats_answers_as_before():
    worst = deviations(compute_answers("nbeats-small"), stored_answers("nbeats-small"))
    assert max(worst.values()) <= TOLERANCE


@pytest.mark.slow
@pytest.mark.processes
def test_fim_answers_as_before():
    """One call of each kind, in a process without the hasty compiler flags of the tests."""
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    run = subprocess.run(
        [sys.executable, "-m", "tests.golden.compare", "--quick"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "fim-small: " in run.stdout and "largest deviation" in run.stdout
