"""How many files does a forecast run through? `python -m research.count_files` counts and lists them in order.

Only functions count that run after `from fimjax import Forecaster`. It also counts how often `fimjax forecast --plot`
parses its table.
"""

import contextlib
import io
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

import pandas as pd

import fimjax
from fimjax import Forecaster
from fimjax.cli import main as run_command
from fimjax.examples import air_passengers

PACKAGE = f"{Path(fimjax.__file__).parent}/"
PARSE = "read_frame"
"""The function that parses a long frame; it is called for answers too, whose target is a model's column."""
IS_FUNCTION = 1
"""Flag of code objects that are functions, and not modules or class bodies."""


class Trace:
    """Records the files of fimjax whose functions are called, in order, and the columns that are parsed."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.parsed: list[str] = []

    def __enter__(self) -> "Trace":
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_flags & IS_FUNCTION and code.co_filename.startswith(PACKAGE):
            self.files.setdefault(code.co_filename.removeprefix(PACKAGE))
            if code.co_name == PARSE:
                self.parsed.append(str(frame.f_locals.get("target_col")))


def main() -> None:
    """Prints the counts and the list."""
    table = pd.read_csv(air_passengers(), parse_dates=["month"])
    df = pd.DataFrame({"unique_id": "air", "ds": table["month"], "y": table["passengers"]})
    model = Forecaster.from_pretrained()
    with Trace() as trace:
        model.forecast(df, h=12)
    files = list(trace.files)
    outer = [name for name in files if not name.startswith(("nn/", "models/"))]
    print(f"forecast() runs through {len(files)} files, {len(outer)} of them outside nn/ and models/:")
    print("\n".join(files))
    with tempfile.TemporaryDirectory() as folder, Trace() as trace, contextlib.redirect_stderr(io.StringIO()):
        outputs = ["--output", f"{folder}/a.csv", "--plot", f"{folder}/a.png"]
        run_command(["forecast", str(air_passengers()), "--h", "12", *outputs])
    print(f"`fimjax forecast --plot` parses its table {trace.parsed.count('passengers')} time(s)")


if __name__ == "__main__":
    main()
