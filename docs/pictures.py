"""Runs the Python of the README, which leaves its pictures in docs/images."""

import contextlib
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def readme_blocks(text: str) -> list[str]:
    """The Python blocks of a page."""
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def run_readme(folder: Path) -> None:
    """Runs the README's blocks one after the other, as a reader would, in a folder that gets the pictures."""
    names: dict = {}
    with contextlib.chdir(folder):
        for block in readme_blocks((ROOT / "README.md").read_text()):
            exec(compile(block, "README.md", "exec"), names)


if __name__ == "__main__":
    run_readme(ROOT / "docs" / "images")
