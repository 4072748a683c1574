"""The benchmark's report: one HTML file that needs nothing else."""

import base64
import dataclasses
import math
import os
import re
from collections.abc import Callable
from html import escape
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fimjax.evaluation.catalog import EvaluationError
from fimjax.evaluation.datasets import Dataset
from fimjax.evaluation.forecasts import INTERVALS, LEVELS, Forecasts
from fimjax.evaluation.metrics import SCORED, naive_scale, scrps

Answers = dict[tuple[str, str], tuple[Dataset, Forecasts]]
"""Forecasts at hand, by data set and model."""

REFERENCES = ("sicoum", "seasonal_naive")
"""The models that others are compared with: the first one that has a score."""

NEEDED = ("dataset", "model", "seen", "series", "population", "scrps", "cpu_seconds", "source") + tuple(
    f"coverage_{interval}" for interval in INTERVALS
)

EXAMPLES = 4
"""How many of the best and of the worst series are drawn."""

MISSING, SEEN = "–", "†"


def write_report(
    metrics: pd.DataFrame,
    answers: Answers,
    tables: list[tuple[str, str, pd.DataFrame]],
    path: Path,
    spotlight: str | None = None,
) -> None:
    """Writes the report, as a whole or not at all.

    Args:
        metrics: one row a data set and model; both are shown in the order in which they first appear.
        answers: forecasts at hand, for the charts that need them.
        tables: title, a sentence on how to read it, and cells. Floats are shown with three decimals, NaN as a dash,
            strings as they are.
        path: of the HTML file.
        spotlight: the model of main interest, drawn with heavier lines and in examples; the first in `answers` if None.
    """
    try:
        from fimjax.evaluation import charts
    except ImportError as error:
        raise EvaluationError(f"the report needs matplotlib ({error}): pip install 'fimjax[plot]'") from error
    check(metrics, answers)
    models = list(dict.fromkeys([*metrics["model"], *(model for _, model in answers)]))
    if spotlight is None:
        spotlight = next((model for _, model in answers), None)
    page = Page(charts, metrics, answers, models, charts.choose_pens(models), spotlight)
    sections = [table_section(title, note, frame) for title, note, frame in tables]
    sections += [page.relative_section(), page.time_section(), page.coverage_section()]
    sections += [page.step_section(), page.example_section()]
    text = document(page.summary(), sections, charts.theme_css())

    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        scratch.write_text(text, encoding="utf-8")
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)


def check(metrics: pd.DataFrame, answers: Answers) -> None:
    """Refuses figures that are incomplete or twice there, and forecasts of other series than the data set's."""
    absent = [column for column in NEEDED if column not in metrics.columns]
    if absent:
        raise EvaluationError(f"report: the metrics have no column {absent[0]!r}")
    twice = metrics[metrics.duplicated(["dataset", "model"])]
    if len(twice):
        raise EvaluationError(f"report: model {twice['model'].iloc[0]} is twice there on {twice['dataset'].iloc[0]}")
    for (name, model), (dataset, forecasts) in answers.items():
        if not np.array_equal(dataset.ids, forecasts.ids):
            raise EvaluationError(
                f"report: the forecasts of {model} are not of the series of {name}, or in another order"
            )


# What is shown.


