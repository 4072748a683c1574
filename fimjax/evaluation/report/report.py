"""The benchmark's report: one HTML file that needs nothing else."""

import dataclasses
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fimjax.errors import EvaluationError
from fimjax.evaluation.datasets.dataset import Dataset
from fimjax.evaluation.forecasts import INTERVALS, Forecasts
from fimjax.evaluation.metrics import geometric_mean, naive_scales
from fimjax.evaluation.published import COMMITTED
from fimjax.evaluation.report.figures import (
    common_scores,
    mean_coverages,
    relative_scores,
    seconds_per_thousand,
    series_scores,
    step_errors,
)
from fimjax.evaluation.report.page import (
    Section,
    breakable,
    document,
    heat_cell,
    image,
    legend,
    listed,
    plural,
    scrolling,
    table_section,
)
from fimjax.evaluation.report.tables import FLAG
from fimjax.files import replacing

Answers = dict[tuple[str, str], tuple[Dataset, Forecasts]]
"""Forecasts at hand, by data set and model."""

NEEDED = ("dataset", "model", "seen", "series", "population", "scrps", "cpu_seconds", "source") + tuple(
    f"coverage_{interval}" for interval in INTERVALS
)

EXAMPLES = 4
"""How many of the best and of the worst series are drawn."""


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
        from fimjax.evaluation.report import charts
    except ImportError as error:
        raise EvaluationError(f"the report needs matplotlib ({error}): pip install 'fimjax[plot]'") from error
    check(metrics, answers)
    models = list(dict.fromkeys([*metrics["model"], *(model for _, model in answers)]))
    if spotlight is None:
        spotlight = next((model for _, model in answers), None)
    report = Report(charts, metrics, answers, models, charts.choose_pens(models), spotlight)
    sections = [table_section(title, note, frame) for title, note, frame in tables]
    sections += [report.relative_section(), report.time_section(), report.coverage_section()]
    sections += [report.step_section(), report.example_section()]
    with replacing(path) as scratch:
        scratch.write_text(document(report.summary(), sections, charts.theme_css()), encoding="utf-8")


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


@dataclasses.dataclass(frozen=True)
class Report:
    """What is reported, and the sections that are drawn from it."""

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
                f"{FLAG} marks data sets that a model saw in training: its scores there are not "
                f"zero-shot. This concerns {listed(seen)}."
            )
        committed = metrics[metrics["source"].str.startswith(COMMITTED)]
        if len(committed):
            sentences.append(
                f"Figures of {listed(list(dict.fromkeys(committed['model'])))} come, for "
                f"{plural(committed['dataset'].nunique(), 'data set')}, from committed results."
            )
        return " ".join(sentences)

    @cached_property
    def scales(self) -> dict[int, np.ndarray]:
        """naive_scales by the id() of a data set: once for all the models that answer it."""
        datasets = {id(dataset): dataset for dataset, _ in self.answers.values()}
        return {key: naive_scales(dataset.histories, dataset.info.season) for key, dataset in datasets.items()}

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
        means = geometric_mean(common, axis=0).reindex(relative.columns)
        last = "".join(heat_cell(score, None, "geometric mean", model) for model, score in means.items())
        foot = f'<tr><th scope="row">geometric mean</th>{last}</tr>'
        head = "".join(f'<th scope="col">{breakable(model)}</th>' for model in relative.columns)
        table = (
            f'<table class="heat" style="min-width:{190 + 76 * len(means)}px"><thead><tr><td></td>{head}</tr></thead>'
            f"<tbody>{''.join(body)}</tbody><tfoot>{foot}</tfoot></table>"
        )
        note = (
            f"sCRPS divided by that of {f'<b>{main}</b>' if main else 'the best model'} on the same data set: below 1 "
            f"(blue) is better, above 1 (orange) is worse. {FLAG} marks data sets seen in training; grey cells have "
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
            {"score": geometric_mean(common, axis=0), "seconds": seconds_per_thousand(self.metrics, common.index)}
        )
        points = points.reindex(common.columns).replace([np.inf, 0], np.nan)
        untimed = list(points.index[points.isna().any(axis=1)])
        points = points.dropna()
        if points.empty:
            return Section(
                title, "This is empty, because no model was timed on all data sets that the models share.", ""
            )
        known = self.metrics[self.metrics["dataset"].isin(common.index) & self.metrics["seen"].eq(True)]
        points["label"] = [f"{model} {FLAG}" if model in set(known["model"]) else model for model in points.index]
        used = set(references[common.index])
        to = f"to {used.pop() or 'the best'}" if len(used) == 1 else "to the reference"
        svg = self.charts.draw_accuracy_against_time(points, self.pens, f"sCRPS relative {to} (geometric mean)")
        note = (
            f"Lower is better and left is faster, over the {plural(len(common), 'data set')} that all models have. "
            "No model is both faster and better than one on the dotted line."
        )
        if len(known):
            note += f" {FLAG} saw some of these data sets in training."
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
        names = legend(list(coverages.index), self.pens, self.spotlight)
        return Section(title, note, names + f'<div class="pair">{"".join(drawn)}</div>')

    def step_section(self) -> Section:
        title = "Error by step of the horizon"
        panels: dict[str, dict[str, np.ndarray]] = {}
        counts: dict[str, int] = {}
        for name in self.metrics["dataset"].unique():
            for model in self.models:
                if (name, model) in self.answers:
                    dataset, forecasts = self.answers[name, model]
                    errors = step_errors(dataset, forecasts, self.scales[id(dataset)])
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
        names = legend(here, self.pens, self.spotlight)
        return Section(title, note, names + f'<div class="grid">{"".join(drawn)}</div>')

    def example_section(self) -> Section:
        title = "The best and the worst series"
        found = []
        for (name, model), (dataset, forecasts) in self.answers.items():
            if model == self.spotlight:
                scores = series_scores(dataset, forecasts, self.scales[id(dataset)])
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
