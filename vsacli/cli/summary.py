"""A labeling run told in a few lines."""

from __future__ import annotations

from collections.abc import Sequence

from vsacli.cellvalues import values_shown
from vsacli.cli.console import Fact
from vsacli.labeling import LabelReport

SHOWN_CLASSES = 12
SHOWN_COLUMNS = 6


def facts_of(report: LabelReport) -> list[Fact]:
    """The summary of `report`, a fact a line."""
    facts = [
        ("table", f"{report.table}, {_count(report.rows, 'row')}, {_count(report.columns, 'column')}"),
        ("task", f"{report.kind} of {report.target!r} ({report.reason})"),
        ("labels", f"{sum(report.given.values()):,} given{_per_class(report.given)}"),
        ("missing", f"{report.missing:,}{_tokens(report.missing_tokens)}"),
    ]
    if report.used or report.left_out:
        facts.append(("columns", _used(report.used)))
    if report.left_out:
        facts.append(("left out", _some([f"{name} ({reason})" for name, reason in report.left_out], SHOWN_COLUMNS)))
    if report.checkpoint is not None:
        facts.append(("network", f"{report.checkpoint} on {report.device}"))
    if report.missing:
        facts.append(("filled", f"{sum(report.filled.values()):,}{_per_class(report.filled)}"))
    if report.left_empty:
        facts.append(("not filled", f"{report.left_empty:,} below --min-confidence"))
    if report.mean_confidence is not None and report.checkpoint is not None:
        facts.append(("confidence", f"{report.mean_confidence:.3f} on average"))
    if report.mean_std is not None and report.checkpoint is not None:
        facts.append(("uncertainty", f"{report.mean_std:.4g} (mean standard deviation of a fill)"))
    return facts + [("note", note) for note in report.notes]


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _per_class(counts: dict[str, int]) -> str:
    """`: a (3), b (2)`, or `, 2 classes of 2 to 3`; nothing for numbers, whose only entry has no name."""
    if list(counts) == [""]:
        return ""
    if not values_shown():
        low, high = min(counts.values(), default=0), max(counts.values(), default=0)
        size = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        return f", {len(counts):,} {'class' if len(counts) == 1 else 'classes'} of {size}"
    return ": " + _some([f"{name} ({count:,})" for name, count in counts.items()], SHOWN_CLASSES)


def _tokens(tokens: dict[str, int]) -> str:
    """`: empty (12), 'NA' (3)`."""
    if not tokens:
        return ""
    shown = [f"{repr(token) if token.strip() else 'empty'} ({count:,})" for token, count in tokens.items()]
    return f": {_some(shown, SHOWN_CLASSES)}"


def _used(used: dict[str, int]) -> str:
    names = [name if made == 1 else f"{name} ({made} attributes)" for name, made in used.items()]
    return f"{len(used):,} used: {_some(names, SHOWN_COLUMNS)}"


def _some(items: Sequence[str], limit: int) -> str:
    more = f" and {len(items) - limit:,} more" if len(items) > limit else ""
    return ", ".join(items[:limit]) + more
