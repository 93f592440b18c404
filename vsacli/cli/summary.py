"""The summary of a labeling run."""

from __future__ import annotations

import json

from vsacli._version import __version__
from vsacli.cli.console import Fact
from vsacli.labeling.job import LabelReport
from vsacli.support.privacy import values_shown
from vsacli.support.wording import number_of, rounded, some

SHOWN_CLASSES = 12
SHOWN_COLUMNS = 6

RECORD = {
    "vsa": "version of the command",
    "table": "the input, as messages name it",
    "rows": "number of data rows",
    "columns": "number of columns",
    "target": "name of the target column",
    "task": '"classification" or "regression"',
    "reason": "why that task was chosen",
    "given": "number of given labels, including those of --labeled",
    "given_by_class": "the same for each class; null for a regression",
    "missing": "number of cells without a label",
    "missing_by_token": "the same by content of the cell; an empty name stands for empty cells",
    "used": "each column that was learned from, with the number of attributes made of it",
    "left_out": "list of {column, reason}",
    "checkpoint": "the network; null if none was needed",
    "device": "where it ran; null if none was needed",
    "logarithms": "whether the network answered the logarithms of the numbers, which fit the labels better",
    "graph_rows": "rows, labeled or not, of the graph that the network read; 0 if it read none",
    "student_rows": "rows answered by a small network that imitates the large one; 0 with --exact and for fewer rows",
    "seed": "--seed",
    "filled": "number of filled cells",
    "filled_by_class": "the same for each class; null for a regression",
    "given_shares": "share of each class among the given labels; null for a regression",
    "filled_shares": "share of each class among the filled cells; null if there are none",
    "assumed_shares": "share of each class among all rows, as --proportions says; null without it",
    "not_filled": "number of cells left empty by --min-confidence",
    "mean_confidence": "mean probability of the best class over the missing cells; null for a regression",
    "mean_std": "mean standard deviation of a filled number; null for a classification",
    "notes": "decisions and hints, one sentence each",
    "output": "--output; null for standard output",
}
"""The fields of the summary that --json writes; later versions may add some, and remove none."""


def facts_of(report: LabelReport) -> list[Fact]:
    """The summary of `report`, one fact per line."""
    facts = [
        ("table", f"{report.table}, {number_of(report.rows, 'row')}, {number_of(report.columns, 'column')}"),
        ("task", f"{report.kind} of {report.target!r} ({report.reason})"),
        ("labels", f"{sum(report.given.values()):,} given{_per_class(report.given)}"),
        ("missing", f"{report.missing:,}{_tokens(report.missing_tokens)}"),
    ]
    if report.used or report.left_out:
        facts.append(("columns", _used(report.used)))
    if report.left_out:
        shown = some([f"{name} ({reason})" for name, reason in report.left_out], SHOWN_COLUMNS)
        ids = any(reason.startswith("an id") for _, reason in report.left_out)
        facts.append(("left out", f"{shown}; --include COL uses an id anyway" if ids else shown))
    if report.checkpoint is not None:
        facts.append(("network", f"{report.checkpoint} on {report.device}"))
    if report.graph_rows:
        free = max(0, report.graph_rows - sum(report.given.values()))
        facts.append(("graph", f"neighbours among {report.graph_rows:,} rows, {free:,} of them without a label"))
    if report.logarithms:
        facts.append(("scale", "logarithms of the numbers were answered, which fit the labels better"))
    if report.student_rows:
        by_network = max(0, report.missing - report.student_rows)
        by_student = f"{report.student_rows:,} rows by a small network that imitates the large one"
        facts.append(("answered", f"{by_student}, {by_network:,} by the large one (all with --exact)"))
    if report.missing:
        facts.append(("filled", f"{sum(report.filled.values()):,}{_per_class(report.filled)}"))
    if report.assumed:
        facts.append(("shares", _told_shares(report)))
    if report.left_empty:
        facts.append(("not filled", f"{report.left_empty:,} below --min-confidence"))
    if report.mean_confidence is not None and report.checkpoint is not None:
        of_all = ", cells that were left empty included" if report.left_empty else ""
        facts.append(("confidence", f"{report.mean_confidence:.3f} on average{of_all}"))
    if report.mean_std is not None and report.checkpoint is not None:
        facts.append(("uncertainty", f"{rounded(report.mean_std, 4)} (mean standard deviation of a fill)"))
    return facts + [("note", note) for note in report.notes]


