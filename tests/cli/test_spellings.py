"""Files of many spellings, from the command line to the numbers that the model is given."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from fimjax.cli import predict
from fimjax.cli.arguments import parse
from fimjax.cli.files import detect_dialect
from fimjax.errors import PretrainedError
from tests.cli.examples import run
from tests.training.examples import ROOT


def values_of(model):
    ((_, panel, _),) = model.calls
    return np.concatenate(panel.values).tolist()


@pytest.mark.parametrize(
    "text, values",
    [
        ("A,2020-01-01,5\nA,2020-01-02,6\nA,2020-01-03,7\n", [5, 6, 7]),
        ('"2020-01-01","1"\n"2020-01-02","2"\n"2020-01-03","3"\n', [1, 2, 3]),
        ("nan\n1\n2\n", [np.nan, 1, 2]),
        ("2020-01-01,NA\n2020-01-02,2\n2020-01-03,3\n", [np.nan, 2, 3]),
        ("2020-01-01;1,5\n2020-01-02;2,5\n2020-01-03;3\n", [1.5, 2.5, 3]),
        ('"sales, net";date\n5;2020-01-01\n6;2020-01-02\n7;2020-01-03\n', [5, 6, 7]),
        ("date\ty\tnote\n2020-01-01\t1.5\ta;b, c\n2020-01-02\t2.5\t\n2020-01-03\t3\t\n", [1.5, 2.5, 3]),
        ("date;y;note\n2020-01-01;1.5;1,5 kg\n2020-01-02;2.5;\n2020-01-03;3;\n", [1.5, 2.5, 3]),
        ('date,y\n2020-01-01,"1,5"\n2020-01-02,"2,25"\n2020-01-03,3\n', [1.5, 2.25, 3]),
        ("date;y\n2020-01-01;0,125\n2020-01-02;0,250\n2020-01-03;0,500\n", [0.125, 0.25, 0.5]),
    ],
)
def test_every_row_is_read(folder, model, capsys, text, values):
    (folder / "a.csv").write_text(text)
    code, _, told = run(capsys, "forecast", "a.csv", "--h", 1)
    assert code == 0, told
    np.testing.assert_equal(values_of(model), values)


@pytest.mark.parametrize(
    "text, has_names",
    [
        ("Datum,101,102\n2020-01-01,1,2\n", True),
        ("date,101,102\n2020-01-01,1,2\n", True),
        ("Produkt,Jan 2020,Feb 2020\nNuts,1,2\n", True),
        (",0,1\n0,1,2\n1,5,6\n", True),
        ("when,amps,\n2020-01-01,1,\n", True),
        ("label,note,\na,b,\n", True),
        ("NA,NB\n1,2\n", True),
        ("ds,y\n", True),
        ("2020-01-01,5\n", False),
        ("2020-01-01,?\n2020-01-02,5\n", False),
        ("1,5\n2,6\n", False),
        ("\n\n1\n2\n", False),
    ],
)
def test_names_in_the_first_line(text, has_names):
    assert (detect_dialect(text.encode())[1] is None) == has_names


def test_decimal_commas_are_reported(folder, model, capsys):
    (folder / "a.csv").write_text("date;y;note\n2020-01-01;1,5;2,5\n2020-01-02;2,5;3,5\n2020-01-03;3;4,5\n")
    told = run(capsys, "forecast", "a.csv", "--h", 1)[2]
    assert told[0].endswith("frequency D (7 to a season); decimal comma in y; not used: note")


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "date;y\n2020-01-01;999\n2020-01-02;1,234\n2020-01-03;2,345\n",
            "column 'y' holds '1,234' in line 3 (series 'a'), a number with a thousands separator, or perhaps with a "
            "decimal comma: write numbers as 1234.5",
        ),
        (
            'date,x\n2020-01-01,"1,000"\n2020-01-02,"1,000,000.5"\n2020-01-03,"3,000"\n',
            "column 'x' holds '1,000' in line 2 (series 'a'), a number with a thousands separator: write",
        ),
        ("date;y\n2020-01-01;1,5\n2020-01-02;2,5\n2020-01-03;1.500\n", "column 'y' holds text: '1,5' in line 2"),
        ("date;y\n2020-01-01;1,5\n2020-01-02;2,5\n2020-01-03;?\n", "column 'y' holds text: '?' in line 4"),
        ("id,date,y\n7,2020-01-01,1\n7,2020-01-01,1\n", "repeats 2020-01-01 00:00:00 in line 3 (series '7')"),
        ("date,y\n01/02/20,1\n01/03/20,2\n", "give --date-format, such as %d/%m/%y or %m/%d/%y"),
    ],
)
def test_what_is_wrong_is_reported_by_its_line(folder, model, capsys, text, message):
    (folder / "a.csv").write_text(text)
    code, out, told = run(capsys, "forecast", "a.csv", "--h", 1)
    assert (code, out) == (2, "") and message in told[-1]


def test_blank_lines_are_counted(folder, model, capsys):
    (folder / "a.csv").write_text("\nds,y\n\n2020-01-01,1\n2020-01-02,2\n\nsoon,3\n")
    told = run(capsys, "forecast", "a.csv", "--h", 1, "--time", "ds")[2]
    assert "holds 'soon' in line 7, which does not read as a date" in told[-1]


def test_numbers_are_reported_as_they_are_written(folder, model, capsys):
    (folder / "a.csv").write_text("number,date,y\n7,2020-01-01,1\n7,2020-01-01,1\n")
    told = run(capsys, "forecast", "a.csv", "--h", 1, "--id", "number")[2]
    assert "(series '7')" in told[-1]
    pd.read_csv(folder / "a.csv").to_parquet(folder / "a.parquet")
    told = run(capsys, "forecast", "a.parquet", "--h", 1, "--id", "number")[2]
    assert told[-1].endswith("in row 1 (series 7)")


def test_float_times_keep_their_digits(folder, model, capsys):
    (folder / "a.csv").write_text("t,y\n" + "".join(f"1700000000.00{i},{i}.1\n" for i in range(1, 5)))
    _, out, _ = run(capsys, "interpolate", "a.csv")
    assert [line.split(",")[1] for line in out.splitlines()[1:]] == [f"1700000000.00{i}" for i in range(1, 5)]
    assert out.splitlines()[1].endswith(",1.1,1.1")


def test_spellings_that_would_lose_something_are_left(folder, model, capsys):
    (folder / "years.csv").write_text("year,y\n2001,1\n2002,2\n2003,3\n")
    code, out, _ = run(capsys, "forecast", "years.csv", "--h", 2, "--freq", "MS")
    assert code == 0 and [line.split(",")[1] for line in out.splitlines()[1:]] == ["2003-02-01", "2003-03-01"]


@pytest.mark.parametrize("options", [[], ["--time", "date"]])
def test_dates_that_look_like_numbers(folder, model, capsys, options):
    (folder / "a.csv").write_text("date,y\n2020.08,1\n2020.09,2\n2020.10,3\n")
    code, out, told = run(capsys, "forecast", "a.csv", "--h", 2, "--date-format", "%Y.%m", *options)
    assert code == 0, told
    assert out == "unique_id,date,FIM\na,2020.11,3\na,2020.12,3\n"
    (folder / "a.csv").write_text("date,y\n30012020,1\n31012020,2\n01022020,3\n")
    code, out, told = run(capsys, "forecast", "a.csv", "--h", 1, "--date-format", "%d%m%Y", *options)
    assert code == 0 and out == "unique_id,date,FIM\na,02022020,3\n"


def test_dates_that_were_read_as_numbers(folder, model, capsys):
    pd.DataFrame({"date": [2020.1, 2020.2], "y": [1, 2]}).to_parquet(folder / "a.parquet")
    code, _, told = run(capsys, "forecast", "a.parquet", "--h", 2, "--date-format", "%Y.%m", "--time", "date")
    assert code == 2 and "--date-format: column 'date' was read as numbers" in told[-1]


def test_blanks_after_commas(folder, model, capsys):
    rows = "".join(f"2020-01-0{day}, {store}, {day}\n" for store in ("007", "08") for day in (1, 2, 3))
    (folder / "a.csv").write_text("date, store, y\n" + rows)
    _, out, _ = run(capsys, "forecast", "a.csv", "--h", 1, "--id", "store")
    assert out == "store,date,FIM\n007,2020-01-04,3\n08,2020-01-04,3\n"


def test_several_offsets_are_reported(folder, model, capsys):
    (folder / "a.csv").write_text(
        "ds,y\n2020-03-28T01:00+01:00,1\n2020-03-29T02:00+02:00,2\n2020-03-30T02:00+02:00,3\n"
    )
    for options in ([], ["--date-format", "%Y-%m-%dT%H:%M%z"]):
        code, _, told = run(capsys, "forecast", "a.csv", "--h", 1, *options)
        assert code == 0 and "column 'ds' has several offsets from UTC" in told[0]
    (folder / "a.csv").write_text("ds,y\n2020-03-28T01:00+01:00,1\n2020-03-29T01:00+01:00,2\n")
    for options in ([], ["--date-format", "%Y-%m-%dT%H:%M%z"]):
        code, _, told = run(capsys, "forecast", "a.csv", "--h", 1, *options)
        assert code == 0 and len(told) == 1


def test_bounds_with_exponents():
    assert parse(["forecast", "a.csv", "--h", "1", "--bounds", "-1e3", "none"]).bounds == [-1000, None]
    assert parse(["forecast", "a.csv", "--h", "1", "--bounds", "-.5", "-2.5E-1"]).bounds == [-0.5, -0.25]


@pytest.mark.parametrize(
    "options, message",
    [
        (["forecast", "--h", 1, "--level", 150], "level: 150 is not between 0 and 100"),
        (["anomalies", "--level", 150], "level: 150 is not between 0 and 100"),
        (["forecast", "--h", 1, "--quantiles", 2], "quantiles: 2 is not between 0 and 1"),
        (["forecast", "--h", 1, "--bounds", 5, 1], "bounds: 5 is above 1"),
    ],
)
def test_options_are_checked_before_anything_is_read(folder, monkeypatch, capsys, options, message):
    monkeypatch.setattr(predict, "read_file", lambda _: pytest.fail("it was begun"))
    code, _, told = run(capsys, options[0], "air.csv", *options[1:])
    assert code == 2 and message in told[-1]


@pytest.mark.parametrize(
    "error", [PretrainedError("no quantiles"), ValueError("no\nquantiles"), OverflowError("no quantiles")]
)
def test_errors_of_the_library_end_in_a_sentence(folder, model, monkeypatch, capsys, error):
    def refuse(*_, **__):
        raise error

    monkeypatch.setattr(model, "detect_anomalies", refuse)
    code, out, told = run(capsys, "anomalies", "air.csv")
    assert (code, out) == (2, "") and told[-1].startswith("fimjax anomalies: ") and told[-1].endswith("no quantiles")


def test_standard_streams_that_are_closed(folder, model, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        assert run(capsys, "forecast", "air.csv", "--h", 1)[0] == 2
        assert run(capsys, "models") == (2, "", ["fimjax models: standard output is closed"])
        assert run(capsys, "forecast", "air.csv", "--h", 1, "--output", "out.csv")[0] == 0
    assert (folder / "out.csv").read_text() == "unique_id,month,FIM\nair,1950-01,112\n"
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", None)
        code, _, told = run(capsys, "forecast", "-", "--h", 1)
        assert code == 2 and told[-1] == "fimjax forecast: standard input is closed: give a file"
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", None)
        assert run(capsys, "forecast", "air.csv", "--h", 1)[:2] == (0, "unique_id,month,FIM\nair,1950-01,112\n")
        assert run(capsys, "forecast", "none.csv", "--h", 1)[:2] == (2, "")


@pytest.mark.processes
def test_letters_that_standard_output_does_not_have(tmp_path):
    code = (
        "import sys\nfrom fimjax.cli import main, predict\nfrom tests.cli.examples import Repeater\n"
        "predict.load_model = lambda source: Repeater()\n"
        "sys.exit(main(['forecast', '-', '--h', '1', '--quiet']))"
    )
    rows = "id,ds,y\nÖl,2020-01-01,1\nÖl,2020-01-02,2\n".encode()
    setting = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, input=rows, capture_output=True, env=setting)
    assert (done.returncode, done.stdout) == (2, b"") and b"standard output takes ascii only" in done.stderr
