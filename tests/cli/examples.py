"""A model that costs nothing, and files to give it."""

import numpy as np
import pandas as pd

from fimjax.cli import main
from fimjax.frames.inputs import read_inputs

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
    """Has the methods of a Forecaster, repeats the last value, and notes what it was asked."""

    progress = None

    def __init__(self):
        self.calls = []

    def forecast(self, df, h, freq=None, *, level=None, quantiles=None, season_length=None, **settings):
        names = {key: settings.pop(key) for key in ("id_col", "time_col", "target_col")}
        asked = {"h": h, "freq": freq, "level": level, "quantiles": quantiles, "season_length": season_length}
        self.calls.append(("forecast", df, asked | settings))
        inputs = read_inputs(df, freq, season_length, *names.values())
        if self.progress is not None:
            self.progress(len(inputs.panel), len(inputs.panel))
        stamps = inputs.frequency.stamps_after(inputs.ends, h)
        columns = {names["id_col"]: np.repeat(inputs.panel.ids, h), names["time_col"]: stamps.ravel()}
        lasts = np.repeat([y[-1] for y in inputs.panel.values], h)
        intervals = {f"FIM-{side}-{each:g}": lasts for each in level or [] for side in ("lo", "hi")}
        return inputs.kind.build(columns | {"FIM": lasts} | intervals)

    def interpolate(self, df, freq=None, **settings):
        self.calls.append(("interpolate", df, {"freq": freq} | settings))
        return df.assign(FIM=df[settings["target_col"]])

    def cross_validation(self, df, h, freq=None, **settings):
        self.calls.append(("cross_validation", df, {"h": h, "freq": freq} | settings))
        return df.assign(FIM=0.0, cutoff=df[settings["time_col"]].iloc[0])

    def detect_anomalies(self, df, level=99, freq=None, **settings):
        self.calls.append(("detect_anomalies", df, {"level": level, "freq": freq} | settings))
        return df.assign(FIM=0.0, **{"FIM-anomaly": False})


def figure(df, answers=None, **settings):
    """In the place of `plot`: anything that can be saved."""
    assert isinstance(df, pd.DataFrame) and isinstance(answers, pd.DataFrame)

    class Figure:
        def savefig(self, path, format):
            path.write_text(f"{format} of {settings['max_ids']}")

    return Figure()
