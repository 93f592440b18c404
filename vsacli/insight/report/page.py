"""The page: one HTML file with everything in it, that asks nothing of a network."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence

from vsacli._version import __version__
from vsacli.insight.report.cells import escaped
from vsacli.insight.report.facts import Histogram, Map, ReportFacts, Rows
from vsacli.insight.report.style import SCRIPT, STYLE
from vsacli.insight.report.svg import bars, edge_names, histogram, importance_bars, legend_mark, scale_marks, scatter

_NUMBER = re.compile(r"([+-]?[\d.,]+([eE][+-]?\d+)?%?)?")


def page(facts: ReportFacts) -> str:
    """The report as HTML; the same facts give the same text."""
    title = f"Labels of {facts.target} in {facts.table}"
    sections = [
        _filled(facts),
        _certainty(facts),
        _map(facts),
        _suggested(facts),
        _least_certain(facts),
        _importance(facts),
        _run(facts),
    ]
    told = [p.told for p in facts.map.points] if facts.map else []
    data = json.dumps(told, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c").replace(">", "\\u003e")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy()}">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escaped(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<header>\n"
        f"<h1>Labels of <bdi>{escaped(facts.target)}</bdi> in <bdi>{escaped(facts.table)}</bdi></h1>\n"
        f'<p class="lead">{escaped(facts.headline)}</p>\n</header>\n'
        + "".join(sections)
        + f"<footer>Written by vsa {escaped(__version__)}. Nothing in this page is loaded from elsewhere.</footer>\n"
        '</main>\n<div id="hover" hidden></div>\n'
        f'<script type="application/json" id="told">{data}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n'
    )


def _policy() -> str:
    """No request at all, and no style or script but the two that are here: what a cell says can never run."""

    def digest(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    return f"default-src 'none'; style-src 'sha256-{digest(STYLE)}'; script-src 'sha256-{digest(SCRIPT)}'"


def _section(name: str, title: str, *parts: str, whole: bool = False) -> str:
    """A part of the page; a `whole` one stays on one sheet of paper."""
    kind = ' class="whole"' if whole else ""
    return (
        f'<section{kind} aria-labelledby="{name}">\n<h2 id="{name}">{title}</h2>\n'
        + "\n".join(parts)
        + "\n</section>\n"
    )


def _filled(facts: ReportFacts) -> str:
    if facts.balance is not None:
        chart = bars(facts.balance, "Rows of each class, given and filled")
        table = _table(
            "Rows of each class",
            ["class", *(f"{name}" for name, _ in facts.balance.series)],
            [[name, *(f"{c[i]:,}" for _, c in facts.balance.series)] for i, name in enumerate(facts.balance.names)],
            numbers=range(1, 1 + len(facts.balance.series)),
        )
        assumed = len(facts.balance.series) > 2
        words = "Rows of each class among the labels that were given, and among those that were filled in."
        if assumed:
            words += " The third bar of a class shows all rows of the table, in the shares that --proportions gives."
        return _section(
            "filled", "What was filled", f"<p>{words}</p>", _key_of_bars(assumed), chart, _details(table), whole=True
        )
    if facts.numbers is not None:
        words = (
            "The numbers that were given (outline) and those that were filled in (bars), each as shares of their total."
        )
        chart = histogram(facts.numbers, "Given and filled numbers", facts.target)
        return _section(
            "filled", "What was filled", f"<p>{words}</p>", chart, _details(_bins(facts.numbers)), whole=True
        )
    return ""


def _key_of_bars(assumed: bool) -> str:
    swatch = (
        '<svg class="swatch" viewBox="0 0 14 10" aria-hidden="true">'
        '<rect class="{}" x="1" y="1" width="12" height="8"/></svg>'
    )
    return (
        f'<ul class="key"><li>{swatch.format("b0")} given: rows and their share of all given labels</li>'
        f"<li>{swatch.format('b1')} filled: rows and their share of all filled labels</li>"
        + (f"<li>{swatch.format('b2')} assumed: rows and their share of the table</li>" if assumed else "")
        + "</ul>"
    )


def _certainty(facts: ReportFacts) -> str:
    if facts.certainty is None:
        return ""
    if facts.kind == "classification":
        words = (
            "The confidence of each answer is the network's own estimate of the chance that it is right. "
            "On a table unlike those that it was trained on it can be too high: <code>vsa eval</code> checks it here."
        )
        axis = "confidence"
    else:
        words = (
            "The standard deviation of each answer, in the units of the numbers: about two of three true numbers "
            "should be nearer than that."
        )
        axis = "standard deviation"
    chart = histogram(facts.certainty, f"Answers by {axis}", axis)
    return _section("certainty", "How certain", f"<p>{words}</p>", chart, _details(_bins(facts.certainty)), whole=True)


def _map(facts: ReportFacts) -> str:
    if facts.map is None:
        return ""
    given = sum(p.labeled for p in facts.map.points)
    many = len(facts.map.points)
    words = (
        f"{many - given:,} answered and {given:,} labeled rows as the network places them (t-SNE of its embeddings). "
        "Rows near each other are similar to the network; distances between groups have no meaning. "
        "Labeled rows were read with their label, so they may lie apart from unlabeled rows of the same kind. "
        '<span class="pointing">Point at a row to read it.</span>'
    )
    chart = scatter(facts.map, f"Map of {many} rows by {facts.target}")
    return _section("map-of-rows", "Map of the rows", f"<p>{words}</p>", _key_of_map(facts.map), chart, whole=True)


def _key_of_map(data: Map) -> str:
    items = [f"<li>{legend_mark(i)} <bdi>{escaped(name)}</bdi></li>" for i, name in enumerate(data.names)]
    if data.ends is not None:
        items.append(f"<li>{escaped(data.ends[0])} {scale_marks()} {escaped(data.ends[1])}</li>")
    items.append(
        '<li><svg class="mark" viewBox="-8 -8 16 16" width="16" height="16" aria-hidden="true">'
        '<circle class="given b2" r="5.5"/></svg> large, outlined: label given</li>'
    )
    if any(p.suggested for p in data.points):
        items.append(
            '<li><svg class="mark next" viewBox="-11 -11 22 22" width="18" height="18" aria-hidden="true">'
            '<circle r="9"/></svg> numbered: to label next</li>'
        )
    return f'<ul class="key">{"".join(items)}</ul>'


def _suggested(facts: ReportFacts) -> str:
    if facts.suggested is None:
        return ""
    words = (
        "Labels for these rows would help most: together they stand for the rows about which the network is least "
        "certain, and they differ from one another. The answer for such a row may itself be certain. The numbers are "
        "those on the map."
    )
    rows = Rows(["", *facts.suggested.header], [[str(i + 1), *r] for i, r in enumerate(facts.suggested.cells)])
    return _section("next", "Which rows to label next", f"<p>{words}</p>", _rows(rows, "Rows to label next"))


def _least_certain(facts: ReportFacts) -> str:
    if facts.least_certain is None:
        return ""
    words = "Look here first for wrong answers. Rows are counted from 1, without the header."
    table = _rows(facts.least_certain, "The least certain answers")
    return _section("least", "The least certain answers", f"<p>{words}</p>", table)


def _importance(facts: ReportFacts) -> str:
    if not facts.importance:
        return ""
    classes = facts.kind == "classification"
    unit = (
        "the mean change of the probabilities (0: none, 1: all), and how many rows get another label"
        if classes
        else "the mean change of the numbers, in standard deviations of the answers"
    )
    words = (
        "The cells of one column at a time were shuffled among the answered rows of a sample, and the network "
        f"answered again. The bars show {unit}. They show what the answers depend on, not whether the answers are "
        "right, which cannot be measured with few labels. If several columns carry the same information, each may "
        "seem to matter little."
    )
    more = "" if len(facts.importance) < 20 else " Only the 20 columns by which the answers differ most were tried."
    chart = importance_bars(facts.importance, "How much the answers depend on each column", classes)
    header = ["column", "mean change", *(["other labels"] if classes else [])]
    cells = [[name, f"{change:.3f}", *([f"{rows:.1%}"] if classes else [])] for name, rows, change in facts.importance]
    table = _table("How much the answers depend on each column", header, cells, numbers=(1, 2))
    return _section(
        "columns", "Columns that the answers depend on", f"<p>{words}{more}</p>", chart, _details(table), whole=True
    )


def _run(facts: ReportFacts) -> str:
    items = "".join(f"<dt>{escaped(n)}</dt><dd><bdi>{escaped(v)}</bdi></dd>" for n, v in facts.summary)
    return _section("run", "The run", f"<dl>{items}</dl>")


def _rows(rows: Rows, caption: str) -> str:
    """Rows of the file; columns of numbers are set to the right."""
    columns = list(zip(*rows.cells, strict=True))
    numbers = [j for j, cells in enumerate(columns) if all(_NUMBER.fullmatch(c) for c in cells)]
    return _table(caption, rows.header, rows.cells, numbers=numbers)


def _bins(data: Histogram) -> str:
    names = edge_names(data.edges)
    rows = [
        [f"{names[i]} to {names[i + 1]}", *(f"{counts[i]:,}" for _, counts in data.series)]
        for i in range(len(names) - 1)
    ]
    return _table("Rows in each bin", ["from, to", *(n for n, _ in data.series)], rows, numbers=range(1, 3))


def _table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int]) -> str:
    """A table with header cells; the columns `numbers` are set to the right."""

    def side(j: int) -> str:
        return ' class="n"' if j in numbers else ""

    head = "".join(f'<th scope="col"{side(j)}><bdi>{_breakable(name)}</bdi></th>' for j, name in enumerate(header))
    body = "".join(
        "<tr>" + "".join(f"<td{side(j)}><bdi>{escaped(cell)}</bdi></td>" for j, cell in enumerate(row)) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escaped(caption)}"><table>'
        f"<caption>{escaped(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _breakable(name: str) -> str:
    """A name that may be broken into lines between its parts."""
    return "<wbr>".join(escaped(part) for part in re.split(r"(?<=[_/.:-])", name))


def _details(table: str) -> str:
    return f"<details><summary>As a table</summary>{table}</details>"
