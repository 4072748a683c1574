"""The report's page: HTML of tables, pictures and sections, and the style sheet that goes with them."""

import base64
import dataclasses
import math
import re
from html import escape
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

from fimjax.evaluation.published import COMMITTED
from fimjax.evaluation.report.tables import FLAG

MISSING = "–"
"""Stands for a figure that is not there."""


@dataclasses.dataclass(frozen=True)
class Section:
    """A heading, how to read what follows, and what follows."""

    title: str
    note: str
    body: str
    rich: bool = False
    """Whether the note is HTML already."""


def number(value: Any) -> str:
    """A table's cell as text."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if value is None or value is pd.NA or (isinstance(value, Real) and math.isnan(value)):
        return MISSING
    if isinstance(value, Integral):
        return f"{value:,}"
    return f"{value:z,.3f}" if isinstance(value, Real) else str(value)


def table_section(title: str, note: str, frame: pd.DataFrame) -> Section:
    """A frame as a table; an index that is more than a count becomes its first columns."""
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
    return f'{escape(text[:-1])}<span class="mark">{FLAG}</span>' if text.endswith(FLAG) else escape(text)


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


def legend(models: list[str], pens: dict[str, Any], bold: str | None) -> str:
    """Models with the lines that stand for them."""
    items = []
    for model in models:
        pen, weight = pens[model], 4 if model == bold else 2
        line = f'<i style="border-top:{weight}px {pen.dash} var(--{pen.variable})"></i>'
        items.append(f"<li>{line}{escape(model)}</li>")
    return f'<ul class="legend">{"".join(items)}</ul>'


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
        said += ", committed result" if row["source"].startswith(COMMITTED) else ""
    mark = FLAG if row is not None and row["seen"] == True else ""  # noqa: E712 (it may be a NumPy bool or missing)
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