def relative_scores(metrics: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """sCRPS relative to the reference's on the same data set.

    Returns:
        Scores, a row a data set and a column a model; the reference of each data set, "" where it is the best model.
    """
    scores = metrics.pivot(index="dataset", columns="model", values="scrps").astype(float)
    scores = scores.reindex(index=metrics["dataset"].unique(), columns=metrics["model"].unique())
    references = pd.Series("", index=scores.index)
    divisors = scores.where(scores > 0).min(axis=1)
    for name in reversed(REFERENCES):
        if name in scores:
            usable = scores[name] > 0
            references[usable], divisors[usable] = name, scores.loc[usable, name]
    return scores.div(divisors, axis=0), references


def common_scores(relative: pd.DataFrame) -> pd.DataFrame:
    """The data sets on which every model has a score, of the models that have any."""
    return relative.dropna(axis=1, how="all").dropna()


def geometric_mean(scores: pd.DataFrame) -> pd.Series:
    """Of each column."""
    with np.errstate(divide="ignore"):
        return np.exp(np.log(scores).mean())


def seconds_per_thousand(metrics: pd.DataFrame, datasets: pd.Index) -> pd.Series:
    """Processor seconds for 1000 series of these data sets; only for models timed on all of them."""
    timed = metrics[metrics["dataset"].isin(datasets) & (metrics["cpu_seconds"] > 0)]
    sums = timed.groupby("model", sort=False)[["cpu_seconds", "series"]].sum()
    counts = timed.groupby("model", sort=False).size()
    return (1000 * sums["cpu_seconds"] / sums["series"])[counts == len(datasets)].astype(float)


def mean_coverages(metrics: pd.DataFrame) -> pd.DataFrame:
    """Coverage over data sets, weighted by their series: a row a model, a column an interval."""
    rows = {}
    for model, group in metrics.groupby("model", sort=False):
        found = group[[f"coverage_{interval}" for interval in INTERVALS]].to_numpy(float)
        weights = np.where(np.isfinite(found), group[["series"]].to_numpy(float), 0.0)
        total = weights.sum(axis=0)
        rows[model] = np.where(total > 0, np.nansum(found * weights, axis=0) / np.where(total > 0, total, 1), np.nan)
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(INTERVALS)).dropna()


def naive_scales(dataset: Dataset) -> np.ndarray:
    """naive_scale of each series: [N]."""
    return np.array([naive_scale(history, dataset.info.season) for history in dataset.histories], dtype=float)


def step_errors(dataset: Dataset, forecasts: Forecasts, scales: np.ndarray) -> np.ndarray:
    """mean over series of |y - f| / naive_scale at each step [h]; series of scale 0 are left out."""
    defined = scales > 0
    errors = np.abs(dataset.future - forecasts.point)[defined] / scales[defined, None]
    return errors.mean(axis=0) if defined.any() else np.full(dataset.future.shape[1], np.nan)


def series_scores(dataset: Dataset, forecasts: Forecasts, scales: np.ndarray) -> np.ndarray:
    """mean over steps and levels of 2 rho_p(y, q_p) / naive_scale of each series [N]; NaN where the scale is 0."""
    losses = scrps(dataset.future, forecasts.quantiles[..., SCORED], tuple(LEVELS[i] for i in SCORED)).numerator
    return np.where(scales > 0, losses / dataset.future.shape[1] / np.where(scales > 0, scales, 1), np.nan)


# How it is shown.


def number(value: Any) -> str:
    """A table's cell as text."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if value is None or value is pd.NA or (isinstance(value, Real) and math.isnan(value)):
        return MISSING
    if isinstance(value, Integral):
        return f"{value:,}"
    return f"{value:,.3f}" if isinstance(value, Real) else str(value)


def table_section(title: str, note: str, frame: pd.DataFrame) -> "Section":
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index(names=[name or "" for name in frame.index.names])
    columns = [[number(value) for value in frame.iloc[:, i]] for i in range(frame.shape[1])]
    classes = ["number" if i and looks_numeric(column) else "" for i, column in enumerate(columns)]
    heads = [" ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]
    head = "".join(f'<th scope="col" class="{kind}">{breakable(text)}</th>' for text, kind in zip(heads, classes))
    rows = []
    for cells in zip(*columns):
        first = f'<th scope="row">{escape(cells[0])}</th>'
        rest = "".join(f'<td class="{kind}">{hanging(text)}</td>' for text, kind in zip(cells[1:], classes[1:]))
        rows.append(f"<tr>{first}{rest}</tr>")
    return Section(
        title, note, scrolling(f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>")
    )


def looks_numeric(cells: list[str]) -> bool:
    """Whether most of a column's cells begin like numbers, marks and intervals after them or not."""
    said = [cell for cell in cells if cell not in ("", MISSING)]
    return 2 * sum(bool(re.match(r"[-−+<>~]?\s?[\d.]", cell)) for cell in said) >= len(said)


def hanging(text: str) -> str:
    """A cell whose last mark does not push its digits out of their column."""
    return f'{escape(text[:-1])}<span class="mark">{SEEN}</span>' if text.endswith(SEEN) else escape(text)


