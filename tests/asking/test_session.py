"""Questions about a table, answered with the truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vsacli.asking.choose import doubt, rows_to_ask
from vsacli.asking.session import EVERY, Asking
from vsacli.errors import DataError
from vsacli.inference.answers import Answers
from vsacli.labeling.job import LabelOptions
from vsacli.labeling.run import label_table
from vsacli.tables.read import read_table


def asking_about(path: Path, lines: list[str], target: str = "label", **more: object) -> Asking:
    path.write_text("\n".join(lines) + "\n")
    return Asking(read_table(path), LabelOptions(target=target), **more)


def test_from_no_label_to_all_of_them(tmp_path: Path, two_groups):
    lines = ["name,x,y,label", *(f"n{chr(97 + i)}o,{x:.2f},{y:.2f}," for i, (x, y) in enumerate(two_groups.rows))]
    asking = asking_about(tmp_path / "t.csv", lines)
    asked, classes = [], set[str]()
    for i in range(EVERY + 2):
        question = asking.question()
        classes = set(question.classes)
        assert question == asking.question()
        assert (question.guess is None) == (i < EVERY)
        assert question.cells[0] == ("name", f"n{chr(97 + question.row)}o")
        asked.append(question.row)
        asking.answer(two_groups.truth[question.row])
    assert len(set(asked)) == len(asked)
    assert {two_groups.truth[row] for row in asked[:2]} == {"a", "b"}  # one of each group, before anything is known
    assert classes == {"a", "b"}
    run = label_table(asking.labeled_table(), LabelOptions(target="label"))
    told = dict(zip(run.labels.rows.tolist(), run.labels.values.to_pylist(), strict=True)) | asking.answers
    assert [told[i] for i in range(len(two_groups.truth))] == two_groups.truth


def test_a_class_keeps_its_number(tmp_path: Path, two_groups):
    """From question to question, and in the next run, also if the answers stand in the table by then."""
    lines = [line.rpartition(",")[0] + "," for line in two_groups.lines()]
    lines[-1] += "own"
    asking = asking_about(tmp_path / "t.csv", ["x,y,label", *lines])
    seen = []
    for i in range(EVERY + 3):
        question = asking.question()
        assert question.classes[: len(seen)] == seen
        seen = question.classes
        # rows further down are named first, so that their classes come later in the table
        asking.answer(f"class {-question.row // 5}" if i < EVERY else question.classes[0])
    assert len(seen) > 3
    assert seen[0] == "own"
    again = asking_about(tmp_path / "t.csv", ["x,y,label", *lines], answers=asking.answers)
    assert again.question().classes == seen
    with_answers = [f"{line}{asking.answers.get(i, '')}" for i, line in enumerate(lines)]
    in_place = asking_about(tmp_path / "t.csv", ["x,y,label", *with_answers], answers=asking.answers)
    assert in_place.question().classes == seen


def test_skipped_rows_are_not_asked_again_and_undo_goes_back(tmp_path: Path, two_groups):
    asking = asking_about(tmp_path / "t.csv", two_groups.csv().decode().splitlines())
    assert asking.undo() is None
    first = asking.question().row
    asking.skip()
    second = asking.question().row
    asking.answer("b")
    assert asking.undo() == (second, "b")
    assert asking.question().row == second
    assert asking.answers == {}
    assert asking.undo() == (first, None)
    assert asking.question().row == first
    asking.skip()
    rows = set()
    while (question := asking.question()) is not None:
        rows.add(question.row)
        asking.answer(two_groups.truth[question.row])
    assert rows == {i for i, given in enumerate(two_groups.given) if not given} - {first}


def test_numbers(tmp_path: Path):
    rng = np.random.default_rng(0)
    x = rng.random((40, 2))
    y = 3 * x[:, 0] - x[:, 1]
    cells = [f"{a:.3f},{b:.3f}," for a, b in x]
    lines = ["u,v,y", *(f"{line}{t:.2f}" for line, t in zip(cells[:4], y, strict=False)), *cells[4:]]
    asking = asking_about(tmp_path / "t.csv", lines, "y")
    question = asking.question()
    assert question.numbers
    assert question.classes == []
    assert abs(float(question.guess) - y[question.row]) < 2
    assert float(question.certainty) > 0
    with pytest.raises(DataError):
        asking.check("many words")
    asking.answer(f"{y[question.row]:.2f}")
    assert asking.question().row != question.row


def test_earlier_answers_count_but_labels_of_the_table_more(tmp_path: Path, two_groups):
    given = two_groups.given.index(True)
    missing = two_groups.given.index(False)
    asking = asking_about(
        tmp_path / "t.csv", two_groups.csv().decode().splitlines(), answers={given: "z", missing: "b"}
    )
    assert asking.answers == {missing: "b"}
    while (question := asking.question()) is not None and len(asking.answers) < 8:
        assert question.row not in (given, missing)
        asking.answer("b")


def test_a_table_without_the_label_column(tmp_path: Path, two_groups):
    lines = ["x,y", *(f"{x:.2f},{y:.2f}" for x, y in two_groups.rows)]
    asking = asking_about(tmp_path / "t.csv", lines)
    for _ in range(2):
        asking.answer(two_groups.truth[asking.question().row])
    table = asking.labeled_table()
    assert list(table.columns) == ["x", "y", "label"]
    run = label_table(table, LabelOptions(target="label"))
    with (tmp_path / "out.csv").open("wb") as sink:
        run.write(sink)
    written = (tmp_path / "out.csv").read_text().splitlines()
    assert written[0] == "x,y,label"
    assert [line.rpartition(",")[2] for line in written[1:]] == two_groups.truth


def test_first_rows_stand_for_groups_and_later_ones_for_what_is_doubtful():
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [9, 0], [0, 9], [9, 9]])
    x = np.concatenate([c + rng.normal(size=(12, 2)) for c in centres]).astype(np.float32)
    none = np.zeros(48, bool)
    first = rows_to_ask(x, none, None, 4)
    assert sorted(first // 12) == [0, 1, 2, 3]
    labeled = none.copy()
    labeled[first] = True
    sure = np.tile([0.98, 0.02], (44, 1))
    sure[np.flatnonzero(~labeled) // 12 == 2] = [0.55, 0.45]
    assert rows_to_ask(x, labeled, Answers(sure), 2).tolist()[0] // 12 == 2
    allowed = np.arange(48) < 24
    assert (rows_to_ask(x, labeled, Answers(sure), 60, among=allowed) < 24).all()
    assert len(rows_to_ask(x, labeled, Answers(sure), 60, among=allowed)) == 22


def test_doubt():
    np.testing.assert_allclose(doubt(Answers(np.array([[0.5, 0.5, 0], [0.1, 0.7, 0.2]]))), [1, 0.5])
    np.testing.assert_allclose(doubt(Answers(mean=np.zeros(2), std=np.array([2.0, 0]))), [2, 0])
    assert doubt(Answers(np.ones((3, 1)))).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (pa.nulls(24), ("low", "high")),
        (pa.nulls(24, pa.int64()), ("3", "7")),
        (pa.nulls(24, pa.string()).dictionary_encode(), ("low", "high")),
    ],
    ids=["null", "int64", "dictionary"],
)
def test_columns_of_parquet_without_a_label(tmp_path: Path, two_groups, cells: pa.Array, labels: tuple[str, str]):
    x, y = np.array(two_groups.rows).T
    pq.write_table(pa.table({"x": x, "y": y, "label": cells}), tmp_path / "t.parquet")
    asking = Asking(read_table(tmp_path / "t.parquet"), LabelOptions(target="label"))
    truth = [labels["ab".index(label)] for label in two_groups.truth]
    for _ in range(4):
        row = asking.question().row
        asking.check(truth[row])
        asking.answer(truth[row])
    with (tmp_path / "out.parquet").open("wb") as sink:
        label_table(asking.labeled_table(), LabelOptions(target="label")).write(sink)
    written = pq.read_table(tmp_path / "out.parquet")["label"]
    assert [str(label) for label in written.to_pylist()] == truth
    assert written.type == (cells.type if cells.type != pa.null() else pa.large_string())


def test_an_answer_that_means_missing_is_refused(tmp_path: Path, two_groups):
    lines = ["x,y,label", *(f"{x:.2f},{y:.2f}," for x, y in two_groups.rows)]
    asking = asking_about(tmp_path / "t.csv", lines)
    asking.question()
    with pytest.raises(DataError, match=r"'null' means that a label is missing; if it is one, use --no-default-na"):
        asking.check("null")
    asking.check("some")
    asking.answer("some")
    asking.question()
    with pytest.raises(DataError, match="'NA' means that a label is missing"):
        asking.check("NA")
