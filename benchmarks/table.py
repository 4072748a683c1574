"""Results as Markdown tables."""

import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.peers import LABELS
from benchmarks.series import GROUPS, M4_SERIES, counts

MISSING = "not installed: pip install 'fimjax[bench]'"
MEGABYTE = 10**6


def series_per_second(seconds: dict[str, float], series: int) -> float:
    """Speed on all of M4, extrapolated from the seconds for each frequency of a smaller batch.

    Each frequency counts by its share in M4, because small batches have too many series of rare frequencies.
    """
    sizes = counts(series)
    return M4_SERIES / sum(group.series * seconds[group.name] / sizes[group.name] for group in GROUPS)


def spread(values: Sequence[float], digits: int = 1) -> str:
    """The median with the lowest and the highest value."""
    middle, least, most = (f"{x:,.{digits}f}" for x in (statistics.median(values), min(values), max(values)))
    return f"{middle} ({least} to {most})"


def first_table(results: dict[str, Any]) -> str:
    rows = [
        [name, *(spread(of["first"][cache], 2) if "first" in of else "-" for cache in ("fresh", "warm"))]
        for name, of in _models(results)
    ]
    return layout(["seconds to the first forecast", "fresh cache", "warm cache"], _mark_missing(rows, results))


def speed_table(results: dict[str, Any]) -> str:
    rows = []
    for name, of in _models(results):
        if "speed" not in of:
            rows.append([name, *["-"] * (2 + len(GROUPS))])
            continue
        size, runs = of["speed"]["series"], of["speed"]["seconds"]
        middle = {group.name: statistics.median(run[group.name] for run in runs) for group in GROUPS}
        parts = [f"{n / middle[group]:,.1f}" for group, n in counts(size).items()]
        rows.append([name, f"{size:,}", spread([series_per_second(run, size) for run in runs]), *parts])
    head = ["series per second", "measured on", "M4 as a whole", *(group.name for group in GROUPS)]
    return layout(head, _mark_missing(rows, results))


def memory_table(results: dict[str, Any]) -> str:
    rows = []
    for name, of in _models(results):
        sizes = of.get("memory") or {"-": {}}
        least = next(iter(sizes.values())).get("rest")
        for size, found in sizes.items():
            cells = [_megabytes(found.get(part)) for part in ("peak", "input", "output", "rest")]
            ratio = f"{found['rest'] / least:.2f}" if least and "rest" in found else "-"
            rows.append([name, f"{int(size):,}" if size != "-" else "-", *cells, found.get("left_out", ratio)])
    head = ["memory in MB", "series", "peak", "input", "output", "rest", "rest, relative to the first"]
    return layout(head, _mark_missing(rows, results))


def tables(results: dict[str, Any]) -> str:
    """All tables, with machine and versions."""
    machine = results["machine"]
    facts = [f"{machine['cores']} cores ({machine['processor']})", f"load average {machine['load']}"]
    facts += [f"{package} {version}" for package, version in machine["versions"].items()]
    notes = [f"{LABELS[name]}: {of['note']}" for name, of in results["models"].items() if "note" in of]
    parts = [first_table(results), speed_table(results), memory_table(results)]
    return "\n\n".join([", ".join(facts), *parts, "\n".join(notes)]).strip()


def _models(results: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(LABELS[name], of) for name, of in results["models"].items()]


def _megabytes(size: int | None) -> str:
    return "-" if size is None else f"{size / MEGABYTE:,.0f}"


def _mark_missing(rows: list[list[str]], results: dict[str, Any]) -> list[list[str]]:
    """Says in the row of a model that is not installed how to install it."""
    missing = {LABELS[name] for name, of in results["models"].items() if of.get("missing")}
    return [[row[0], MISSING, *row[2:]] if row[0] in missing else row for row in rows]


def layout(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table with aligned columns."""
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    cells = [[head[0].ljust(widths[0]), *map(str.rjust, head[1:], widths[1:])]]
    cells.append(["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])])
    cells += [[row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)
