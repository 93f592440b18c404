"""How good are the answers after a few questions of `vsa label --ask`, from no label at all, and after random rows?

    python benchmarks/ask.py --suite DIR --kind classification
    python benchmarks/ask.py --suite DIR --kind regression
    python benchmarks/ask.py --table FILE --truth FILE --target COL

Of each table half of the rows may be asked about, and are answered with the truth; the answers of the network for the
other half are scored: accuracy, or the squared error in units of the target's variance. The rows asked about are those
of `vsacli.asking`, chosen again after every five answers. Random rows are drawn --draws times. Each line also says the
score of two thirds as many questions: if that is not worse than random rows, a third of the work is saved.

The last command asks about a file, whose own labels are taken out, and scores the labels that are filled in; the truth
is the column COL of another file with the same rows.

The rule was chosen on every second family of the suite (--families tuning); figures to report are those of the others
(--families held-out, the default).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from vsacli.asking.choose import rows_to_ask
from vsacli.asking.session import EVERY, Asking
from vsacli.checkpoints.folder import Checkpoint
from vsacli.checkpoints.resolve import load_checkpoint
from vsacli.evaluation.suites import load_suite
from vsacli.inference.answers import Answers
from vsacli.inference.config import InferenceConfig
from vsacli.inference.predict import predict
from vsacli.labeling.job import LabelOptions
from vsacli.labeling.labeled_table import as_text
from vsacli.labeling.relabeled import RelabeledTable
from vsacli.labeling.run import label_table
from vsacli.tables.read import read_table
from vsacli.tables.table import WritableTable
from vsacli.tasks.store import EncodedTable

ASKED = (5, 10, 20, 50)


class Table:
    """Some rows of a table, half of which may be asked about."""

    def __init__(self, checkpoint: Checkpoint, table: EncodedTable, most_rows: int) -> None:
        rows = np.random.default_rng(1).permutation(np.flatnonzero(table.labeled))[:most_rows]
        self.checkpoint, self.x, self.y = checkpoint, table.x[rows], table.y[rows]
        self.askable = np.arange(len(rows)) < len(rows) - len(rows) // 2

    def answers(self, labeled: np.ndarray) -> tuple[Answers, float]:
        """What the network says of the rows without a label, in order; and the score on the rows never asked about."""
        known, classes, n = self.y[labeled], np.zeros(0), 0
        if self.checkpoint.kind == "classification":
            classes, known = np.unique(known, return_inverse=True)
            n = len(classes)
        found = predict(self.checkpoint, self.x, labeled, known, n, config=InferenceConfig(device="cpu"))
        told = np.zeros(len(self.y))
        if found.proba is not None:
            told[~labeled] = classes[found.proba.argmax(axis=1)]
            return found, float((told == self.y)[~self.askable].mean())
        told[~labeled] = found.numbers[0]
        return found, float(np.mean((told - self.y)[~self.askable] ** 2) / self.y.var())


def counts() -> list[int]:
    """All numbers of answers after which there is a score."""
    return sorted({*ASKED, *(2 * n // 3 for n in ASKED)})


def asked_rows(table: Table) -> dict[int, float]:
    """The score after so many questions."""
    labeled, queue, scores = np.zeros(len(table.y), bool), np.zeros(0, np.int64), dict[int, float]()
    for k in range(1, max(ASKED) + 1):
        if not len(queue):
            answers = table.answers(labeled)[0] if labeled.any() else None
            queue = rows_to_ask(table.x, labeled, answers, EVERY, among=table.askable)
        labeled[queue[0]], queue = True, queue[1:]
        if k in counts():
            scores[k] = table.answers(labeled)[1]
    return scores


def random_rows(table: Table, draws: int) -> dict[int, float]:
    """The mean score after labels of so many random rows."""
    scores: dict[int, list[float]] = {k: [] for k in counts()}
    for draw in range(draws):
        order = np.random.default_rng(draw).permutation(np.flatnonzero(table.askable))
        for k, found in scores.items():
            labeled = np.zeros(len(table.y), bool)
            labeled[order[:k]] = True
            found.append(table.answers(labeled)[1])
    return {k: float(np.mean(found)) for k, found in scores.items()}


def chosen_tables(args: argparse.Namespace) -> list[EncodedTable]:
    """One table of each family."""
    tables = [
        t
        for t in load_suite(args.suite, target=args.target).select(kind=args.kind)
        if t.labeled.sum() >= 200 and t.x.shape[1] <= 60
    ]
    families = {t.family: t for t in reversed(tables)}
    first = {"tuning": 0, "held-out": 1}.get(args.families)
    return [families[f] for f in sorted(families)][first :: 1 if first is None else 2]


def report(asked: Sequence[dict[int, float]], drawn: Sequence[dict[int, float]], say: Callable[[str], None]) -> None:
    """A line a number of answers: both scores, their difference over the tables, and the score of two thirds of it."""

    def mean(scores: Sequence[dict[int, float]], k: int) -> np.ndarray:
        return np.array([one[k] for one in scores])

    for n in ASKED:
        ours, theirs, fewer = mean(asked, n), mean(drawn, n), mean(asked, 2 * n // 3)
        gap = ours - theirs
        error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else float("nan")
        say(
            f"{n:3d} answers: asked {ours.mean():.3f}, random {theirs.mean():.3f}, difference {gap.mean():+.3f} ± "
            f"{error:.3f}; {2 * n // 3} asked {fewer.mean():.3f}"
        )


def ask_about_a_file(table: str, truth: str, target: str, say: Callable[[str], None]) -> None:
    """A line for each number of answers: the share of right labels among those that were filled in."""
    right = [str(label) for label in _labels(read_table(truth), target)]
    read = read_table(table)
    column = read.find(target)
    everything = np.ones(read.n_rows, bool)
    blank = pa.array([""] * read.n_rows, pa.large_string())
    asking = Asking(
        RelabeledTable(read, target, column, blank, everything, everything), options := LabelOptions(target=target)
    )
    for k in range(1, max(ASKED) + 1):
        question = asking.question()
        assert question is not None
        asking.answer(right[question.row])
        if k in ASKED:
            labels = label_table(asking.labeled_table(), options).labels
            hits = [label == right[row] for row, label in zip(labels.rows, labels.values.to_pylist(), strict=True)]
            classes = len(set(asking.answers.values()))
            say(f"{k:3d} answers of {classes} classes: {np.mean(hits):.3f} of {len(hits):,} filled labels are right")


def _labels(table: WritableTable, target: str) -> list[str]:
    return as_text(table.column(table.find(target))).to_pylist()


def main() -> None:
    """Print the number of tables, then a line for each number of answers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", help="a folder; one table of each family (of a validation split)")
    parser.add_argument("--table", help="a file to ask about")
    parser.add_argument("--truth", help="the file with its labels")
    parser.add_argument("--target", default="target", help="the label column of a file, or a folder without manifest")
    parser.add_argument("--kind", choices=["classification", "regression"], default="classification")
    parser.add_argument("--families", choices=["tuning", "held-out", "all"], default="held-out")
    parser.add_argument("--rows", type=int, default=300, help="most rows of a table")
    parser.add_argument("--draws", type=int, default=3, help="of random rows")
    parser.add_argument("--checkpoint")
    args = parser.parse_args()
    if args.table is not None and args.truth is not None:
        ask_about_a_file(args.table, args.truth, args.target, print)
        return
    if args.suite is None:
        parser.error("give --suite, or --table and --truth")
    checkpoint = load_checkpoint(args.checkpoint, kind=args.kind)
    tables = [Table(checkpoint, table, args.rows) for table in chosen_tables(args)]
    if not tables:
        parser.error(f"{args.suite} has no table of 200 rows and at most 60 attributes")
    asked, drawn = [asked_rows(table) for table in tables], [random_rows(table, args.draws) for table in tables]
    print(f"{len(tables)} tables, at most {args.rows} rows each")
    report(asked, drawn, print)


if __name__ == "__main__":
    main()
