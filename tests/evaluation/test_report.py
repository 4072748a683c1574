"""The report is one self-contained HTML file, and it can cope with missing scores."""

import base64
import dataclasses
import re
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from fimjax.errors import EvaluationError
from fimjax.evaluation.datasets.catalog import dataset_info
from fimjax.evaluation.datasets.dataset import Dataset
from fimjax.evaluation.forecasts import INTERVALS, LEVELS, Forecasts
from fimjax.evaluation.metrics import naive_scales
from fimjax.evaluation.report import chart_data, charts
from fimjax.evaluation.report.report import write_report

BAD = "<script>alert('$x$')</script>"
MODELS = ("fim", "sicoum", "dynamic_optimized_theta", "seasonal_naive", BAD)
DATASETS = ("m1_yearly", "m3_quarterly", "tourism_yearly")
VOID = {"meta", "img", "wbr"}


def make_metrics(models=MODELS, datasets=DATASETS):
    random, rows = np.random.default_rng(0), []
    for model in models:
        for name in datasets:
            size = dataset_info(name).series
            row = dict(
                dataset=name, model=model, trained_on=model == "fim" and name == "m1_yearly", series=min(size, 500)
            )
            row |= dict(population=size, scrps=random.uniform(0.1, 0.2), cpu_seconds=random.lognormal(1, 3))
            row |= {f"coverage_{interval}": interval / 100 + random.normal(0, 0.01) for interval in INTERVALS}
            rows.append(row | dict(source="bundled" if model == "sicoum" else "measured"))
    return pd.DataFrame(rows)


def make_dataset(name="m1_yearly", series=10, first_id="A"):
    info, random = dataset_info(name), np.random.default_rng(1)
    walks = 100 + np.cumsum(random.normal(size=(series, 30)), axis=1)
    ids = np.array([first_id, *(f"{name}-{i}" for i in range(1, series))])
    histories = list(walks[:, : -info.horizon])
    histories[1] = np.full(20, 5.0)  # its naive scale is 0
    return Dataset(info, ids, histories, walks[:, -info.horizon :], np.full(series, ""), series)


def make_forecasts(dataset, error=1.0):
    point = dataset.future + error * np.arange(1, len(dataset) + 1)[:, None]
    values = dict.fromkeys((field.name for field in dataclasses.fields(Forecasts)), np.zeros(len(dataset)))
    quantiles = point[..., None] + np.array(LEVELS) - 0.5
    return Forecasts(**values | dict(ids=dataset.ids, point=point, quantiles=quantiles))


def make_all_forecasts(models=(BAD, "seasonal_naive"), datasets=DATASETS[:2], **options):
    made = {name: make_dataset(name, **options) for name in datasets}
    return {(name, model): (made[name], make_forecasts(made[name])) for model in models for name in datasets}


