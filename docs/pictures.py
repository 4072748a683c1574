"""Runs the Python code of the README and writes its pictures to docs/images."""

import contextlib
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def readme_blocks(text: str) -> list[str]:
    """The Python blocks of a Markdown page."""
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def run_readme(folder: Path) -> None:
    """Runs the blocks of the README in order, like a reader would. The pictures are written to the folder."""
    names: dict[str, Any] = {}
    with contextlib.chdir(folder):
        for block in readme_blocks((ROOT / "README.md").read_text()):
            exec(compile(block, "README.md", "exec"), names)


if __name__ == "__main__":
    run_readme(ROOT / "docs" / "images")
