"""The results of `vsa eval --suite` as titled tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vsacli.cli.layout import Section
from vsacli.evaluation.metrics import CLASSIFICATION_METRICS, REGRESSION_METRICS
from vsacli.evaluation.run import Record
from vsacli.evaluation.statistics import lead, pooled_confidence, summarize, win_tie_loss
from vsacli.kinds import TaskKind

NAMES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced",
    "macro_f1": "macro-F1",
    "auc": "AUC",
    "log_loss": "log loss",
    "ece": "calib. error",
    "certain_half_accuracy": "surest half",
    "mse": "MSE",
    "r2": "R2",
    "coverage90": "90% coverage",
}
MOST_ERRORS = 5  # different failures that are shown


def metrics_of(kind: TaskKind) -> tuple[str, ...]:
    """The figures that are shown for a kind of task."""
    return CLASSIFICATION_METRICS if kind == "classification" else REGRESSION_METRICS


def comparison_sections(title: str, records: Sequence[Record], metrics: Sequence[str], main: str) -> list[Section]:
    """Means, tests and ranks of a suite by some figures; wins of the main method, and its lead over the best other."""
    compared = any(r.method == main for r in records) and len({r.method for r in records}) > 1
    sections = []
    for metric in metrics:
        sections.append(_means(title, records, metric))
        if compared:
            sections.append(_wins(records, metric, main))
    return [*sections, _leads(records, metrics, main)] if compared else sections


def detail_sections(records: Sequence[Record], kind: TaskKind) -> list[Section]:
    """All figures of a suite; how reliable confidences are; failures."""
    sections = [_all_figures(records, kind)]
    if kind == "classification":
        sections.append(_confidence(records))
    failed = _failures(records)
    return sections + ([failed] if failed is not None else [])


def _means(title: str, records: Sequence[Record], metric: str) -> Section:
    lines = summarize(records, metric)
    shots = sorted({s.shot for s in lines})
    unit = " per class" if records[0].kind == "classification" else " labels"
    rows, strong = [], set()
    for i, method in enumerate(dict.fromkeys(s.method for s in lines)):
        own = {s.shot: s for s in lines if s.method == method}
        row = [method]
        for j, shot in enumerate(shots):
            s = own.get(shot)
            if s is None or not np.isfinite(s.mean):
                row.append("-")
                continue
            row.append(f"{s.mean:.3f} ± {s.stderr:.3f}{'*' if s.bold else ' '}")
            if s.bold:
                strong.add((i, 1 + j))
        ranks = [s.rank for s in own.values() if np.isfinite(s.rank)]
        seconds = float(np.mean([s.seconds for s in own.values()]))
        rows.append([*row, f"{np.mean(ranks):.2f}" if ranks else "-", shown_seconds(seconds)])
    families = max((s.n_families for s in lines), default=0)
    notes = [
        f"mean over {families} families ± standard error; * not different from the best at the 5% level (paired t-test)"
    ]
    columns = ["method", *(f"{shot}{unit}" for shot in shots), "mean rank", "time"]
    return Section(f"{title}: {NAMES[metric]}", columns, rows, notes, strong)


def _wins(records: Sequence[Record], metric: str, main: str) -> Section:
    shots = sorted({r.shot for r in records})
    table: dict[str, list[str]] = {}
    for j, shot in enumerate(shots):
        for w in win_tie_loss(records, metric, shot, main):
            table.setdefault(w.rival, ["-"] * len(shots))[j] = f"{w.wins} / {w.ties} / {w.losses}"
    rows = [[rival, *cells] for rival, cells in table.items()]
    columns = ["rival", *(_labels(shot) for shot in shots)]
    return Section(f"Families where {main} wins / ties / loses, by {NAMES[metric]}", columns, rows)


def _leads(records: Sequence[Record], metrics: Sequence[str], main: str) -> Section:
    rows = []
    for metric in metrics:
        for shot in sorted({r.shot for r in records}):
            found = lead(records, metric, shot, main)
            if found is not None:
                rows.append([NAMES[metric], str(shot), found.rival, f"{found.mean:+.3f} ± {found.stderr:.3f}"])
    unit = "labels per class" if records[0].kind == "classification" else "labels"
    notes = ["mean difference over families ± its standard error; positive where it is better"]
    columns = ["figure", unit, "best other", "lead"]
    return Section(f"Lead of {main} over the best other method", columns, rows, notes, names={0, 2})


def _all_figures(records: Sequence[Record], kind: TaskKind) -> Section:
    names = metrics_of(kind)
    values: dict[str, list[str]] = {}
    for j, name in enumerate(names):
        lines = summarize(records, name)
        for method in dict.fromkeys(s.method for s in lines):
            found = [s.mean for s in lines if s.method == method and np.isfinite(s.mean)]
            cells = values.setdefault(method, ["-"] * len(names))
            cells[j] = f"{np.mean(found):.3f}" if found else "-"
    rows = [[method, *cells] for method, cells in values.items()]
    return Section("All figures, mean over numbers of labels", ["method", *(NAMES[n] for n in names)], rows)


def _confidence(records: Sequence[Record]) -> Section:
    rows = [
        [p.method, *(f"{v:.3f}" for v in (p.confidence, p.accuracy, p.calibration_error, p.surest_half))]
        for p in pooled_confidence(records)
    ]
    columns = ["method", "confidence", "accuracy", NAMES["ece"], NAMES["certain_half_accuracy"]]
    return Section("Confidence, over the rows of all episodes together", columns, rows)


def _failures(records: Sequence[Record]) -> Section | None:
    failed = [r for r in records if r.error is not None]
    if not failed:
        return None
    notes = ["methods are compared on the episodes that all of them answered"]
    for method in dict.fromkeys(r.method for r in failed):
        own = [r for r in failed if r.method == method]
        errors = list(dict.fromkeys(f"{r.error} (first in {r.table})" for r in own))
        notes += [f"{method}, {len(own)} episodes: {errors[0]}", *(f"{method}: {e}" for e in errors[1:MOST_ERRORS])]
    return Section("Failures", [], [], notes)


def shown_seconds(seconds: float) -> str:
    """A time, in milliseconds if it is short."""
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{1000 * seconds:.0f} ms"


def _labels(shot: int) -> str:
    return f"{shot} label{'' if shot == 1 else 's'}"