class Reader(HTMLParser):
    """Collects the text, references and alt texts of a page, and checks that every tag is closed."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.references, self.alts, self.text = [], [], [], [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open += [] if tag in VOID else [tag]
        self.references += [value for key, value in attrs if key in ("src", "href", "srcset", "data")]
        self.alts += [dict(attrs)["alt"]] if tag == "img" else []

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += "" if self.open[-1:] == ["style"] else data


def read(path):
    page, reader = path.read_text(encoding="utf-8"), Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open
    assert all(reference.startswith(("#", "data:image/")) for reference in reader.references)
    assert not re.search(r"url\(|@import|https?:", page) and not re.search(r"\bnan\b", reader.text)
    assert not {"script", "link", "iframe"} & set(reader.tags)
    return reader


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("out") / "new" / "report.html"
    table = pd.DataFrame({"model": MODELS, "sCRPS": [0.12345, np.nan, 1, 2, 3], BAD: ["0.1†", "a<b", "", "–", BAD]})
    tables = [("Table 1 & ours", "Ours <beside> theirs.", table), (BAD, BAD, table)]
    write_report(make_metrics(), make_all_forecasts(first_id='"><script>'), tables, path)
    return path


@pytest.fixture
def without_charts(monkeypatch):
    """Skips drawing, which takes most of the time."""
    for name in [name for name in vars(charts) if name.startswith("draw_")]:
        monkeypatch.setattr(charts, name, lambda *_: "<svg/>")


def test_the_page_is_complete_and_self_contained(path):
    page = read(path)
    for text in (*MODELS, *DATASETS, "Table 1 & ours", "Ours <beside> theirs.", "0.123", "0.1†", "a<b", "500 of 518"):
        assert text in page.text
    assert page.tags.count("section") == 7 and "empty" not in page.text
    assert path.stat().st_size < 400_000
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]


def test_images_are_valid_svg_with_alt_texts(path):
    page = read(path)
    pictures = [reference for reference in page.references if reference.startswith("data:")]
    assert len(pictures) == 1 + 2 + 2 + 8 and len(page.alts) == len(pictures) and all(page.alts)
    for picture in pictures:
        kind, data = picture.split(";base64,")
        root = ElementTree.fromstring(base64.b64decode(data, validate=True))
        assert kind == "data:image/svg+xml" and root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "prefers-color-scheme:dark" in root.find("{*}style").text
        assert "var(--faint)" in ElementTree.tostring(root, "unicode")
    labels = "".join(ElementTree.fromstring(base64.b64decode(pictures[0].split(",")[1])).itertext())
    assert "fim †" in labels and "relative to sicoum" in labels


def test_names_are_escaped(path):
    page = read(path)  # also checks that there is no script
    assert page.text.count(BAD) > 10 and '"><script>' in page.text
    assert any(BAD in alt for alt in page.alts) and any('"><script>' in alt for alt in page.alts)


def test_sections_without_forecasts_explain_why_they_are_empty(tmp_path, without_charts):
    write_report(make_metrics(), {}, [], tmp_path / "report.html")
    page = read(tmp_path / "report.html")
    assert (
        page.text.count("This is empty because there are only scores, no forecasts") == 2
        and page.tags.count("img") == 3
    )
    forecasts = make_all_forecasts(datasets=DATASETS[:1])
    write_report(make_metrics(), forecasts, [], tmp_path / "report.html", highlight="sicoum")
    assert "only scores, no forecasts of sicoum" in read(tmp_path / "report.html").text


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_scores_may_be_missing(tmp_path, share):
    metrics = make_metrics()
    columns = metrics.select_dtypes(float).columns
    metrics[columns] = metrics[columns].mask(np.random.default_rng(0).random((len(metrics), len(columns))) < share)
    write_report(metrics.drop(index=1), {}, [], tmp_path / "report.html")
    page = read(tmp_path / "report.html")
    assert all(text in page.text for text in (*MODELS, *DATASETS, "–"))
    assert page.text.count("This is empty") == (4 if share == 1 else 2)


def test_scores_are_relative_to_the_first_reference_with_a_score():
    rows = [("a", "fim", 2.0), ("a", "sicoum", 4.0), ("a", "seasonal_naive", 8.0)]
    rows += [
        ("b", "fim", 2.0),
        ("b", "sicoum", np.nan),
        ("b", "seasonal_naive", 8.0),
        ("c", "fim", 3.0),
        ("c", "other", 6.0),
    ]
    relative, references = chart_data.relative_scores(pd.DataFrame(rows, columns=["dataset", "model", "scrps"]))
    assert list(relative.columns) == ["fim", "sicoum", "seasonal_naive", "other"]
    np.testing.assert_array_equal(relative.loc["a"], [0.5, 1, 2, np.nan])
    np.testing.assert_array_equal(relative.loc["b"], [0.25, np.nan, 1, np.nan])
    np.testing.assert_array_equal(relative.loc["c"], [1, np.nan, np.nan, 2])
    assert list(references) == ["sicoum", "seasonal_naive", ""]


def test_coverage_is_weighted_by_population_and_time_needs_every_data_set():
    metrics = make_metrics(("fim", "sicoum"), DATASETS[:2]).assign(series=[100, 300, 100, 300])
    metrics["population"] = [1000, 3000, 1000, 3000]
    metrics["cpu_seconds"] = [1.0, 7.0, 5.0, np.nan]
    metrics["coverage_80"] = [0.6, 0.8, 0.7, np.nan]
    coverages = chart_data.mean_coverages(metrics)
    np.testing.assert_allclose(coverages[80], [0.75, 0.7])
    seconds = chart_data.seconds_per_thousand(metrics, pd.Index(DATASETS[:2]))
    assert seconds.to_dict() == {"fim": 20.0}


def test_errors_by_step_and_by_series_leave_out_a_scale_of_zero():
    dataset = make_dataset(series=3)
    forecasts, scales = make_forecasts(dataset), np.array([2.0, 0.0, 6.0])
    assert naive_scales(dataset.histories, dataset.info.season)[1] == 0
    np.testing.assert_allclose(chart_data.step_errors(dataset, forecasts, scales), (1 / 2 + 3 / 6) / 2)
    scores = chart_data.series_scores(dataset, forecasts, scales)
    # 1, 2 and 3 too high: of 2 (1 - p) (error + p - 1/2), the mean over p = 0.1, ..., 0.9.
    levels = np.arange(1, 10) / 10
    expected = [np.mean(2 * (1 - levels) * (error + levels - 0.5)) / scale for error, scale in ((1, 2), (3, 6))]
    np.testing.assert_allclose(scores, [expected[0], np.nan, expected[1]])


def test_the_best_and_the_worst_series_are_shown_once_each(tmp_path, without_charts):
    write_report(make_metrics(), make_all_forecasts(datasets=DATASETS[:1], series=6), [], tmp_path / "report.html")
    shown = [alt.split()[1] for alt in read(tmp_path / "report.html").alts if alt.startswith("Series")]
    # 1 has no scale; each is worse than the one before.
    assert shown == ["A", *(f"m1_yearly-{i}" for i in (2, 3, 5, 4))]


def test_errors_name_what_cannot_be_reported(tmp_path, monkeypatch):
    path, metrics = tmp_path / "other.html", make_metrics()
    with pytest.raises(EvaluationError, match="no column 'scrps'"):
        write_report(metrics.drop(columns="scrps"), {}, [], path)
    with pytest.raises(EvaluationError, match="fim is listed twice on m1_yearly"):
        write_report(pd.concat([metrics, metrics.head(1)]), {}, [], path)
    dataset = make_dataset()
    other = make_forecasts(dataset.take(np.arange(10)[::-1]))
    with pytest.raises(EvaluationError, match="fim do not have the series of m1_yearly"):
        write_report(metrics, {("m1_yearly", "fim"): (dataset, other)}, [], path)
    monkeypatch.delitem(sys.modules, "fimjax.evaluation.report.charts", raising=False)
    monkeypatch.delattr(sys.modules["fimjax.evaluation.report"], "charts", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(EvaluationError, match="needs matplotlib"):
        write_report(metrics, {}, [], path)
    assert not path.exists()
