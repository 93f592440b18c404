"""Charts as SVG: bars, histograms, and points in the plane. Colours are classes of the page's style sheet.

Nothing is shown by colour alone: series differ in hatching or outline, groups of points in their marks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from vsacli.insight.report.cells import escaped
from vsacli.insight.report.facts import Bars, Histogram, Map, Point

WIDTH = 720
STEPS = 9  # colours of numbers, from the least to the largest
# Marks of groups, drawn around (0, 0): circle, square, triangle, diamond, plus, hexagon, ...
MARKS = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "M-3.6-3.6h7.2v7.2h-7.2z",
    "M0-4.8L4.6 3.6H-4.6z",
    "M0-5L5 0L0 5L-5 0z",
    "M-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
    "M0 4.8L4.6-3.6H-4.6z",
    "M2.3-4L4.6 0L2.3 4H-2.3L-4.6 0L-2.3-4z",
    "M0-5.2L1.3-1.6H5L2.1.7L3.1 4.4L0 2.2L-3.1 4.4L-2.1.7L-5-1.6H-1.3z",
    "M-4.9-2h9.8v4h-9.8z",
    "M-2-4.9h4v9.8h-4z",
    "M-3.2-4.6L0-1.4L3.2-4.6L4.6-3.2L1.4 0L4.6 3.2L3.2 4.6L0 1.4L-3.2 4.6L-4.6 3.2L-1.4 0L-4.6-3.2z",
    "M-4.6 2A4.6 4.6 0 0 1 4.6 2z",
)


def bars(data: Bars, title: str) -> str:
    """Shares of each series side by side, a group of bars a name; counts are written beside."""
    label, room, bar, gap = 150, 130, 11, 9
    totals = [max(sum(counts), 1) for _, counts in data.series]
    shares = [[c / t for c in counts] for (_, counts), t in zip(data.series, totals, strict=True)]
    most = max((s for series in shares for s in series), default=0) or 1
    group = bar * len(data.series) + gap
    out = []
    for i, name in enumerate(data.names):
        y = i * group
        middle = y + bar * len(data.series) / 2 + 4
        out.append(f'<text class="name" x="{label - 8}" y="{_n(middle)}" text-anchor="end">{_name(name, 20)}</text>')
        for k, (series, counts) in enumerate(data.series):
            width = (WIDTH - label - room) * shares[k][i] / most
            told = f"{escaped(name)}, {series}: {counts[i]:,} ({shares[k][i]:.1%})"
            out.append(
                f'<rect class="bar b{k}" x="{label}" y="{y + k * bar}" width="{_n(max(width, 0.5))}" '
                f'height="{bar - 1}"><title>{told}</title></rect>'
                f'<text class="small" x="{_n(label + width + 6)}" y="{y + k * bar + bar - 2}">'
                f"{counts[i]:,} · {shares[k][i]:.1%}</text>"
            )
    return _svg(out, WIDTH, len(data.names) * group, title)


def histogram(data: Histogram, title: str, axis: str) -> str:
    """Shares of each series by bin; the first series as bars, a second one as an outline over them."""
    left, top, height, foot = 46, 8, 170, 40
    edges = data.edges
    totals = [max(sum(counts), 1) for _, counts in data.series]
    shares = [[c / t for c in counts] for (_, counts), t in zip(data.series, totals, strict=True)]
    most = max((s for series in shares for s in series), default=0) or 1
    wide = WIDTH - left - 16
    step = wide / (len(edges) - 1)
    out = []
    for tick in _ticks(most):
        y = _n(top + height * (1 - tick / most))
        out.append(f'<line class="grid" x1="{left}" x2="{left + wide}" y1="{y}" y2="{y}"/>')
        out.append(f'<text class="small" x="{left - 6}" y="{y}" dy="4" text-anchor="end">{100 * tick:.3g}%</text>')
    solid, names = len(data.series) - 1, edge_names(edges)
    for i, share in enumerate(shares[solid]):
        count = data.series[solid][1][i]
        told = f"{names[i]} to {names[i + 1]}: {count:,} {data.series[solid][0]} ({share:.1%})"
        y = top + height * (1 - share / most)
        out.append(
            f'<rect class="bar b1" x="{_n(left + i * step + 0.5)}" y="{_n(y)}" width="{_n(step - 1)}" '
            f'height="{_n(top + height - y)}"><title>{told}</title></rect>'
        )
    if solid:
        path = f"M{left} {top + height}"
        for i, share in enumerate(shares[0]):
            path += f"V{_n(top + height * (1 - share / most))}H{_n(left + (i + 1) * step)}"
        out.append(f'<path class="outline" d="{path}V{top + height}"/>')
    out.append(f'<line class="axis" x1="{left}" x2="{left + wide}" y1="{top + height}" y2="{top + height}"/>')
    every = max(1, math.ceil((len(edges) - 1) / 10))
    for i, text in zip(range(0, len(edges), every), edge_names(edges[::every]), strict=True):
        out.append(
            f'<text class="small" x="{_n(left + i * step)}" y="{top + height + 15}" text-anchor="middle">{text}</text>'
        )
    middle = _n(left + wide / 2)
    out.append(f'<text class="small" x="{middle}" y="{top + height + 34}" text-anchor="middle">{escaped(axis)}</text>')
    return _svg(out, WIDTH, top + height + foot, title)


def importance_bars(rows: Sequence[tuple[str, float, float]], title: str, share: bool) -> str:
    """A bar a column: how much the answers change without its contents."""
    label, room, bar = 200, 190, 18
    most = max((change for _, _, change in rows), default=0) or 1
    out = []
    for i, (name, changed, change) in enumerate(rows):
        width = (WIDTH - label - room) * change / most
        told = f"{change:.3f}" + (f" · {changed:.0%} other labels" if share else "")
        out.append(
            f'<text class="name" x="{label - 8}" y="{i * bar + 12}" text-anchor="end">{_name(name, 27)}</text>'
            f'<rect class="bar b1" x="{label}" y="{i * bar + 2}" width="{_n(max(width, 0.5))}" height="{bar - 5}"/>'
            f'<text class="small" x="{_n(label + width + 6)}" y="{i * bar + 12}">{told}</text>'
        )
    return _svg(out, WIDTH, len(rows) * bar + 2, title)


def scatter(data: Map, title: str) -> str:
    """The map: filled rows small, labeled rows large with an outline, rows to label next in numbered rings."""
    width, height, pad = WIDTH, 480, 22
    marks = "".join(f'<path id="m{i}" d="{d}"/>' for i, d in enumerate(MARKS))
    out = [f"<defs>{marks}</defs>"]
    rings = []
    for i, p in enumerate(data.points):
        x, y = _n(pad + p.x * (width - 2 * pad)), _n(pad + (1 - p.y) * (height - 2 * pad))
        kind = "given" if p.labeled else "filled"
        out.append(
            f'<use href="#m{p.group % len(MARKS)}" class="{kind} {_colour(p, data)}" '
            f'{_place(p, data, x, y)} data-i="{i}"/>'
        )
        if p.suggested:
            rings.append(
                f'<g class="next" data-i="{i}"><circle cx="{x}" cy="{y}" r="9"/>'
                f'<text x="{x}" y="{y}" dy="-12" text-anchor="middle">{p.suggested}</text></g>'
            )
    return _svg(out + rings, width, height, title, ' id="map"')


def legend_mark(group: int) -> str:
    """The mark of a group, for a legend."""
    return (
        f'<svg class="mark" viewBox="-7 -7 14 14" width="14" height="14" aria-hidden="true">'
        f'<path class="filled g{group}" d="{MARKS[group % len(MARKS)]}"/></svg>'
    )


def scale_marks() -> str:
    """The colours and sizes of numbers, from the least to the largest."""
    step = 16
    dots = "".join(
        f'<circle class="filled s{i}" cx="{i * step + 8}" cy="8" r="{_n(2.4 + 3.6 * i / (STEPS - 1))}"/>'
        for i in range(STEPS)
    )
    size = f'viewBox="0 0 {STEPS * step} 16" width="{STEPS * step}" height="16"'
    return f'<svg class="mark" {size} aria-hidden="true">{dots}</svg>'


def _colour(p: Point, data: Map) -> str:
    return f"g{p.group}" if data.names else f"s{min(int(p.size * STEPS), STEPS - 1)}"


def _place(p: Point, data: Map, x: str, y: str) -> str:
    scale = 1.0 if data.names else 0.6 + 0.9 * p.size
    scale *= 1.5 if p.labeled else 0.8
    return f'transform="translate({x} {y})scale({_n(scale)})"'


def _svg(parts: Sequence[str], width: float, height: float, title: str, more: str = "") -> str:
    """An image with an accessible name; it shrinks with the page until its text could not be read, then scrolls."""
    return (
        f'<div class="scroll"><svg{more} role="img" viewBox="0 0 {_n(width)} {_n(height)}" '
        f'aria-label="{escaped(title)}">' + "".join(parts) + "</svg></div>"
    )


def _ticks(most: float) -> list[float]:
    power = 10.0 ** math.floor(math.log10(most / 2)) if most > 0 else 1.0
    step = next(f * power for f in (1, 2, 5, 10) if f * power >= most / 4)
    return [i * step for i in range(int(most / step + 1e-9) + 1)]


def edge_names(edges: Sequence[float]) -> list[str]:
    """Edges of bins of one width, with as few decimals as are exact; in powers of ten if that is long."""
    width = edges[1] - edges[0] if len(edges) > 1 else 1.0
    if not 1e-4 <= width < 1e9 or max(abs(edges[0]), abs(edges[-1])) >= 1e12:
        return [f"{edge:.4g}" for edge in edges]
    decimals = next(d for d in range(8) if abs(round(width, d) - width) < 1e-3 * width)
    return [
        f"{edge + 0.0:.{decimals}f}".replace("-0", "0") if abs(edge) < width / 2 else f"{edge:.{decimals}f}"
        for edge in edges
    ]


def _name(text: str, longest: int) -> str:
    cut = text if len(text) <= longest else text[: longest - 1] + "…"
    return f"{escaped(cut)}<title>{escaped(text)}</title>"


def _n(value: float) -> str:
    """A number with at most one decimal, so that the same picture has the same bytes."""
    return f"{value:.1f}".removesuffix(".0")
