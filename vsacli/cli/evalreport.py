"""The results of `vsa eval` as titled tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vsacli.cli.sections import Section
from vsacli.evaluation.file import EncodedFile
from vsacli.evaluation.intervals import Interval
from vsacli.evaluation.metrics import CLASSIFICATION_METRICS, REGRESSION_METRICS
from vsacli.evaluation.run import Record
from vsacli.evaluation.statistics import lead, pooled_confidence, summarize, win_tie_loss
from vsacli.evaluation.table import ALL_LABELS, MethodAnswers, TableAnswer
from vsacli.evaluation.verdict import confusion, growth, suspicious_rows
from vsacli.kinds import TaskKind
from vsacli.support.wording import some
from vsacli.tables.table import Table

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
MOST_CLASSES = 12  # columns of a confusion matrix
MOST_ERRORS = 5  # different failures that are shown


def metrics_of(kind: TaskKind) -> tuple[str, ...]:
    """The figures that are shown for a kind of task."""
    return CLASSIFICATION_METRICS if kind == "classification" else REGRESSION_METRICS


def table_sections(
    file: Table, encoded: EncodedFile, answer: TableAnswer, shares: np.ndarray | None = None
) -> list[Section]:
    """Everything about one table; the first method is shown in detail."""
    kind = encoded.table.kind
    main = answer.methods[0]
    sections = [_about(file, encoded, answer, shares), _figures(answer, kind)]
    if any(len(m.curve) > 1 for m in answer.methods):
        sections.append(_curve(answer, main, kind))
    if main.error is None and main.probs is not None:
        sections.append(_per_class(answer, main))
        if len(answer.classes) <= MOST_CLASSES:
            sections.append(_confusion(answer, main))
    if main.error is None:
        sections += _suspicious(file, answer, main)
    return sections


def _about(file: Table, encoded: EncodedFile, answer: TableAnswer, shares: np.ndarray | None) -> Section:
    table = encoded.table
    known = int(table.labeled.sum())
    left_out = [f"left out: {name} ({reason})" for name, reason in encoded.left_out]
    times = f"{answer.repeats} times" if answer.repeats > 1 else "once"
    return Section(
        f"{file.name}: {table.kind} ({encoded.reason})",
        [],
        [],
        [
            f"{file.n_rows:,} rows, {known:,} with a label; {len(encoded.used)} columns in use",
            *left_out,
            *(f"note: {note}" for note in encoded.notes),
            f"{len(answer.rows):,} known labels were hidden {times}, about a fifth at a time, and predicted again",
            *_assumed(encoded, shares),
        ],
    )


def _assumed(encoded: EncodedFile, shares: np.ndarray | None) -> list[str]:
    if shares is None:
        return []
    told = [f"{name} {share:.1%}" for name, share in zip(encoded.classes, shares, strict=True)]
    return [f"answers and figures are for rows in these shares: {some(told, MOST_CLASSES)}"]


def _figures(answer: TableAnswer, kind: TaskKind) -> Section:
    names = metrics_of(kind)
    rows, strong = [], set()
    best = {
        n: max((m.figures[n].value for m in answer.methods if n in m.figures), default=np.nan)
        for n in ("accuracy", "r2")
    }
    for i, m in enumerate(answer.methods):
        if m.error is not None:
            rows.append([m.label, *["failed"] * len(names), ""])
            continue
        rows.append([m.label, *(_interval(m.figures[n]) for n in names), _seconds(m.seconds)])
        strong |= {(i, 1 + j) for j, n in enumerate(names) if n in best and m.figures[n].value == best[n]}
    notes = ["in brackets: 95% interval over rows; calib. error: 0 is best; surest half: accuracy on it"]
    if kind == "regression":
        notes = [
            "in brackets: 95% interval over rows; MSE on targets of unit deviation: always answering the mean gets 1"
        ]
    notes += [f"{m.label} failed: {m.error}" for m in answer.methods if m.error is not None]
    return Section("Hidden labels, answered", ["method", *(NAMES[n] for n in names), "time"], rows, notes, strong)


def _curve(answer: TableAnswer, main: MethodAnswers, kind: TaskKind) -> Section:
    name = NAMES["accuracy"] if kind == "classification" else NAMES["mse"]
    sizes = [(p.size, p.n_labels) for p in main.curve] or [(p.size, p.n_labels) for p in answer.methods[-1].curve]
    columns = [
        "labels",
        *(f"{n:.0f}" if s == ALL_LABELS else f"{n:.0f} ({s} a class)" for s, n in sizes),
    ]
    if kind == "regression":
        columns = ["labels", *(f"{n:.0f}" for _, n in sizes)]
    rows = []
    for m in answer.methods:
        found = {p.size: p.result.value for p in m.curve}
        if found:
            rows.append([m.label, *(f"{found[s]:.3f}" if s in found else "-" for s, _ in sizes)])
    more = growth(main, kind == "classification")
    note = "more labels: no estimate, because the curve does not rise steadily"
    if more:
        note = f"more labels, estimated for {main.label}: " + ", ".join(f"{v:.3f} with {n:.0f}" for n, v in more)
    return Section(f"{name} by number of labels", columns, rows, [note])


def _per_class(answer: TableAnswer, main: MethodAnswers) -> Section:
    counts = confusion(answer, main)
    given = np.bincount(answer.answer, minlength=len(answer.classes))
    rows = []
    for c, name in enumerate(answer.classes):
        right, known, said = counts[c, c], counts[c].sum(), counts[:, c].sum()
        if known == 0 and said == 0:
            rows.append([name, "0", "-", "-", "-"])
            continue
        recall, precision = _share(right, known), _share(right, said)
        rows.append([name, f"{given[c]:,}", recall, precision, f"{2 * right / (known + said):.3f}"])
    notes = (
        []
        if (given > 0).all()
        else ["a single label of a class cannot be hidden, so nothing is known about that class"]
    )
    return Section(f"Classes ({main.label})", ["class", "hidden", "recall", "precision", "F1"], rows, notes)


def _confusion(answer: TableAnswer, main: MethodAnswers) -> Section:
    counts = confusion(answer, main)
    rows = [[name, *(f"{n:,}" for n in counts[c])] for c, name in enumerate(answer.classes)]
    strong = {(c, 1 + c) for c in range(len(rows))}
    return Section(
        f"Known classes (rows) and answers (columns), {main.label}", ["known", *answer.classes], rows, [], strong
    )


def _suspicious(file: Table, answer: TableAnswer, main: MethodAnswers) -> list[Section]:
    found = suspicious_rows(answer, main)
    if not found:
        return []
    classification = main.probs is not None
    rows = []
    for w in found:
        given = answer.classes[int(w.given)] if classification else f"{w.given:.6g}"
        answered = answer.classes[int(w.answered)] if classification else f"{w.answered:.6g}"
        how = f"{w.confidence:.2f}" if classification else f"{w.confidence:.1f}"
        rows.append([file.where(w.row), given, answered, how])
    last = "confidence" if classification else "deviations off"
    return [
        Section(
            f"Labels that {main.label} contradicts: check them, they may be mistakes",
            ["row", "given", "answered", last],
            rows,
        )
    ]


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
    unit = " a class" if records[0].kind == "classification" else ""
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
        rows.append([*row, f"{np.mean(ranks):.2f}" if ranks else "-", _seconds(seconds)])
    families = max((s.n_families for s in lines), default=0)
    notes = [
        f"mean over {families} families ± standard error; * not different from the best at the 5% level (paired t-test)"
    ]
    columns = ["method", *(f"{_labels(shot)}{unit}" for shot in shots), "mean rank", "time"]
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
    unit = "labels a class" if records[0].kind == "classification" else "labels"
    notes = ["mean difference over families ± its standard error; positive where it is better"]
    return Section(f"Lead of {main} over the best other method", ["figure", unit, "best other", "lead"], rows, notes)


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
    rows = []
    for method in dict.fromkeys(r.method for r in failed):
        own = [r for r in failed if r.method == method]
        errors = list(dict.fromkeys(f"{r.error} (first in {r.table})" for r in own))
        rows += [[method, str(len(own)), errors[0]]] + [["", "", e] for e in errors[1:MOST_ERRORS]]
    notes = ["methods are compared on the episodes that all of them answered"]
    return Section("Failures", ["method", "episodes", "why"], rows, notes)


def _interval(interval: Interval) -> str:
    if not np.isfinite(interval.value):
        return "-"
    return f"{interval.value:.3f} [{interval.low:.2f}, {interval.high:.2f}]"


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.3f}" if whole else "-"


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{1000 * seconds:.0f} ms"


def _labels(shot: int) -> str:
    return f"{shot} label{'' if shot == 1 else 's'}"
