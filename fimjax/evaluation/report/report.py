"""Writes the report of a run: one self-contained HTML file."""

import dataclasses
from functools import cached_property
from html import escape
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fimjax.errors import EvaluationError
from fimjax.evaluation.forecasts import INTERVALS, AllForecasts
from fimjax.evaluation.metrics import geometric_mean, naive_scales
from fimjax.evaluation.published import BUNDLED_SCORES
from fimjax.evaluation.report.chart_data import (
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
    join_names,
    legend,
    plural,
    scrolling,
    table_section,
)
from fimjax.evaluation.report.tables import FLAG
from fimjax.files import replacing

if TYPE_CHECKING:
    from fimjax.evaluation.report.charts import LineStyle  # needs matplotlib

REQUIRED_COLUMNS = ("dataset", "model", "trained_on", "series", "population", "scrps", "cpu_seconds", "source") + tuple(
    f"coverage_{interval}" for interval in INTERVALS
)

EXAMPLES = 4
"""Number of best and of worst series in the report."""


def write_report(
    metrics: pd.DataFrame,
    all_forecasts: AllForecasts,
    tables: list[tuple[str, str, pd.DataFrame]],
    path: Path,
    highlight: str | None = None,
) -> None:
    """Writes the report atomically.

    Args:
        metrics: one row per data set and model; both are shown in order of first appearance.
        all_forecasts: forecasts for the charts that need them.
        tables: title, note on how to read it, and cells. Floats are shown with three decimals, NaN as a dash.
        path: of the HTML file.
        highlight: the model with thicker lines and example forecasts; by default the first in `all_forecasts`.
    """
    try:
        from fimjax.evaluation.report import charts
    except ImportError as error:
        raise EvaluationError(f"the report needs matplotlib ({error}): pip install 'fimjax[plot]'") from error
    _check(metrics, all_forecasts)
    models = list(dict.fromkeys([*metrics["model"], *(model for _, model in all_forecasts)]))
    if highlight is None:
        highlight = next((model for _, model in all_forecasts), None)
    report = Report(charts, metrics, all_forecasts, models, charts.choose_styles(models), highlight)
    sections = [table_section(title, note, frame) for title, note, frame in tables]
    sections += [report.relative_section(), report.time_section(), report.coverage_section()]
    sections += [report.step_section(), report.example_section()]
    with replacing(path) as scratch:
        scratch.write_text(document(report.summary(), sections, charts.theme_css()), encoding="utf-8")


def _check(metrics: pd.DataFrame, all_forecasts: AllForecasts) -> None:
    """Rejects incomplete or duplicate metrics, and forecasts that do not match the series of their data set."""
    absent = [column for column in REQUIRED_COLUMNS if column not in metrics.columns]
    if absent:
        raise EvaluationError(f"report: the metrics have no column {absent[0]!r}")
    duplicates = metrics[metrics.duplicated(["dataset", "model"])]
    if len(duplicates):
        model, dataset = duplicates[["model", "dataset"]].iloc[0]
        raise EvaluationError(f"report: model {model} is listed twice on {dataset}")
    for (name, model), (dataset, forecasts) in all_forecasts.items():
        if not np.array_equal(dataset.ids, forecasts.ids):
            raise EvaluationError(f"report: the forecasts of {model} do not have the series of {name} in their order")


