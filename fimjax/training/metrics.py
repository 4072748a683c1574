"""The log of a run: a JSONL file, TensorBoard, and a progress bar with loss, speed and time left."""

import json
import math
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from fimjax.files import replacing

METRICS_FILE = "metrics.jsonl"


class MetricsLog:
    """Writes one JSON object a line, with `step` and `phase`, and the same numbers to TensorBoard."""

    def __init__(self, run: Path, resumed_from: int):
        from tensorboardX import SummaryWriter

        self._path = run / METRICS_FILE
        self._forget_after(resumed_from)
        self._file = self._path.open("a")
        self._board = SummaryWriter(str(run / "tensorboard"), purge_step=resumed_from + 1)

    def write(self, phase: str, step: int, metrics: dict[str, float]) -> None:
        """Adds the metrics of a step."""
        numbers = {name: value if math.isfinite(value) else None for name, value in metrics.items()}  # JSON has no NaN
        self._file.write(json.dumps({"phase": phase, "step": step, **numbers}) + "\n")
        self._file.flush()
        for name, value in metrics.items():
            self._board.add_scalar(f"{phase}/{name}", value, step)

    def close(self) -> None:
        """Closes both files."""
        self._file.close()
        self._board.close()

    def _forget_after(self, step: int) -> None:
        """Drops lines of steps that a resumed run will repeat, and a line that a kill cut short."""
        if not self._path.exists():
            return
        lines = self._path.read_text().splitlines(keepends=True)
        kept = [line for line in lines if line.endswith("}\n") and json.loads(line)["step"] <= step]
        with replacing(self._path) as scratch:
            scratch.write_text("".join(kept))


class ProgressReport:
    """A progress bar on a terminal; a line from time to time elsewhere."""

    def __init__(self, total: int, start: int, batch_size: int, title: str):
        self._console = Console(stderr=True)
        self._batch_size, self._total, self._start, self._title = batch_size, total, start, title
        self._began = self._last_time = time.perf_counter()
        self._last_step = start
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]}"),
            TextColumn("{task.fields[rate]} series/s"),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task = self._progress.add_task(title, total=total, completed=start, loss="-", rate="-")
        self._progress.start()

    def update(self, step: int, loss: float) -> float:
        """Shows a step; returns series per second since the last call."""
        now = time.perf_counter()
        rate = (step - self._last_step) * self._batch_size / max(now - self._last_time, 1e-9)
        self._last_time, self._last_step = now, step
        self._progress.update(self._task, completed=step, loss=f"{loss:.4f}", rate=f"{rate:,.0f}")
        if not self._console.is_terminal:
            left = (now - self._began) / max(step - self._start, 1) * (self._total - step)
            line = f"{self._title} {step}/{self._total}  loss {loss:.4f}  {rate:,.0f} series/s  {left:.0f} s left"
            print(line, file=sys.stderr, flush=True)
        return rate

    def say(self, text: str) -> None:
        """Prints a line above the bar."""
        self._progress.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Removes the bar."""
        self._progress.stop()
