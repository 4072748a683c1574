"""The commands from beginning to end, most of them with a model that costs nothing."""

import gzip
import inspect
import io
import json
import os
import subprocess
import sys
import types
import warnings

import numpy as np
import pandas as pd
import pytest

from fimjax import weights
from fimjax.checkpoints.pretrained import load_pretrained, save_pretrained
from fimjax.cli import console, predict
from fimjax.examples import air_passengers
from fimjax.forecaster import Forecaster
from fimjax.frames import panel
from tests.cli.examples import figure, run
from tests.inference.parameters import params_of
from tests.training.examples import QUANTILE_REPORT_RUN, REPORT_LOCAL_RUN, ROOT


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The folder of a small model that was never trained."""
    folder = tmp_path_factory.mktemp("model")
    save_pretrained(folder, QUANTILE_REPORT_RUN, params_of(QUANTILE_REPORT_RUN), {"steps": 6})
    return folder


@pytest.fixture
def plots(monkeypatch):
    monkeypatch.setattr(predict, "plot", figure)


def give(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_a_file_without_ids_is_one_series_named_after_it(folder, model, capsys):
    code, out, notes = run(capsys, "forecast", "air.csv", "--h", 2)
    assert code == 0
    assert notes == ["fimjax: time = month, target = passengers, one series; frequency MS (12 to a season)"]
    assert out == "unique_id,month,FIM\nair,1950-01,112\nair,1950-02,112\n"


def test_quiet_says_nothing(folder, model, capsys):
    assert run(capsys, "forecast", "air.csv", "--h", 1, "--quiet") == (0, "unique_id,month,FIM\nair,1950-01,112\n", [])


def test_standard_input_and_numbers_alone(folder, model, capsys, monkeypatch):
    give(monkeypatch, b"3\n1\n2\n")
    code, out, notes = run(capsys, "forecast", "-", "--h", 1, "--season-length", 2)
    assert (code, out) == (0, "unique_id,ds,FIM\nseries,3,2\n")
    assert notes == ["fimjax: time = 0, 1, 2, ..., target = y, one series; frequency 1 (2 to a season)"]


def test_wide_files_become_long(folder, model, capsys):
    (folder / "wide.csv").write_text("day,a,b\n2020-01-01,1,\n2020-01-02,2,5\n2020-01-03,,6\n2020-01-04,4,8\n")
    code, out, notes = run(capsys, "forecast", "wide.csv", "--h", 1)
    assert out == "unique_id,day,FIM\na,2020-01-05,4\nb,2020-01-05,8\n"
    assert notes == ["fimjax: time = day, targets = a, b, 2 series; frequency D (7 to a season)"]
    ((_, read, _),) = model.calls
    np.testing.assert_array_equal(read.values, [[1, 2, np.nan, 4], [np.nan, 5, 6, 8]])


def test_several_series_out_of_order_are_sorted_and_ids_stay_text(folder, model, capsys):
    rows = ["007,2020-01-02,2,x", "007,2020-01-01,1,x", "01,2020-01-01,5,x", "01,2020-01-02,6,x"]
    (folder / "long.csv").write_text("\n".join(["id,date,sales,note", *rows]))
    code, out, notes = run(capsys, "forecast", "long.csv", "--h", 1)
    assert out == "id,date,FIM\n007,2020-01-03,2\n01,2020-01-03,6\n"
    assert notes == [
        "fimjax: the rows of the file are not sorted by time: they were sorted",
        "fimjax: id = id, time = date, target = sales, 2 series; frequency D (7 to a season); not used: note",
    ]


def test_the_frequency_that_is_reported_is_the_one_used(folder, model, capsys):
    (folder / "days.csv").write_text("ds,y\n2020-01-01,1\n2020-01-03,2\n2020-01-05,3\n")
    _, out, notes = run(capsys, "forecast", "days.csv", "--h", 1)
    assert "frequency 2D (no season)" in notes[0] and out.endswith("days,2020-01-07,3\n")
    _, out, notes = run(capsys, "forecast", "days.csv", "--h", 1, "--freq", "D")
    assert "frequency D (7 to a season)" in notes[0] and out.endswith("days,2020-01-06,3\n")
    (folder / "years.csv").write_text("year,y\n1949,1\n1950,2\n1951,3\n")
    _, out, notes = run(capsys, "forecast", "years.csv", "--h", 1)
    assert "frequency YS-JAN (no season)" in notes[0] and out.endswith("years,1952,3\n")
    _, out, notes = run(capsys, "forecast", "years.csv", "--h", 1, "--freq", "1")
    assert "frequency 1 (no season)" in notes[0] and out.endswith("years,1952,3\n")


def test_files_by_their_ending(folder, model, capsys):
    code, out, notes = run(capsys, "forecast", "air.csv", "--h", 2, "--output", "out.csv.gz")
    assert (code, out, notes[1]) == (0, "", "fimjax: wrote out.csv.gz")
    assert gzip.decompress((folder / "out.csv.gz").read_bytes()).startswith(b"unique_id,month,FIM\nair,1950-01,112")
    pd.DataFrame({"id": ["a"] * 3, "ds": pd.date_range("2020", periods=3), "y": [1, 2, 3]}).to_parquet("in.parquet")
    assert run(capsys, "forecast", "in.parquet", "--h", 2, "--output", "out.parquet")[0] == 0
    found = pd.read_parquet(folder / "out.parquet")
    assert list(found["ds"]) == list(pd.date_range("2020-01-04", periods=2)) and list(found["FIM"]) == [3, 3]
    assert not list(folder.glob(".*")), "scratch files are left"


def test_pictures(folder, model, plots, capsys):
    asked = "forecast", "air.csv", "--h", 2, "--level", 80, 95, "--output", "out.csv", "--plot", "out.png"
    code, _, notes = run(capsys, *asked, "--max-plots", 3)
    assert code == 0 and notes[1] == "fimjax: wrote out.csv and out.png"
    assert (folder / "out.png").read_text() == "png of 3"
    assert run(capsys, "anomalies", "air.csv", "--plot", "out.pdf", "--quiet")[0] == 0
    assert (folder / "out.pdf").read_text() == "pdf of 8"


def test_a_picture_that_fails_leaves_no_table(folder, model, monkeypatch, capsys):
    def fail(*_, **__):
        raise OSError("the disk is full")

    monkeypatch.setattr(predict, "plot", fail)
    code, out, notes = run(capsys, "forecast", "air.csv", "--h", 2, "--output", "out.csv", "--plot", "out.png")
    assert (code, out, notes[1]) == (2, "", "fimjax forecast: the disk is full")
    assert sorted(os.listdir(folder)) == ["air.csv"]


@pytest.mark.parametrize(
    "arguments, method, settings",
    [
        (["interpolate", "--level", 80], "interpolate", {"level": [80], "quantiles": None}),
        (
            ["backtest", "--h", 3, "--windows", 2, "--step", 1, "--quantiles", 0.1, 0.9],
            "cross_validation",
            {"h": 3, "n_windows": 2, "step_size": 1, "level": None, "quantiles": [0.1, 0.9]},
        ),
        (["anomalies", "--level", 95, "--h", 3], "detect_anomalies", {"level": 95, "h": 3, "n_windows": None}),
    ],
)
def test_commands_call_the_library(folder, model, capsys, arguments, method, settings):
    known = ["--freq", "MS", "--season-length", 6, "--nonnegative", "--bounds", -1, "none"]
    code, out, _ = run(capsys, arguments[0], "air.csv", *arguments[1:], *known)
    ((asked, read, given),) = model.calls
    assert code == 0 and asked == method and given == settings | {"nonnegative": True, "bounds": (-1, None)}
    inspect.signature(getattr(Forecaster, method)).bind(None, read, **given)  # the real one would take it
    assert (str(read.frequency), read.season) == ("MS", 6) and read.schema.target_col == "passengers"
    assert len(read.values[0]) == 12 and out.splitlines()[1].startswith("air,1949-01,101")
    if method == "cross_validation":
        assert out.splitlines()[0].endswith("FIM,cutoff") and out.splitlines()[1].endswith(",1949-01")


@pytest.mark.parametrize("notes, calibrate", [(["--calibrate"], True), ([], False)])
def test_intervals_are_calibrated_on_request(folder, model, capsys, notes, calibrate):
    assert run(capsys, "forecast", "air.csv", "--h", 2, "--level", 80, *notes)[0] == 0
    ((_, read, given),) = model.calls
    assert given["calibrate"] is calibrate
    inspect.signature(Forecaster.forecast).bind(None, read, **given)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["none.csv"], "none.csv: No such file or directory"),
        (["."], ".: is a folder, not a file"),
        (["folder.csv"], "folder.csv: is a folder, not a file"),
        (["air.csv", "--output", "out.txt"], "out.txt: its ending is none of .csv, .csv.gz, .parquet"),
        (["air.csv", "--output", "no/out.csv"], "no/out.csv: there is no folder no to write it to"),
        (["air.csv", "--output", "./air.csv"], "--output: air.csv is the input file and would be overwritten"),
        (["air.csv", "--plot", "out.bmp"], "out.bmp: its ending is none of .png, .pdf, .svg"),
        (["air.csv", "--time", "day"], "--time: there is no column 'day', only 'month', 'passengers'"),
        (["air.csv", "--freq", "fortnight"], "freq='fortnight' is not a frequency that pandas knows"),
        (["air.csv", "--freq", "7"], "freq=7: the times are dates"),
        (["twice.csv"], "column 'ds' repeats 2020-01-01 00:00:00 in line 4 (series 'twice')"),
        (["text.csv"], "column 'y' holds text: '?' in line 3 (series 'text')"),
        (["gap.csv"], "column 'ds' is missing in line 3"),
        (["whose.csv"], "column 'id' is missing in line 4"),
        (["air.csv", "--h", "0"], "argument --h: '0' is not a whole number of at least 1 (see fimjax forecast --help)"),
        (["air.csv", "--h", "x"], "argument --h: 'x' is not a whole number"),
        (["air.csv", "--bounds", "0", "x"], "argument --bounds: 'x' is neither a number nor none"),
        (["air.csv", "--level", "80", "--quantiles", "0.5"], "argument --quantiles: not allowed with argument --level"),
        (["--level", "80", "air.csv"], "argument --level: 'air.csv' is not a number; give the file before the options"),
        (["--wrong", "air.csv"], "unrecognized arguments: --wrong"),
    ],
)
def test_mistakes_end_in_one_sentence_and_write_nothing(folder, model, capsys, arguments, message):
    (folder / "folder.csv").mkdir()
    (folder / "twice.csv").write_text("ds,y\n2020-01-02,1\n2020-01-01,2\n2020-01-01,3\n")
    (folder / "text.csv").write_text("ds,y\n2020-01-02,1\n2020-01-01,?\n2020-01-03,3\n")
    (folder / "gap.csv").write_text("ds,y\n2020-01-02,1\n,2\n2020-01-03,3\n")
    (folder / "whose.csv").write_text("id,ds,y\na,2020-01-01,1\na,2020-01-02,1\n,2020-01-03,3\n")
    before = sorted(os.listdir(folder))
    outputs = [] if "--output" in arguments else ["--output", "out.csv"]
    code, out, notes = run(capsys, "forecast", *outputs, *(["--h", 2] if "--h" not in arguments else []), *arguments)
    assert (code, out) == (2, "")
    assert message in notes[-1] and notes[-1].startswith("fimjax")
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize("output", ["out.txt", "no/out.csv"])
def test_outputs_are_checked_before_anything_is_read(folder, monkeypatch, capsys, output):
    monkeypatch.setattr(predict, "read_file", lambda _: pytest.fail("it was begun"))
    assert run(capsys, "forecast", "air.csv", "--h", 2, "--output", output)[0] == 2


def test_warnings_are_reported_in_a_line(folder, model, monkeypatch, capsys):
    def warn(*_, **__):
        warnings.warn("series 'a' has\nno observation", stacklevel=1)
        warnings.warn("not for users", DeprecationWarning, stacklevel=1)
        return pd.DataFrame({"FIM": [1.0]})

    monkeypatch.setattr(model, "forecast", warn)
    code, _, notes = run(capsys, "forecast", "air.csv", "--h", 2, "--quiet")
    assert (code, notes) == (0, ["fimjax: warning: series 'a' has no observation"])


def ending_with(error):
    def end(*_, **__):
        raise error

    return end


def test_interruptions(folder, model, monkeypatch, capsys):
    monkeypatch.setattr(model, "forecast", ending_with(KeyboardInterrupt()))
    asked = "forecast", "air.csv", "--h", 2, "--quiet", "--output", "out.csv"
    assert run(capsys, *asked) == (130, "", ["fimjax forecast: interrupted"])
    assert os.listdir(folder) == ["air.csv"]


def test_readers_that_leave(folder, model, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", sys.stdout)  # puts it back
    monkeypatch.setattr(predict, "write_table", ending_with(BrokenPipeError()))
    assert run(capsys, "forecast", "air.csv", "--h", 2, "--quiet") == (0, "", [])
    sys.stdout.close()


def test_progress_is_reported_in_lines_where_there_is_no_terminal(monkeypatch, capsys):
    monkeypatch.setattr(console, "BETWEEN_LINES", -1.0)
    with console.showing_progress(quiet=False) as advance:
        advance(1000, 2000)
        advance(2000, 2000)
    assert capsys.readouterr().err == "fimjax: 1,000 of 2,000 series\n"
    with console.showing_progress(quiet=False, what="windows") as advance:
        advance(10, 20)
    assert capsys.readouterr().err == "fimjax: 10 of 20 windows\n"
    with console.showing_progress(quiet=True) as advance:
        advance(1000, 2000)
    assert capsys.readouterr().err == ""


def test_progress_is_a_bar_on_a_terminal_if_it_takes_long(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with console.showing_progress(quiet=False) as advance:
        advance(1, 2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(console, "PATIENCE", 0.0)
    with console.showing_progress(quiet=False) as advance:
        advance(1, 2)


def test_a_saved_model_forecasts_the_example(saved, folder, capsys):
    asked = "forecast", air_passengers(), "--h", 3, "--level", 80, "--model", saved
    code, out, notes = run(capsys, *asked)
    assert code == 0 and notes == [
        "fimjax: time = month, target = passengers, one series; frequency MS (12 to a season)"
    ]
    found = pd.read_csv(io.StringIO(out))
    assert list(found.columns) == ["unique_id", "month", "FIM", "FIM-lo-80", "FIM-hi-80"]
    assert list(found["month"]) == ["1961-01", "1961-02", "1961-03"] and np.isfinite(found["FIM"]).all()


@pytest.mark.parametrize(
    "source, message",
    [("fim-huge", "'fim-huge' is neither a folder nor a bundled model"), (".", "holds neither model.safetensors nor")],
)
def test_models_that_are_not_there(folder, capsys, source, message):
    code, _, notes = run(capsys, "forecast", "air.csv", "--h", 3, "--model", source)
    assert code == 2 and notes[-1].startswith("fimjax forecast: ") and message in notes[-1]


def test_bundled_models_are_listed(saved, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(weights, "files", lambda package: tmp_path)
    assert "no bundled weights" in run(capsys, "models")[2][0]
    config, params, _ = load_pretrained(saved)
    facts = {"steps": 60000, "seconds": 5400, "fimjax": "9.9", "purpose": "anything"}
    for name, about in ((weights.DEFAULT, facts), ("other", {})):
        save_pretrained(tmp_path / name, config, params, about)
    code, out, _ = run(capsys, "models")
    header, default, other = out.splitlines()
    parameters = f"{json.loads((tmp_path / 'other/config.json').read_text())['about']['parameters']:,}"
    assert code == 0 and header.split()[:2] == ["name", "parameters"]
    assert default.split()[:8] == [weights.DEFAULT, parameters, "0.1", "MB", "9.9", "60,000", "1.5", "h"]
    assert default.endswith("the default: anything")
    assert other.split()[:2] == ["other", parameters] and "default" not in other


def test_export(saved, folder, capsys):
    from fimjax.inference.export import load_exported

    code, _, notes = run(capsys, "export", "model.bin", "--h", 2, "--points", 40, "--model", saved)
    assert code == 0 and notes[0].startswith("fimjax: wrote model.bin (0.") and notes[0].endswith("query times [b, 2]")
    assert callable(load_exported(folder / "model.bin"))


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["no/model.bin"], "no/model.bin: there is no folder no to write it to"),
        (["model.bin", "--platforms", "abacus"], "--platforms: abacus is not one of cpu, cuda, rocm, tpu"),
        (["model.bin", "--model", "fim-huge"], "'fim-huge' is neither a folder nor a bundled model"),
        (["model.bin", "--model", "local"], "FIMLocalConfig does not forecast"),
    ],
)
def test_exports_that_cannot_be(folder, capsys, arguments, message):
    (folder / "local").mkdir()
    (folder / "local" / "model.safetensors").touch()
    from fimjax.config import to_dict

    (folder / "local" / "config.json").write_text(json.dumps(to_dict(REPORT_LOCAL_RUN) | {"about": {}}))
    code, _, notes = run(capsys, "export", "--h", 2, *arguments)
    assert code == 2 and notes[-1].startswith("fimjax export: ") and message in notes[-1]
    assert not (folder / "model.bin").exists()


def test_help_names_the_commands(capsys):
    code, out, _ = run(capsys, "--help")
    names = "forecast interpolate backtest anomalies models export train evaluate".split()
    assert code == 0 and all(word in out for word in names)


@pytest.mark.parametrize("command", ["train", "evaluate"])
def test_training_and_evaluation_get_all_further_arguments(command, monkeypatch, capsys):
    given = []
    other = types.SimpleNamespace(main=lambda argv: given.append(argv) or 7)
    monkeypatch.setitem(sys.modules, f"fimjax.cli.{command}", other)
    assert run(capsys, command, "--help", "--h", 3)[0] == 7 and given == [["--help", "--h", "3"]]


def test_a_file_is_parsed_once(saved, folder, monkeypatch, capsys):
    parsed = []
    read_frame = panel.read_frame
    monkeypatch.setattr(panel, "read_frame", lambda df, *names: parsed.append(df) or read_frame(df, *names))
    asked = "forecast", "air.csv", "--h", 2, "--model", saved, "--output", "out.csv", "--plot", "out.png"
    assert run(capsys, *asked)[0] == 0 and len(parsed) == 1


@pytest.mark.processes
def test_help_imports_neither_jax_nor_pandas():
    code = (
        "import sys\nimport fimjax\nfrom fimjax.cli import main\n"
        "assert set(fimjax.__all__) <= set(dir(fimjax)) and fimjax.__version__ and fimjax.InputError\n"
        "try: main(['forecast', '--help'])\nexcept SystemExit as exit: assert exit.code == 0\n"
        "assert not {'jax', 'pandas', 'rich'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "%d/%m/%Y" in done.stdout


@pytest.mark.processes
def test_the_module_is_the_command_and_says_sentences(tmp_path):
    command = [sys.executable, "-m", "fimjax", "forecast", "none.csv", "--h", "3"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "fimjax forecast: none.csv: No such file or directory\n"