@dataclasses.dataclass(frozen=True)
class Report:
    """The results of a run, and the report's sections about them."""

    charts: ModuleType
    """The module `charts`; it is imported late because it needs matplotlib."""
    metrics: pd.DataFrame
    all_forecasts: AllForecasts
    models: list[str]
    styles: "dict[str, LineStyle]"
    highlight: str | None

    def summary(self) -> str:
        """First paragraph: the size of the comparison, samples, training data and bundled scores."""
        metrics = self.metrics
        sentences = [
            f"{plural(metrics['model'].nunique(), 'model')} on {plural(metrics['dataset'].nunique(), 'data set')}."
        ]
        samples = metrics[metrics["series"] < metrics["population"]].drop_duplicates("dataset")
        if len(samples):
            names = [
                f"<b>{escape(r.dataset)}</b> ({r.series:,.0f} of {r.population:,.0f} series)"
                for r in samples.itertuples()
            ]
            sentences.append(f"Samples, not whole data sets: {', '.join(names)}.")
        if metrics["trained_on"].eq(True).any():
            trained = list(dict.fromkeys(metrics.loc[metrics["trained_on"].eq(True), "model"]))
            sentences.append(
                f"{FLAG} marks data sets that a model was trained on: its scores there are not "
                f"zero-shot. This concerns {join_names(trained)}."
            )
        bundled = metrics[metrics["source"].str.startswith(BUNDLED_SCORES)]
        if len(bundled):
            sentences.append(
                f"The scores of {join_names(list(dict.fromkeys(bundled['model'])))} on "
                f"{plural(bundled['dataset'].nunique(), 'data set')} are bundled ones."
            )
        return " ".join(sentences)

    @cached_property
    def scales(self) -> dict[int, np.ndarray]:
        """naive_scales by the id() of a data set, computed once for all models."""
        datasets = {id(dataset): dataset for dataset, _ in self.all_forecasts.values()}
        return {key: naive_scales(dataset.histories, dataset.info.season) for key, dataset in datasets.items()}

    def relative_section(self) -> Section:
        """Relative scores as a heat map. It is a table, so readers can search and copy it."""
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
            f"(blue) is better, above 1 (orange) is worse. {FLAG} marks data sets that a model was trained on; grey "
            f"cells have no score. The last row is the geometric mean over the "
            f"{plural(len(common), 'data set')} that all models have."
        )
        scale = '<p class="scale"><span>½ and less</span><i></i><span>2 and more</span></p>'
        return Section(title, note, scrolling(table) + scale, note_is_html=True)

    def time_section(self) -> Section:
        title = "Accuracy against time"
        relative, references = relative_scores(self.metrics)
        common = common_scores(relative)
        if common.empty:
            return Section(title, "This is empty because no data set has a score of every model.", "")
        points = pd.DataFrame(
            {"score": geometric_mean(common, axis=0), "seconds": seconds_per_thousand(self.metrics, common.index)}
        )
        points = points.reindex(common.columns).replace([np.inf, 0], np.nan)
        untimed = list(points.index[points.isna().any(axis=1)])
        points = points.dropna()
        if points.empty:
            return Section(
                title, "This is empty because no model was timed on all data sets that the models share.", ""
            )
        trained = self.metrics[self.metrics["dataset"].isin(common.index) & self.metrics["trained_on"].eq(True)]
        points["label"] = [f"{model} {FLAG}" if model in set(trained["model"]) else model for model in points.index]
        used = set(references[common.index])
        to = f"to {used.pop() or 'the best'}" if len(used) == 1 else "to the reference"
        svg = self.charts.draw_accuracy_against_time(points, self.styles, f"sCRPS relative {to} (geometric mean)")
        note = (
            f"Lower is better and left is faster, over the {plural(len(common), 'data set')} that all models have. "
            "No model is both faster and better than one on the dotted line."
        )
        if len(trained):
            note += f" {FLAG} marks models that were trained on some of these data sets."
        if untimed:
            note += f" Left out, because a time is missing: {join_names(untimed)}."
        text = "; ".join(f"{p.label}: {p.score:.3f} at {p.seconds:.3g} s" for p in points.itertuples())
        return Section(
            title,
            note,
            scrolling(image(svg, f"Relative sCRPS and seconds per 1000 series. {text}", kind="wide")),
            note_is_html=True,
        )

    def coverage_section(self) -> Section:
        title = "Coverage"
        coverages = mean_coverages(self.metrics)
        if coverages.empty:
            return Section(title, "This is empty because no model has its coverage at all levels.", "")
        note = (
            "The share of actual values inside the central intervals, over each model's data sets, weighted by series. "
            "On the grey line coverage is nominal; below it intervals are too narrow. The second chart shows the "
            "difference from it."
        )
        text = "; ".join(f"{m}: {', '.join(f'{100 * v:.0f}' for v in row)}" for m, row in coverages.iterrows())
        alts = (
            f"Coverage in per cent at {', '.join(map(str, INTERVALS))}. {text}",
            "Coverage minus its nominal level.",
        )
        drawn = [
            image(self.charts.draw_coverage(coverages, self.styles, self.highlight, difference), alt)
            for difference, alt in zip((False, True), alts)
        ]
        names = legend(list(coverages.index), self.styles, self.highlight)
        return Section(title, note, names + f'<div class="pair">{"".join(drawn)}</div>')

    def step_section(self) -> Section:
        title = "Error by step of the horizon"
        panels: dict[str, dict[str, np.ndarray]] = {}
        counts: dict[str, int] = {}
        for name in self.metrics["dataset"].unique():
            for model in self.models:
                if (name, model) in self.all_forecasts:
                    dataset, forecasts = self.all_forecasts[name, model]
                    errors = step_errors(dataset, forecasts, self.scales[id(dataset)])
                    if np.isfinite(errors).all():
                        panels.setdefault(name, {})[model] = errors
                        counts[name] = len(dataset)
        if not panels:
            return Section(title, "This is empty because there are only scores, no forecasts.", "")
        note = (
            "The mean over series of |y − f| divided by the error of the seasonal naive forecast within the history, "
            "at each step ahead. Lower is better. Models without forecasts (bundled scores) are left out."
        )
        drawn = []
        for name, panel in panels.items():
            text = "; ".join(f"{model}: {error[0]:.2f} to {error[-1]:.2f}" for model, error in panel.items())
            svg = self.charts.draw_step_errors(panel, self.styles, self.highlight)
            caption = f"<b>{escape(name)}</b> {counts[name]:,} series"
            drawn.append(image(svg, f"Scaled error on {name}, first to last step. {text}", caption))
        shown = [model for model in self.models if any(model in panel for panel in panels.values())]
        names = legend(shown, self.styles, self.highlight)
        return Section(title, note, names + f'<div class="grid">{"".join(drawn)}</div>')

    def example_section(self) -> Section:
        title = "The best and the worst series"
        found: list[tuple[float, str, int]] = []
        for (name, model), (dataset, forecasts) in self.all_forecasts.items():
            if model == self.highlight:
                scores = series_scores(dataset, forecasts, self.scales[id(dataset)])
                found += [(float(scores[i]), name, int(i)) for i in np.flatnonzero(np.isfinite(scores))]
        if not found:
            whose = f" of {self.highlight}" if self.highlight else ""
            return Section(title, f"This is empty because there are only scores, no forecasts{whose}.", "")
        found.sort()
        half = min(EXAMPLES, (len(found) + 1) // 2)
        best, worst = found[:half], found[half:][-EXAMPLES:][::-1]
        note = (
            f"Forecasts of {self.highlight}: the end of the history in grey, the actual values, and in colour "
            "the point forecast with its 80 % and 95 % intervals. The score is the CRPS of the series divided by the "
            "error of the seasonal naive forecast within the history; steps count from its end."
        )
        body = ""
        for heading, chosen in (("Best", best), ("Worst", worst)):
            drawn = "".join(self.example(*one) for one in chosen)
            body += f'<h3>{heading}</h3><div class="grid">{drawn}</div>' if drawn else ""
        return Section(title, note, body)

    def example(self, score: float, name: str, i: int) -> str:
        """Draws one series with its forecast."""
        assert self.highlight is not None
        dataset, forecasts = self.all_forecasts[name, self.highlight]
        shown = max(4 * dataset.info.horizon, 2 * dataset.info.season)
        svg = self.charts.draw_forecast(
            dataset.histories[i][-shown:],
            dataset.future[i],
            forecasts.point[i],
            forecasts.quantiles[i],
            self.styles[self.highlight],
        )
        caption = f"<b>{escape(name)}</b> {escape(str(dataset.ids[i]))} · {score:.3f}"
        return image(
            svg, f"Series {dataset.ids[i]} of {name} with the forecast of {self.highlight}, score {score:.3f}", caption
        )