def record_of(report: LabelReport, *, seed: int, output: str | None) -> bytes:
    """The summary of `report` as a JSON object; its fields are those of `RECORD`."""
    classes = report.kind == "classification"
    record = {
        "vsa": __version__,
        "table": report.table,
        "rows": report.rows,
        "columns": report.columns,
        "target": report.target,
        "task": report.kind,
        "reason": report.reason,
        "given": sum(report.given.values()),
        "given_by_class": report.given if classes else None,
        "missing": report.missing,
        "missing_by_token": report.missing_tokens,
        "used": report.used,
        "left_out": [{"column": name, "reason": reason} for name, reason in report.left_out],
        "checkpoint": report.checkpoint,
        "device": report.device,
        "logarithms": report.logarithms,
        "graph_rows": report.graph_rows,
        "student_rows": report.student_rows,
        "seed": seed,
        "filled": sum(report.filled.values()),
        "filled_by_class": report.filled if classes else None,
        "given_shares": _shares(report.given) if classes else None,
        "filled_shares": _shares(report.filled) if classes else None,
        "assumed_shares": report.assumed or None,
        "not_filled": report.left_empty,
        "mean_confidence": report.mean_confidence if classes else None,
        "mean_std": None if classes else report.mean_std,
        "notes": report.notes,
        "output": output,
    }
    return json.dumps(record, indent=1, allow_nan=False).encode() + b"\n"


def _per_class(counts: dict[str, int]) -> str:
    """`: a (3), b (2)`, or `, 2 to 3 in each of 2 classes`; nothing for numbers, whose only entry has no name."""
    if list(counts) == [""]:
        return ""
    if not values_shown():
        low, high = min(counts.values(), default=0), max(counts.values(), default=0)
        if len(counts) == 1:
            return " in 1 class"
        return f", {low:,}{'' if low == high else f' to {high:,}'} in each of {len(counts):,} classes"
    return ": " + some([f"{name} ({count:,})" for name, count in counts.items()], SHOWN_CLASSES)


def _shares(counts: dict[str, int]) -> dict[str, float] | None:
    """Counts as shares of their sum; empty if there are none."""
    total = sum(counts.values())
    return {name: count / total for name, count in counts.items()} if total else None


def _told_shares(report: LabelReport) -> str:
    """`a 50.0% of the labels, 90.0% assumed, 93.1% of the filled; b ...`, or the range of each."""
    every = [
        (shares, what)
        for shares, what in (
            (_shares(report.given), "of the labels"),
            (report.assumed, "of all rows assumed"),
            (_shares(report.filled), "of the filled"),
        )
        if shares
    ]
    if not values_shown():
        return ", ".join(f"{min(s.values()):.1%} to {max(s.values()):.1%} {what}" for s, what in every)
    told = [f"{name} " + ", ".join(f"{s.get(name, 0):.1%} {what}" for s, what in every) for name in report.assumed]
    return "; ".join(told[:SHOWN_CLASSES]) + (
        f"; {len(told) - SHOWN_CLASSES} more" if len(told) > SHOWN_CLASSES else ""
    )


def _tokens(tokens: dict[str, int]) -> str:
    """`: empty (12), 'NA' (3)`."""
    if not tokens:
        return ""
    shown = [f"{repr(token) if token.strip() else 'empty'} ({count:,})" for token, count in tokens.items()]
    return f": {some(shown, SHOWN_CLASSES)}"


def _used(used: dict[str, int]) -> str:
    names = [name if made == 1 else f"{name} ({made} attributes)" for name, made in used.items()]
    return f"{len(used):,} used: {some(names, SHOWN_COLUMNS)}"