def breakable(name: str) -> str:
    """A name that may be broken after its underscores, for narrow columns."""
    return escape(name).replace("_", "_<wbr>")


def scrolling(html: str) -> str:
    return f'<div class="scroll" tabindex="0">{html}</div>'


def image(svg: str, alt: str, caption: str = "", kind: str = "") -> str:
    """A figure that holds its picture."""
    data = base64.b64encode(svg.encode()).decode()
    below = f"<figcaption>{caption}</figcaption>" if caption else ""
    picture = f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(alt)}">'
    return f'<figure class="{kind}">{below}{picture}</figure>'


def listed(names: list[str]) -> str:
    """Names in a sentence, escaped: a, b and c."""
    names = [f"<b>{escape(name)}</b>" for name in names]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else ""


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


@dataclasses.dataclass(frozen=True)
class Section:
    """A heading, how to read what follows, and what follows."""

    title: str
    note: str
    body: str
    rich: bool = False
    """Whether the note is HTML already."""


@dataclasses.dataclass(frozen=True)
class Page:
    """The sections that are drawn from the figures themselves."""

    charts: Any
    metrics: pd.DataFrame
    answers: Answers
    models: list[str]
    pens: dict[str, Any]
    spotlight: str | None

    def summary(self) -> str:
        """What was compared, and what a reader must know of it."""
        metrics = self.metrics
        sentences = [
            f"{plural(metrics['model'].nunique(), 'model')} on {plural(metrics['dataset'].nunique(), 'data set')}."
        ]
        samples = metrics[metrics["series"] < metrics["population"]].drop_duplicates("dataset")
        if len(samples):
            said = [
                f"<b>{escape(r.dataset)}</b> ({r.series:,.0f} of {r.population:,.0f} series)"
                for r in samples.itertuples()
            ]
            sentences.append(f"Samples, not whole data sets: {', '.join(said)}.")
        if metrics["seen"].eq(True).any():
            seen = list(dict.fromkeys(metrics.loc[metrics["seen"].eq(True), "model"]))
            sentences.append(
                f"{SEEN} marks data sets that a model saw in training: its scores there are not "
                f"zero-shot. This concerns {listed(seen)}."
            )
        committed = metrics[metrics["source"] == "committed"]
        if len(committed):
            sentences.append(
                f"Figures of {listed(list(dict.fromkeys(committed['model'])))} come, for "
                f"{plural(committed['dataset'].nunique(), 'data set')}, from committed results."
            )
        return " ".join(sentences)

    def legend(self, models: list[str]) -> str:
        """The models with the lines that stand for them."""
        items = []
        for model in models:
            pen, weight = self.pens[model], 4 if model == self.spotlight else 2
            line = f'<i style="border-top:{weight}px {pen.dash} var(--{pen.variable})"></i>'
            items.append(f"<li>{line}{escape(model)}</li>")
        return f'<ul class="legend">{"".join(items)}</ul>'

    def relative_section(self) -> Section:
        """Relative scores as a heat map, which is a table so that it can be searched and copied."""
        title = "Accuracy by data set"
        relative, references = relative_scores(self.metrics)
        rows = self.metrics.set_index(["dataset", "model"])
        main = references.mode().iloc[0] if len(references) else ""
        body = []
        for name, scores in relative.iterrows():
            cells = [
                heat_cell(score, rows.loc[(name, model)] if (name, model) in rows.index else None, name, model)
                for model, score in scores.items()
            ]
            other = f" <small>to {escape(references[name] or 'the best')}</small>" if references[name] != main else ""
            body.append(f'<tr><th scope="row">{escape(name)}{other}</th>{"".join(cells)}</tr>')
        common = common_scores(relative)
        means = geometric_mean(common).reindex(relative.columns)
        last = "".join(heat_cell(score, None, "geometric mean", model) for model, score in means.items())
        foot = f'<tr><th scope="row">geometric mean</th>{last}</tr>'
        head = "".join(f'<th scope="col">{breakable(model)}</th>' for model in relative.columns)
        table = (
            f'<table class="heat" style="min-width:{190 + 76 * len(means)}px"><thead><tr><td></td>{head}</tr></thead>'
            f"<tbody>{''.join(body)}</tbody><tfoot>{foot}</tfoot></table>"
        )
        note = (
            f"sCRPS divided by that of {f'<b>{main}</b>' if main else 'the best model'} on the same data set: below 1 "
            f"(blue) is better, above 1 (orange) is worse. {SEEN} marks data sets seen in training; grey cells have "
            f"no score. The last row is over the {plural(len(common), 'data set')} that all models have."
        )
        scale = '<p class="scale"><span>½ and less</span><i></i><span>2 and more</span></p>'
        return Section(title, note, scrolling(table) + scale, rich=True)

    def time_section(self) -> Section:
        title = "Accuracy against time"
        relative, references = relative_scores(self.metrics)
        common = common_scores(relative)
        if common.empty:
            return Section(title, "This is empty, because no data set has a score of every model.", "")
        points = pd.DataFrame(
            {"score": geometric_mean(common), "seconds": seconds_per_thousand(self.metrics, common.index)}
        )
        points = points.reindex(common.columns).replace([np.inf, 0], np.nan)
        untimed = list(points.index[points.isna().any(axis=1)])
        points = points.dropna()
        if points.empty:
            return Section(
                title, "This is empty, because no model was timed on all data sets that the models share.", ""
            )
        known = self.metrics[self.metrics["dataset"].isin(common.index) & self.metrics["seen"].eq(True)]
        points["label"] = [f"{model} {SEEN}" if model in set(known["model"]) else model for model in points.index]
        used = set(references[common.index])
        to = f"to {used.pop() or 'the best'}" if len(used) == 1 else "to the reference"
        svg = self.charts.draw_accuracy_against_time(points, self.pens, f"sCRPS relative {to} (geometric mean)")
        note = (
            f"Lower is better and left is faster, over the {plural(len(common), 'data set')} that all models have. "
            "No model is both faster and better than one on the dotted line."
        )
        if len(known):
            note += f" {SEEN} saw some of these data sets in training."
        if untimed:
            note += f" Without a time on all of them, and so not here: {listed(untimed)}."
        said = "; ".join(f"{p.label}: {p.score:.3f} at {p.seconds:.3g} s" for p in points.itertuples())
        return Section(
            title,
            note,
            scrolling(image(svg, f"Relative sCRPS and seconds per 1000 series. {said}", kind="wide")),
            rich=True,
        )

    def coverage_section(self) -> Section:
        title = "Coverage"
        coverages = mean_coverages(self.metrics)
        if coverages.empty:
            return Section(title, "This is empty, because no model has its coverage at all levels.", "")
        note = (
            "How much of the truth the central intervals hold, over each model's data sets, weighted by their series. "
            "On the grey line intervals keep their promise, below it they are too narrow; the second chart shows the "
            "distance to it."
        )
        said = "; ".join(f"{m}: {', '.join(f'{100 * v:.0f}' for v in row)}" for m, row in coverages.iterrows())
        alts = (
            f"Coverage in per cent at {', '.join(map(str, INTERVALS))}. {said}",
            "Coverage minus its nominal level.",
        )
        drawn = [
            image(self.charts.draw_coverage(coverages, self.pens, self.spotlight, difference), alt)
            for difference, alt in zip((False, True), alts)
        ]
        return Section(title, note, self.legend(list(coverages.index)) + f'<div class="pair">{"".join(drawn)}</div>')

    def step_section(self) -> Section:
        title = "Error by step of the horizon"
        panels: dict[str, dict[str, np.ndarray]] = {}
        counts: dict[str, int] = {}
        scales = cached_scales()
        for name in self.metrics["dataset"].unique():
            for model in self.models:
                if (name, model) in self.answers:
                    dataset, forecasts = self.answers[name, model]
                    errors = step_errors(dataset, forecasts, scales(dataset))
                    if np.isfinite(errors).all():
                        panels.setdefault(name, {})[model] = errors
                        counts[name] = len(dataset)
        if not panels:
            return Section(title, "This is empty, because no forecasts are at hand, only their scores.", "")
        note = (
            "The mean over series of |y − f| divided by the error of the seasonal naive forecast within the history, "
            "at each step ahead. Lower is better; the lines of models whose forecasts are not at hand are left out."
        )
        drawn = []
        for name, errors in panels.items():
            said = "; ".join(f"{model}: {error[0]:.2f} to {error[-1]:.2f}" for model, error in errors.items())
            svg = self.charts.draw_step_errors(errors, self.pens, self.spotlight)
            caption = f"<b>{escape(name)}</b> {counts[name]:,} series"
            drawn.append(image(svg, f"Scaled error on {name}, first to last step. {said}", caption))
        here = [model for model in self.models if any(model in errors for errors in panels.values())]
        return Section(title, note, self.legend(here) + f'<div class="grid">{"".join(drawn)}</div>')

    def example_section(self) -> Section:
        title = "The best and the worst series"
        scales = cached_scales()
        found = []
        for (name, model), (dataset, forecasts) in self.answers.items():
            if model == self.spotlight:
                scores = series_scores(dataset, forecasts, scales(dataset))
                found += [(scores[i], name, i) for i in np.flatnonzero(np.isfinite(scores))]
        if not found:
            whose = f"of {self.spotlight} " if self.spotlight else ""
            return Section(title, f"This is empty, because no forecasts {whose}are at hand, only scores.", "")
        found.sort()
        half = min(EXAMPLES, (len(found) + 1) // 2)
        best, worst = found[:half], found[half:][-EXAMPLES:][::-1]
        note = (
            f"Forecasts of {self.spotlight}: the end of the history in grey, the truth that follows it, and in colour "
            "the point forecast with its 80 % and 95 % intervals. The score is the series' CRPS divided by the error "
            "of the seasonal naive forecast within the history; steps are counted from its end."
        )
        body = ""
        for heading, chosen in (("Best", best), ("Worst", worst)):
            drawn = "".join(self.example(*one) for one in chosen)
            body += f'<h3>{heading}</h3><div class="grid">{drawn}</div>' if drawn else ""
        return Section(title, note, body)

    def example(self, score: float, name: str, i: int) -> str:
        """One series with its forecast."""
        dataset, forecasts = self.answers[name, self.spotlight]
        shown = max(4 * dataset.info.horizon, 2 * dataset.info.season)
        svg = self.charts.draw_forecast(
            dataset.histories[i][-shown:],
            dataset.future[i],
            forecasts.point[i],
            forecasts.quantiles[i],
            self.pens[self.spotlight],
        )
        caption = f"<b>{escape(name)}</b> {escape(str(dataset.ids[i]))} · {score:.3f}"
        return image(
            svg, f"Series {dataset.ids[i]} of {name} with the forecast of {self.spotlight}, score {score:.3f}", caption
        )


def cached_scales() -> Callable[[Dataset], np.ndarray]:
    """naive_scales that computes each data set once, for several models answer the same one."""
    known: dict[int, np.ndarray] = {}

    def scales(dataset: Dataset) -> np.ndarray:
        if id(dataset) not in known:
            known[id(dataset)] = naive_scales(dataset)
        return known[id(dataset)]

    return scales


def heat_cell(score: float, row: pd.Series | None, dataset: str, model: str) -> str:
    """A cell of the heat map: as strong at half as at twice the reference, and no stronger beyond."""
    said = f"{dataset}, {model}"
    if not math.isfinite(score):
        return f'<td class="missing" title="{escape(said)}: no score">{MISSING}</td>'
    strength = min(abs(math.log2(score)), 1.0) if score > 0 else 1.0
    hue = "20 110 190" if score < 1 else "225 95 10"
    if row is not None:
        said += f": sCRPS {row['scrps']:.4f}"
        bounds = [row.get(f"scrps_{side}", math.nan) for side in ("lo", "hi")]
        if np.isfinite(np.array(bounds, float)).all():
            said += f" (95 %: {bounds[0]:.4f} to {bounds[1]:.4f})"
        said += f", {row['series']:,.0f} of {row['population']:,.0f} series"
        said += ", committed result" if row["source"] == "committed" else ""
    mark = SEEN if row is not None and row["seen"] == True else ""  # noqa: E712 (it may be a NumPy bool or missing)
    background = f"rgb({hue} / {0.68 * strength:.2f})"
    return f'<td style="background:{background}" title="{escape(said)}">{hanging(f"{score:.2f}" + mark)}</td>'


def document(summary: str, sections: list[Section], theme: str) -> str:
    """The page."""
    contents, body = [], []
    for i, section in enumerate(sections, start=1):
        contents.append(f'<li><a href="#s{i}">{escape(section.title)}</a></li>')
        note = section.note if section.rich else escape(section.note)
        body.append(f'<section id="s{i}"><h2>{escape(section.title)}</h2><p>{note}</p>{section.body}</section>')
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<title>fimjax benchmark</title>\n'
        f"<style>{theme}{STYLE}</style>\n</head>\n<body>\n<header><h1>fimjax benchmark</h1><p>{summary}</p>"
        f"<nav><ol>{''.join(contents)}</ol></nav></header>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


STYLE = """
:root{color-scheme:light dark;--page:#f6f8fa;--card:#fff;--link:#0969da;--grey:#e4e8ec}
@media (prefers-color-scheme:dark){:root{--page:#0d1117;--card:#161b22;--link:#58a6ff;--grey:#2b313a}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
header,main{max-width:1180px;margin:0 auto;padding:0 20px}
header{padding-top:36px}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .4em;letter-spacing:-.02em}
h2{font-size:1.25rem;margin:0 0 .3em;letter-spacing:-.01em}
h3{font-size:.95rem;margin:1.2em 0 .5em}
p{margin:0 0 1em;max-width:78ch}
header p,section>p{color:var(--faint)}
header p b,section>p b{color:var(--ink);font-weight:600}
nav ol{list-style:none;display:flex;flex-wrap:wrap;gap:.2em 1.4em;margin:0;padding:0;font-size:.9rem}
a{color:var(--link);text-decoration:none}
a:hover{text-decoration:underline}
section{background:var(--card);border:1px solid var(--rule);border-radius:10px;padding:22px 24px;margin:20px 0}
.scroll{overflow-x:auto;max-width:100%}
table{border-collapse:separate;border-spacing:0;font-size:.86rem;font-variant-numeric:tabular-nums}
th,td{padding:.38em .8em;text-align:left;border-bottom:1px solid var(--rule);white-space:nowrap}
thead th{color:var(--faint);font-weight:600;vertical-align:bottom;border-bottom-color:var(--faint)}
th[scope=row],thead tr>:first-child{position:sticky;left:0;background:var(--card);z-index:1}
th[scope=row]{font-weight:500}
.number{text-align:right}
.mark{display:inline-block;width:0}
tbody tr:hover>td{background:var(--page)}
.heat{border-spacing:2px;width:100%;table-layout:fixed}
.heat thead td{width:190px}
.heat th,.heat td{border:0}
.heat thead th{white-space:normal;text-align:center;font-size:.78rem;line-height:1.25;padding:.3em .1em}
.heat td{text-align:center;padding:.36em .3em;border-radius:3px}
.heat tfoot th,.heat tfoot td{font-weight:650}
.heat small{color:var(--faint);font-weight:400}
td.missing{background:var(--grey);color:var(--faint)}
.scale{display:flex;gap:.7em;align-items:center;margin:.9em 0 0;font-size:.8rem;color:var(--faint)}
.scale i{width:180px;height:.8em;border-radius:3px;
background:linear-gradient(90deg,rgb(20 110 190/.68),rgb(20 110 190/0) 50%,rgb(225 95 10/0) 50%,rgb(225 95 10/.68))}
figure{margin:0;min-width:0}
img{display:block;width:100%;height:auto}
.wide{min-width:620px;max-width:960px}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,380px),1fr));gap:20px}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,235px),1fr));gap:18px 20px}
figcaption{font-size:.8rem;color:var(--faint);overflow-wrap:anywhere;margin-bottom:.2em}
figcaption b{color:var(--ink);font-weight:600}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.25em 1.3em;margin:0 0 1em;padding:0;font-size:.86rem}
.legend i{display:inline-block;width:26px;margin-right:.5em;vertical-align:middle}
@media (max-width:640px){header,main{padding:0 12px}header{padding-top:22px}section{padding:16px 14px}
.grid{grid-template-columns:repeat(auto-fill,minmax(min(100%,200px),1fr))}}
@media print{body{background:#fff}section{break-inside:avoid-page;border:0;padding:0}}
"""
