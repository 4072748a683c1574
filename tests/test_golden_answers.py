"""The bundled weights answer as fimjax 0.1 did; `python -m tests.golden.compare` compares all calls."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.golden.answers import compute_answers, stored_answers
from tests.golden.compare import deviations

ROOT = Path(__file__).parents[1]


HASTY_TOLERANCE = 5e-5
"""The compiler flags of the tests move predictions by up to 1.1e-5 of a series' range."""


@pytest.mark.parametrize("name", ["fim-small", "nbeats-small"])
def test_answers_are_as_before(name):
    """One call of each kind."""
    quick = name == "fim-small"
    worst = deviations(compute_answers(name, quick=quick), stored_answers(name))
    assert max(worst.values()) <= HASTY_TOLERANCE


@pytest.mark.long
@pytest.mark.processes
def test_answers_are_as_before_to_1e_5():
    """One call of each kind, in a process without the compiler flags of the tests."""
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
