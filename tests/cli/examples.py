"""A model that costs nothing, and files to give it."""

import dataclasses

import numpy as np
import pandas as pd

from fimjax.cli import main
from fimjax.frames.panel import Panel

MONTHLY = "month,passengers\n" + "".join(f"1949-{month:02},{100 + month}\n" for month in range(1, 13))


def run(capsys, *arguments):
    """Exit code, standard output, and the lines of standard error."""
    try:
        code = main([str(argument) for argument in arguments])
    except SystemExit as exit:
        code = exit.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err.splitlines()


class Repeater:
    """Has the methods of a Forecaster, repeats the last value, and records its calls."""

    progress = None

    def __init__(self):
        self.calls = []

    def forecast(self, panel, h, *, level=None, **settings):
        self.calls.append(("forecast", panel, {"h": h, "level": level} | settings))
        if self.progress is not None:
            self.progress(len(panel), len(panel))
        lasts = np.repeat([y[-1] for y in panel.values], h)
        intervals = {f"FIM-{side}-{each:g}": lasts for each in level or [] for side in ("lo", "hi")}
        stamps = panel.frequency.stamps_after(panel.ends, h).ravel()
        return panel.build(np.repeat(panel.ids, h), stamps, {"FIM": lasts} | intervals)

    def interpolate(self, panel, **settings):
        return self._record("interpolate", panel, settings, FIM=np.concatenate(panel.values))

    def cross_validation(self, panel, h, **settings):
        first = np.concatenate([np.repeat(t[:1], len(t)) for t in panel.stamps])
        return self._record("cross_validation", panel, {"h": h} | settings, FIM=0.0 * first.astype(float), cutoff=first)

    def detect_anomalies(self, panel, level=99, **settings):
        normal = np.zeros(sum(map(len, panel.values)), bool)
        return self._record("detect_anomalies", panel, {"level": level} | settings, **{"FIM-anomaly": normal})

    def _record(self, method, panel, settings, **columns):
        """Notes a call, and answers at every row of the panel."""
        self.calls.append((method, panel, settings))
        ids = np.repeat(panel.ids, [len(t) for t in panel.stamps])
        values = {panel.schema.target_col: np.concatenate(panel.values)}
        return panel.build(ids, np.concatenate(panel.stamps), values | columns)


@dataclasses.dataclass
class Figure:
    """Stands for a figure: anything that can be saved."""

    max_ids: int

    def savefig(self, path, format):
        path.write_text(f"{format} of {self.max_ids}")


def figure(panel, answers, *, max_ids):
    """Stands for `plot`."""
    assert isinstance(panel, Panel) and isinstance(answers, pd.DataFrame)
    return Figure(max_ids)
