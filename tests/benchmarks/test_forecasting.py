"""The benchmark's series resemble M4, memory is measured, and tables show the results."""

import json
import subprocess
import sys

import numpy as np
import pytest

from benchmarks.processes import ROOT, peak, reset_peak, resident
from benchmarks.series import BY_NAME, GROUPS, M4_SERIES, counts, draw_lengths, make_frame, make_frames
from benchmarks.table import MISSING, series_per_second, tables
from fimjax.evaluation.datasets.catalog import CATALOG

MEGABYTE = 10**6


def test_groups_are_those_of_m4():
    assert M4_SERIES == 100_000 == sum(counts(100_000).values())
    for group in GROUPS:
        info = CATALOG[f"m4_{group.name}"]
        found = group.freq, group.horizon, group.season, group.series
        assert found == (info.frequency, info.horizon, info.season, info.series)
        assert group.lengths[0] == info.shortest - info.horizon
        assert group.lengths[-1] == (300 if group.name == "yearly" else info.longest - info.horizon)


@pytest.mark.parametrize("series", [6, 7, 50, 1_000, 12_345])
def test_counts_have_the_proportions_of_m4(series):
    found = counts(series)
    assert sum(found.values()) == series and min(found.values()) >= 1
    if series >= 1_000:
        assert all(abs(found[group.name] - series * group.series / M4_SERIES) < 1 for group in GROUPS)


def test_lengths_have_the_means_of_m4():
    means = {"yearly": 31.3, "quarterly": 92.3, "monthly": 216.3, "weekly": 1022.0, "daily": 2357.4, "hourly": 853.9}
    for name, mean in means.items():
        lengths = draw_lengths(BY_NAME[name], 20_000, np.random.default_rng(0))
        assert lengths.mean() == pytest.approx(mean, rel=0.03)


def test_frames_are_long_and_regular():
    frames = make_frames(50)
    assert {name: frame["unique_id"].nunique() for name, frame in frames.items()} == counts(50)
    for name, frame in frames.items():
        assert np.isfinite(frame["y"]).all()
        assert not frame.duplicated(["unique_id", "ds"]).any()
        assert (frame.groupby("unique_id")["ds"].last() == frame["ds"].max()).all()
        assert frame.equals(make_frame(BY_NAME[name], counts(50)[name]))


def test_speed_counts_frequencies_by_their_share_in_m4():
    a_tenth = {name: 0.1 * n for name, n in counts(6).items()}
    assert series_per_second(a_tenth, 6) == pytest.approx(10.0)
    slow_weeks = a_tenth | {"weekly": 10.0}
    assert 7.0 < series_per_second(slow_weeks, 6) < 10.0


def test_resident_memory_and_its_peak():
    before = resident()
    block = np.ones(100 * MEGABYTE, np.uint8)
    assert resident() - before == pytest.approx(block.nbytes, abs=20 * MEGABYTE)
    del block
    assert peak() > before + 80 * MEGABYTE
    reset_peak()
    assert peak() < before + 20 * MEGABYTE


def test_a_measured_process_keeps_library_output_apart():
    task = json.dumps({"task": "speed", "name": "noisy", "series": 6, "jobs": 1})
    code = (
        "import benchmarks.tasks as t, numpy as np\n"
        "def load(name, jobs): print('noise'); return lambda frame, group: np.zeros((1, group.horizon, 5))\n"
        "t.cached_load = load\n"
        "t.main()\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, input=task, capture_output=True, text=True, cwd=ROOT, check=True)
    assert set(json.loads(done.stdout)) == set(BY_NAME) and "noise" in done.stderr


def test_tables_show_results_and_missing_packages():
    memory = {"peak": 900 * MEGABYTE, "input": 100 * MEGABYTE, "output": 50 * MEGABYTE, "rest": 750 * MEGABYTE}
    fimjax = {
        "note": "weights: bundled",
        "first": {"fresh": [5.0, 6.0, 9.0], "warm": [2.5, 2.0, 3.0]},
        "speed": {"series": 1_000, "seconds": [{name: n / 2_000 for name, n in counts(1_000).items()}]},
        "memory": {"1000": memory | {"rest": 500 * MEGABYTE}, "100000": memory},
    }
    auto_ets = fimjax | {"memory": {"1000": memory, "100000": {"left_out": "left out: about 9,900 s"}}}
    machine = {"cores": 2, "processor": "abacus", "load": "0.1 0.1 0.1", "versions": {"jax": "0.10.2"}}
    models = {"fimjax": fimjax, "auto_ets": auto_ets, "chronos_bolt": {"missing": True}}
    text = tables({"machine": machine, "models": models})
    for part in ("abacus", "jax 0.10.2", "6.00 (5.00 to 9.00)", "2.50 (2.00 to 3.00)", "2,000.0 (2,000.0 to 2,000.0)",
                 "1.50", "left out: about 9,900 s", "fimjax: weights: bundled"):  # fmt: skip
        assert part in text
    assert text.count(MISSING) == 3
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.count("|") in (4, 10, 8) for line in lines)
