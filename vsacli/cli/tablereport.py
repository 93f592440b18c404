"""The report of `vsa eval TABLE`: one narrow table and what it means, or everything."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import PurePath

import numpy as np

from vsacli.cli.evalasked import Asked
from vsacli.cli.evalreport import NAMES, metrics_of, shown_seconds
from vsacli.cli.layout import Section
from vsacli.cli.sections import COMMAND, width
from vsacli.evaluation.expected import Expected
from vsacli.evaluation.file import EncodedFile
from vsacli.evaluation.intervals import Interval
from vsacli.evaluation.rival import better_rival
from vsacli.evaluation.table_answer import ALL_LABELS, MethodAnswers, TableAnswer
from vsacli.evaluation.verdict import (
    MANY,
    Verdict,
    confusion,
    growth,
    known_before,
    suspicious_rows,
    verdict,
)
from vsacli.kinds import TaskKind
from vsacli.support.wording import rounded, some
from vsacli.tables.table import Table

MOST_CLASSES = 12  # columns of a confusion matrix
MAIN = {
    "classification": ("accuracy", "balanced_accuracy", "certain_half_accuracy"),
    "regression": ("r2", "typical_error", "coverage90"),
}
LONG_NAMES = NAMES | {"balanced_accuracy": "balanced accuracy", "typical_error": "typical error"}
WITH_INTERVAL = ("accuracy", "balanced_accuracy", "r2")  # in the narrow table
FIGURES_TITLE = "Hidden labels, answered"
COMPLETE = (
    "No label is missing, so nothing is left to fill in here. If vsa label wrote some of these labels, the figures "
    "judge it by its own answers: evaluate the table that it was given."
)
FILLED = (
    "Careful: {0} seems to have been filled in by vsa label --ask, so these figures judge it by its own answers. "
    "Evaluate the table that it was given, with --labeled {1}."
)
INTERVALS = "95% intervals: Wilson's for shares of rows, a bootstrap over rows for R2 and MSE"


def brief_sections(encoded: EncodedFile, answer: TableAnswer, shares: np.ndarray | None = None) -> list[Section]:
    """What was asked, and the table that is read at a glance."""
    kind = encoded.table.kind
    names = MAIN[kind]
    rows = []
    for m in answer.methods:
        if m.error is not None:
            rows.append([m.label, *["failed"] * len(names)])
        else:
            rows.append([m.label, *(_brief(name, m, answer) for name in names)])
    notes = ["±: half of the 95% interval; surest half: accuracy on the more confident half of the rows"]
    if kind == "regression":
        notes = [
            "R2: share of the variance explained, ± half of its 95% interval; typical error: half of the numbers are "
            "closer; 90% coverage: share of the numbers within their 90% interval"
        ]
    main = answer.methods[0]
    if main.error is None and (doubtful := len(suspicious_rows(answer, main, most=len(answer.rows)))):
        if doubtful == 1:
            notes.append("1 known label is contradicted and may be a mistake: --full shows it")
        else:
            notes.append(f"{doubtful} known labels are contradicted and may be mistakes: --full shows them")
    columns = ["method", *(LONG_NAMES[n] for n in names)]
    figures = Section(FIGURES_TITLE, columns, rows, notes + _failures(answer), _best(answer, names))
    return [_about(encoded, answer, shares, full=False), figures]


def full_sections(encoded: EncodedFile, answer: TableAnswer, shares: np.ndarray | None = None) -> list[Section]:
    """Everything about one table; the first method is shown in detail."""
    kind = encoded.table.kind
    main = answer.methods[0]
    sections = [_about(encoded, answer, shares, full=True), _figures(answer, kind)]
    if any(len(m.curve) > 1 for m in answer.methods):
        sections.append(_curve(answer, main, kind))
    if main.error is None and main.probs is not None:
        sections.append(_per_class(answer, main))
        if len(answer.classes) <= MOST_CLASSES:
            sections.append(_confusion(answer, main))
    if main.error is None:
        sections += _suspicious(encoded.file, answer, main)
    return sections


def closing_lines(
    asked: Asked, target: str, encoded: EncodedFile, answer: TableAnswer, expected: Expected | None
) -> list[str]:
    """The verdict, what is known of other tables, and the next command."""
    main = answer.methods[0]
    said = verdict(answer, main)
    lines = [said.text]
    if not encoded.missing and asked.kept is not None:
        return [FILLED.format(asked.path, asked.kept), *lines]
    if (better := better_rival(answer, main)) is not None:
        lines.append(better)
    n_labels = int(answer.table.labeled.sum())
    if expected is not None and len(answer.rows) < MANY:
        known = known_before(expected, n_labels, answer.table.n_classes)
        lines += [known] if known is not None else []
    more = [option for option, given in (("--full", asked.full), ("--thorough", asked.thorough)) if not given]
    if more:
        told = {"--full": "--full shows all figures", "--thorough": "--thorough asks more methods, more often"}
        lines.append(f"More: {'; '.join(told[option] for option in more)}.")
    if not encoded.missing and asked.kept is None:
        lines.append(COMPLETE)
    return lines + next_lines(asked, target, said, complete=not encoded.missing)


def next_lines(asked: Asked, target: str, said: Verdict, *, complete: bool) -> list[str]:
    """What to do next, and its command in a line of its own, to be copied; `complete`: no label is missing."""
    if said.step is None:
        return []
    why, options = {
        "label": ("Next: fill in the labels.", ["--confidence"]),
        "keep certain": ("Next: fill in the certain labels.", []),
        "label more": ("Next: label the rows that help most; next.csv will name them.", ["--suggest-to", "next.csv"]),
    }[said.step]
    if said.threshold is not None:
        options = ["--min-confidence", f"{said.threshold.confidence:g}"]
    if complete:
        why = "Next: label other rows like these."
        if said.step == "label more":
            why = "Next: label more rows like these; next.csv will name those that help most."
    return [why, command(asked, target, options, complete=complete)]


def command(asked: Asked, target: str, options: Sequence[str], *, complete: bool = False) -> str:
    """A `vsa label` command for a table; long names are left for the reader to fill in."""
    output = _output_name(asked.path)
    new = "NEW" + output.removeprefix("labeled")
    output = f"labeled-{new}" if complete else output
    lines = []
    for path, column in ((asked.path, target), ("FILE", target), ("FILE", "COLUMN")):
        labeled = [path, *asked.labeled] if complete else asked.labeled
        labeled = labeled if path == asked.path else ["FILE"] * len(labeled)
        given = [word for source in labeled for word in ("--labeled", source)]
        words = [new if complete else path, "-t", column, *given, *asked.reading, "-o", output, *options]
        lines.append(f"{COMMAND}label {shlex.join(words)}")
    return next((line for line in lines if len(line) <= width()), lines[0])


def _output_name(path: str) -> str:
    """A name whose ending fits the format of the input."""
    ending = "".join(PurePath(path).suffixes[-2:] if path.endswith((".gz", ".bz2", ".xz", ".zst")) else [])
    return "labeled" + (ending or PurePath(path).suffix or ".csv")


def _brief(name: str, m: MethodAnswers, answer: TableAnswer) -> str:
    if name == "typical_error":
        return rounded(m.typical_error(answer.answer))
    figure = m.figures[name]
    if not np.isfinite(figure.value):
        return "-"
    if name not in WITH_INTERVAL:
        return f"{figure.value:.3f}"
    half = f"{figure.half:.3f}" if figure.half < 1 else "1 or more"  # an R2 has no lower end: digits would say nothing
    return f"{figure.value:.3f} ± {half}"


def _best(answer: TableAnswer, names: Sequence[str]) -> set[tuple[int, int]]:
    """The cells of the best accuracy or R2."""
    strong = set()
    for j, name in enumerate(names):
        if name in ("accuracy", "r2"):
            values = [m.figures[name].value if name in m.figures else np.nan for m in answer.methods]
            strong |= {(i, 1 + j) for i, v in enumerate(values) if v == np.nanmax([*values, -np.inf])}
    return strong


def _failures(answer: TableAnswer) -> list[str]:
    return [f"{m.label} failed: {m.error}" for m in answer.methods if m.error is not None]


def _about(encoded: EncodedFile, answer: TableAnswer, shares: np.ndarray | None, *, full: bool) -> Section:
    file, table = encoded.file, encoded.table
    known = int(table.labeled.sum())
    left_out = [f"left out: {name} ({reason})" for name, reason in encoded.left_out] if full else []
    others = f", {len(encoded.left_out)} left out" if encoded.left_out else ""
    times = {1: "once", 2: "twice"}.get(answer.repeats, f"{answer.repeats} times")
    return Section(
        f"{file.name}: {table.kind} ({encoded.reason})",
        [],
        [],
        [
            f"{file.n_rows:,} rows, {known:,} with a label; {len(encoded.used)} columns in use{others}",
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
    return [f"answers and figures assume these shares of the classes: {some(told, MOST_CLASSES)}"]


def _figures(answer: TableAnswer, kind: TaskKind) -> Section:
    names = metrics_of(kind)
    rows = []
    for m in answer.methods:
        if m.error is not None:
            rows.append([m.label, *["failed"] * len(names), "-"])
            continue
        rows.append([m.label, *(_interval(m.figures[n]) for n in names), shown_seconds(m.seconds)])
    notes = [f"in brackets: {INTERVALS}", "calib. error: 0 is best; surest half: accuracy on it"]
    if kind == "regression":
        notes[1] = "MSE on targets of unit deviation: always answering the mean gets 1"
    columns = ["method", *(NAMES[n] for n in names), "a round"]
    return Section(FIGURES_TITLE, columns, rows, notes + _failures(answer), _best(answer, names))


def _curve(answer: TableAnswer, main: MethodAnswers, kind: TaskKind) -> Section:
    name = NAMES["accuracy"] if kind == "classification" else NAMES["mse"]
    sizes = [(p.size, p.n_labels) for p in main.curve] or [(p.size, p.n_labels) for p in answer.methods[-1].curve]
    columns = [
        "labels",
        *(f"{n:.0f}" if s == ALL_LABELS else f"{n:.0f} ({s} per class)" for s, n in sizes),
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
        given = answer.classes[int(w.given)] if classification else rounded(w.given, 6)
        answered = answer.classes[int(w.answered)] if classification else rounded(w.answered, 6)
        how = f"{w.confidence:.2f}" if classification else f"{w.confidence:.1f}"
        rows.append([file.where(w.row), given, answered, how])
    last = "confidence" if classification else "deviations off"
    return [
        Section(
            f"Labels that {main.label} contradicts: check them, they may be mistakes",
            ["row", "given", "answered", last],
            rows,
            names={0, 1, 2},
        )
    ]


def _interval(interval: Interval) -> str:
    if not np.isfinite(interval.value):
        return "-"
    span = f" [{interval.low:.2f}, {interval.high:.2f}]" if np.isfinite(interval.low) else ""
    return f"{interval.value:.3f}{span}"


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.3f}" if whole else "-"
