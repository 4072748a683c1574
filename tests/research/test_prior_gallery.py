"""The gallery writes a picture, or one sentence on what to install."""

import sys

import pytest

from research import prior_gallery as gallery


def test_a_picture_is_written(tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "gallery.png"
    assert gallery.main(["--out", str(out), "--family", "random_walk", "--seed", "3"]) == 0
    assert out.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_without_matplotlib_one_sentence_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert gallery.main(["--out", str(tmp_path / "gallery.png")]) == 1
    message = capsys.readouterr().err
    assert "fimjax[plot]" in message and "Traceback" not in message and len(message.splitlines()) == 1
