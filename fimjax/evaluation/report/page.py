"""HTML of the report: sections, tables, images and the style sheet."""

import base64
import dataclasses
import math
import re
from html import escape
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fimjax.evaluation.published import BUNDLED_SCORES
from fimjax.evaluation.report.tables import FLAG

if TYPE_CHECKING:
    from fimjax.evaluation.report.charts import LineStyle  # needs matplotlib

MISSING = "–"
"""Replaces a missing number."""


@dataclasses.dataclass(frozen=True)
class Section:
    """A section: heading, a note on how to read it, and its HTML."""

    title: str
    note: str
    body: str
    note_is_html: bool = False


def format_cell(value: Any) -> str:
    """Formats a cell of a table."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if value is None or value is pd.NA or (isinstance(value, Real) and math.isnan(value)):
        return MISSING
    if isinstance(value, Integral):
        return f"{value:,}"
    return f"{value:z,.3f}" if isinstance(value, Real) else str(value)


def table_section(title: str, note: str, frame: pd.DataFrame) -> Section:
    """Converts a frame to a table; an index other than a range becomes its first columns."""
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index(names=[name or "" for name in frame.index.names])
    columns = [[format_cell(value) for value in frame.iloc[:, i]] for i in range(frame.shape[1])]
    classes = ["number" if i and _looks_numeric(column) else "" for i, column in enumerate(columns)]
    heads = [" ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]
    head = "".join(f'<th scope="col" class="{kind}">{breakable(text)}</th>' for text, kind in zip(heads, classes))
    rows = []
    for cells in zip(*columns):
        first = f'<th scope="row">{escape(cells[0])}</th>'
        rest = "".join(f'<td class="{kind}">{_escape_cell(text)}</td>' for text, kind in zip(cells[1:], classes[1:]))
        rows.append(f"<tr>{first}{rest}</tr>")
    return Section(
        title, note, scrolling(f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>")
    )


def _looks_numeric(cells: list[str]) -> bool:
    """Whether most cells of a column start with a number; marks and intervals may follow."""
    filled = [cell for cell in cells if cell not in ("", MISSING)]
    return 2 * sum(bool(re.match(r"[-−+<>~]?\s?[\d.]", cell)) for cell in filled) >= len(filled)


def _escape_cell(text: str) -> str:
    """Escapes a cell; a flag at its end takes no width, so digits stay aligned."""
    return f'{escape(text[:-1])}<span class="mark">{FLAG}</span>' if text.endswith(FLAG) else escape(text)


def breakable(name: str) -> str:
    """Escapes a name and allows line breaks after underscores, for narrow columns."""
    return escape(name).replace("_", "_<wbr>")


def scrolling(html: str) -> str:
    return f'<div class="scroll" tabindex="0">{html}</div>'


def image(svg: str, alt: str, caption: str = "", kind: str = "") -> str:
    """An HTML figure with the image inline."""
    data = base64.b64encode(svg.encode()).decode()
    below = f"<figcaption>{caption}</figcaption>" if caption else ""
    inline = f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(alt)}">'
    return f'<figure class="{kind}">{below}{inline}</figure>'


def join_names(names: list[str]) -> str:
    """Joins names as HTML: a, b and c."""
    names = [f"<b>{escape(name)}</b>" for name in names]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else ""


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def legend(models: list[str], styles: "dict[str, LineStyle]", bold: str | None) -> str:
    """Legend of the charts' lines."""
    items = []
    for model in models:
        style, weight = styles[model], 4 if model == bold else 2
        line = f'<i style="border-top:{weight}px {style.dash} var(--{style.variable})"></i>'
        items.append(f"<li>{line}{escape(model)}</li>")
    return f'<ul class="legend">{"".join(items)}</ul>'


def heat_cell(score: float, row: pd.Series | None, dataset: str, model: str) -> str:
    """Cell of the heat map; its colour saturates at half and at twice the reference."""
    title = f"{dataset}, {model}"
    if not math.isfinite(score):
        return f'<td class="missing" title="{escape(title)}: no score">{MISSING}</td>'
    strength = min(abs(math.log2(score)), 1.0) if score > 0 else 1.0
    hue = "20 110 190" if score < 1 else "225 95 10"
    if row is not None:
        title += f": sCRPS {row['scrps']:.4f}"
        bounds = [row.get(f"scrps_{side}", math.nan) for side in ("lo", "hi")]
        if np.isfinite(np.array(bounds, float)).all():
            title += f" (95 %: {bounds[0]:.4f} to {bounds[1]:.4f})"
        title += f", {row['series']:,.0f} of {row['population']:,.0f} series"
        title += ", bundled score" if row["source"].startswith(BUNDLED_SCORES) else ""
    mark = FLAG if row is not None and row["trained_on"] == True else ""  # noqa: E712 (it may be a NumPy bool or missing)
    background = f"rgb({hue} / {0.68 * strength:.2f})"
    return f'<td style="background:{background}" title="{escape(title)}">{_escape_cell(f"{score:.2f}" + mark)}</td>'


def document(summary: str, sections: list[Section], theme: str) -> str:
    """The whole page."""
    contents, body = [], []
    for i, section in enumerate(sections, start=1):
        contents.append(f'<li><a href="#s{i}">{escape(section.title)}</a></li>')
        note = section.note if section.note_is_html else escape(section.note)
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
thead th{color:var(--faint);font-weight:600;vertical-align:bottom;border-bottom-color:var(--faint);white-space:normal;
line-height:1.3}
th[scope=row],thead tr>:first-child{position:sticky;left:0;background:var(--card);z-index:1}
th[scope=row]{font-weight:500;white-space:normal;line-height:1.3;min-width:11em}
.number{text-align:right}
.mark{display:inline-block;width:0}
tbody tr:hover>td{background:var(--page)}
.heat{border-spacing:2px;width:100%;table-layout:fixed}
.heat thead td{width:190px}
.heat th,.heat td{border:0}
.heat thead th{text-align:center;font-size:.78rem;line-height:1.25;padding:.3em .1em}
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
th[scope=row]{min-width:0}
.grid{grid-template-columns:repeat(auto-fill,minmax(min(100%,200px),1fr))}}
@media print{body{background:#fff}section{break-inside:avoid-page;border:0;padding:0}}
"""
