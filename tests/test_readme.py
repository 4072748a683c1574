"""The Python of the README runs as it stands and leaves its pictures; so does the example of sensitivities."""

import re

import numpy as np

from docs.pictures import ROOT, readme_blocks, run_readme


def test_the_readmes_code_makes_its_pictures(tmp_path):
    run_readme(tmp_path)
    shown = re.findall(r"\(docs/images/(\w+\.png)\)", (ROOT / "README.md").read_text())
    made = {path.name for path in tmp_path.iterdir()}
    # The picture of `make train` is drawn by that command.
    assert made == set(shown) - {"train.png"}
    assert all((ROOT / "docs" / "images" / name).is_file() for name in shown)


def test_the_example_of_sensitivities_runs(capsys):
    (block,) = [block for block in readme_blocks((ROOT / "docs" / "forecaster.md").read_text()) if "jax.grad" in block]
    names: dict = {}
    exec(block, names)
    sensitivity = np.asarray(names["sensitivity"])
    assert sensitivity.shape == (48,) and np.isfinite(sensitivity).all() and sensitivity.any()
    assert "[" in capsys.readouterr().out
