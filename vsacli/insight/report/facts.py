"""What a report says, as plain numbers and text: taken from a `Study`, drawn by `page`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from vsacli.insight.report.cells import shown
from vsacli.insight.report.layout import in_plane
from vsacli.insight.row_cells import RowCells
from vsacli.insight.study import Study
from vsacli.insight.told_columns import naming_columns, telling_columns
from vsacli.labeling.extra_columns import plain_number
from vsacli.support.wording import number_of

MOST_CLASSES = 12  # with a bar, a colour and a mark of their own; the others share one
SHOWN_ROWS = 12  # least certain rows
SHOWN_COLUMNS = 7  # of a row
HOVER_COLUMNS = 6
BINS = 20


@dataclass(frozen=True)
class Bars:
    """Counts side by side: a name, and for each series a count."""

    names: list[str]
    series: list[tuple[str, list[int]]]


@dataclass(frozen=True)
class Histogram:
    """Counts between edges, one more of these than of those; a list of counts a series."""

    edges: list[float]
    series: list[tuple[str, list[int]]]


@dataclass(frozen=True)
class Point:
    """A row on the map: where, which class (its place in `Map.names`) or how large, and the text about it."""

    x: float
    y: float
    group: int
    size: float  # of numbers: its place between the least and the largest, in [0, 1]
    labeled: bool
    suggested: int  # its rank among the rows to label next, from 1; 0: none
    told: list[str]


@dataclass(frozen=True)
class Map:
    """Rows in two dimensions."""

    points: list[Point]
    names: list[str]  # of classes; none for numbers
    ends: tuple[str, str] | None  # least and largest number


@dataclass(frozen=True)
class Rows:
    """Rows of the table: a header, and cells."""

    header: list[str]
    cells: list[list[str]]


@dataclass(frozen=True)
class ReportFacts:
    """All that a page shows."""

    table: str
    target: str
    kind: str
    summary: list[tuple[str, str]]
    headline: str
    balance: Bars | None = None
    numbers: Histogram | None = None
    certainty: Histogram | None = None
    map: Map | None = None
    least_certain: Rows | None = None
    suggested: Rows | None = None
    importance: list[tuple[str, float, float]] = field(default_factory=list)  # column, rows that change, mean change
    n_sampled: int = 0


def facts_of(study: Study, summary: Sequence[tuple[str, str]]) -> ReportFacts:
    """The facts of a study; `summary` is the account that the command gives, a pair a line."""
    run, report = study.run, study.run.report
    cells = RowCells(run)
    classes = run.target.kind == "classification"
    filled = sum(report.filled.values())
    what = "label" if classes else "number"
    name = report.table.replace("\\", "/").rsplit("/", 1)[-1]  # a page is passed on: no folders of this machine
    return ReportFacts(
        table=shown(name, 120),
        target=shown(report.target, 80),
        kind=report.kind,
        headline=_headline(filled, report.missing, report.rows, sum(report.given.values()), what),
        summary=[(what, shown(value.replace(report.table, name), 2000)) for what, value in summary],
        balance=_balance(study) if classes else None,
        numbers=None if classes else _numbers(study),
        certainty=_certainty(study),
        map=_map(study, cells),
        least_certain=_rows(study, cells, np.argsort(-run.uncertainty, kind="stable")[:SHOWN_ROWS]),
        suggested=_rows(study, cells, study.suggested),
        importance=[(shown(run.table.columns[found.column]), found.rows, found.change) for found in study.importance],
        n_sampled=len(study.rows),
    )


def _headline(filled: int, missing: int, rows: int, given: int, what: str) -> str:
    if not missing:
        return f"No {what} was missing in {number_of(rows, 'row')}."
    rest = "" if filled == missing else f" ({missing - filled:,} were too uncertain and stay empty)"
    return f"{filled:,} of {number_of(missing, f'missing {what}')} filled{rest}, learned from {given:,} given."


def _balance(study: Study) -> Bars:
    """Rows of each class before and after, and of the whole table if that is known; the most frequent ones first."""
    report = study.run.report
    names = sorted(report.given, key=lambda c: -(report.given[c] + report.filled.get(c, 0)))
    kept = names if len(names) <= MOST_CLASSES else names[: MOST_CLASSES - 1]
    rest = [name for name in names if name not in set(kept)]
    series = []
    for title, counts in (("given", report.given), ("filled", report.filled)):
        values = [counts.get(name, 0) for name in kept]
        series.append((title, values + ([sum(counts.get(name, 0) for name in rest)] if rest else [])))
    if report.assumed:
        rows = {name: round(share * report.rows) for name, share in report.assumed.items()}
        values = [rows[name] for name in kept]
        series.append(("assumed", values + ([sum(rows[name] for name in rest)] if rest else [])))
    return Bars([shown(name, 40) for name in kept] + ([f"{len(rest)} others"] if rest else []), series)


def _numbers(study: Study) -> Histogram | None:
    """Given and filled numbers, on the same bins."""
    run = study.run
    given = run.target.numbers[run.target.given]
    filled = run.answers.mean if run.answers.mean is not None else np.zeros(0)
    both = np.concatenate([given, filled])
    if not len(both):
        return None
    edges = _edges(both)
    return Histogram(edges, [("given", _bin(given, edges)), ("filled", _bin(filled, edges))])


def _certainty(study: Study) -> Histogram | None:
    """Confidences in twenty bins from 0 to 1; or standard deviations from 0 on."""
    run = study.run
    if not _asked(study):
        return None
    if run.target.kind == "classification":
        edges = [i / BINS for i in range(BINS + 1)]
        return Histogram(edges, [("filled", _bin(run.certainty, edges))])
    edges = _edges(np.append(run.certainty, 0))
    return Histogram(edges, [("filled", _bin(run.certainty, edges))])


def _asked(study: Study) -> bool:
    """Whether the network had a choice, so that certainties mean anything."""
    run = study.run
    return run.checkpoint is not None and len(run.target.classes) != 1 and bool(run.target.missing.any())


def _edges(values: np.ndarray) -> list[float]:
    """At most `BINS` bins of a round width that hold all values."""
    low, high = float(values.min()), float(values.max())
    if low >= high:
        return [low - 0.5, low + 0.5] if abs(low) < 1e15 else [low, np.nextafter(low, np.inf)]
    largest = max(abs(low), abs(high))
    if not 1e-290 < largest < 1e290:  # else a sum overflows, or a width is nothing
        exponent = math.frexp(largest)[1]
        with np.errstate(over="ignore"):
            edges = np.ldexp(_edges(np.ldexp(np.array([low, high]), -exponent)), exponent)
        return np.nan_to_num(edges).tolist()  # infinite ends are the largest numbers then
    rough = (high - low) / BINS
    power = 10.0 ** math.floor(math.log10(rough))
    width = next((f * power for f in (1, 2, 2.5, 5, 10) if f * power >= rough), rough)
    first = math.floor(low / width) * width
    count = math.ceil((high - first) / width - 1e-9)
    return [first + i * width for i in range(max(count, 1) + 1)]


def _bin(values: np.ndarray, edges: Sequence[float]) -> list[int]:
    inside = np.clip(values, edges[0], edges[-1])
    return np.histogram(inside, bins=np.asarray(edges))[0].tolist()


def _map(study: Study, cells: RowCells) -> Map | None:
    """The sample in the plane, each row with its label (given or filled) and a few of its cells."""
    if study.embeddings is None or not len(study.rows):
        return None
    run, n = study.run, study.n_labeled
    plane = in_plane(study.embeddings, run.options.seed)
    columns = _told_columns(study)[:HOVER_COLUMNS]
    told = cells.take(study.rows, columns)
    rank = {int(p): i + 1 for i, p in enumerate(study.suggested)}
    labels, sizes, groups, names = _labels(study)
    uncertain = run.certainty[study.place].tolist()
    ends = None
    if run.target.kind == "regression":
        numbers = _sample_numbers(study)
        ends = (_number(float(numbers.min())), _number(float(numbers.max())))
    points = []
    for i in np.argsort(np.arange(len(plane)) < n, kind="stable"):  # labeled rows are drawn last, on top
        given = bool(i < n)
        lines = [cells.name(int(study.rows[i]))]
        lines.append(
            f"{run.options.target}: {labels[i]} "
            + ("(given)" if given else f"({_told_certainty(study, uncertain[i - n])})")
        )
        lines += [f"{run.table.columns[j]}: {shown(value, 40)}" for j, value in zip(columns, told[i], strict=True)]
        points.append(
            Point(
                round(float(plane[i, 0]), 4),
                round(float(plane[i, 1]), 4),
                int(groups[i]),
                round(float(sizes[i]), 3),
                given,
                0 if given else rank.get(int(study.place[i - n]), 0),
                [shown(line, 100) for line in lines],
            )
        )
    return Map(points, names, ends)


def _told_certainty(study: Study, value: float) -> str:
    if study.run.target.kind == "classification":
        return f"filled, confidence {value:.2f}"
    return f"filled, ± {_number(float(value))}"


def _number(value: float) -> str:
    """Four digits; in powers of ten if that is long."""
    if value and not 1e-6 <= abs(value) < 1e12:
        return f"{value:.4g}"
    text = plain_number(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _sample_numbers(study: Study) -> np.ndarray:
    run = study.run
    return np.concatenate([run.target.numbers[study.rows[: study.n_labeled]], run.answers.numbers[0][study.place]])


def _labels(study: Study) -> tuple[list[str], np.ndarray, np.ndarray, list[str]]:
    """Of each sampled row: its label as text, its size, its group; and the names of the groups."""
    run = study.run
    if run.target.kind == "regression":
        numbers = _sample_numbers(study)
        order = np.argsort(np.argsort(numbers, kind="stable"), kind="stable")
        low, span = numbers.min(), np.ptp(numbers)
        size = (numbers - low) / span if span > 0 and np.isfinite(span) else order / max(len(order) - 1, 1)
        return [_number(float(v)) for v in numbers], size, np.zeros(len(numbers), np.int64), []
    codes = np.concatenate(
        [run.target.codes[study.rows[: study.n_labeled]], run.answers.probabilities[study.place].argmax(axis=1)]
    )
    classes = run.target.classes
    total = {c: run.report.given.get(c, 0) + run.report.filled.get(c, 0) for c in classes}
    order = sorted(range(len(classes)), key=lambda c: -total[classes[c]])
    kept = order if len(order) <= MOST_CLASSES else order[: MOST_CLASSES - 1]
    group = np.full(len(classes), len(kept))
    group[kept] = np.arange(len(kept))
    names = [shown(classes[c], 40) for c in kept] + (["others"] if len(kept) < len(order) else [])
    return [shown(classes[c], 40) for c in codes], np.full(len(codes), 0.5), group[codes], names


def _told_columns(study: Study) -> list[int]:
    """Columns to show of a row: those by which a person knows it, then what the answers lean on, then the others."""
    run = study.run
    important, used = [found.column for found in study.importance], [j for j, _ in run.columns]
    first = [0] if 0 in used or len(run.table.column(0)[:1000].unique()) > 1 else []
    named = naming_columns(run.table, run.column) or first
    return telling_columns(run.table, run.column, [*named, *important, *used])


def _rows(study: Study, cells: RowCells, places: np.ndarray) -> Rows | None:
    """Rows of answers: number, answer, certainty, and some cells."""
    run = study.run
    if not _asked(study) or not len(places):
        return None
    columns = _told_columns(study)[:SHOWN_COLUMNS]
    rows = study.missing_rows[places]
    classes = run.target.kind == "classification"
    header = [
        "row",
        f"{run.options.target} (answer)",
        "confidence" if classes else "±",
        *(run.table.columns[j] for j in columns),
    ]
    out = []
    for place, row, told in zip(places, rows, cells.take(rows, columns), strict=True):
        if classes:
            answer = run.target.classes[int(run.answers.probabilities[place].argmax())]
            certainty = f"{run.certainty[place]:.2f}"
        else:
            answer, certainty = _number(float(run.answers.numbers[0][place])), _number(float(run.certainty[place]))
        number = f"{row - run.n_above + 1}"
        out.append([number, shown(answer, 40), certainty, *(shown(value, 40) for value in told)])
    return Rows([shown(name, 40) for name in header], out)
