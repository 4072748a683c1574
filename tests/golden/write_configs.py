"""Writes `configs.json`, the golden dictionary of every recipe: `python -m tests.golden.write_configs`.

Run it when a recipe changes on purpose, and look at the difference before you commit it.
"""

import importlib
import json
from pathlib import Path
from typing import Any

from fimjax.config import to_dict

FOLDER = Path(__file__).parent
CONFIGS = FOLDER.parents[1] / "configs"


def all_recipes() -> dict[str, dict[str, Any]]:
    """The recipes of configs/ by name, as plain dictionaries."""
    names = sorted(path.stem for path in CONFIGS.glob("*.py") if path.stem != "__init__")
    return {name: to_dict(importlib.import_module(f"configs.{name}").get_config()) for name in names}


if __name__ == "__main__":
    (FOLDER / "configs.json").write_text(json.dumps(all_recipes(), indent=1) + "\n")
