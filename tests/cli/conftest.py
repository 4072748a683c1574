"""A model that costs nothing, and a folder with some series."""

import pytest

from fimjax.cli import predict
from tests.cli.examples import MONTHLY, Repeater


@pytest.fixture
def model(monkeypatch):
    repeater = Repeater()
    monkeypatch.setattr(predict, "load_model", lambda source: repeater)
    return repeater


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with some series."""
    (tmp_path / "air.csv").write_text(MONTHLY)
    monkeypatch.chdir(tmp_path)
    return tmp_path
