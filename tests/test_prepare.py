"""One way from a table to its attributes and labels, for labeling, evaluation, training and estimators."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vsacli.errors import DataError, UsageError
from vsacli.estimators import VSAClassifier
from vsacli.evaluation.file import encode_file
from vsacli.labeling import LabelOptions, label_table
from vsacli.prepare import ReadOptions, prepare
from vsacli.tables.read import read_table
from vsacli.tasks.folder import read_folder_tables

Write = Callable[[str, bytes], Path]


def csv(header: str = "size,colour,when,kind") -> bytes:
    rng = np.random.default_rng(0)
    rows = [
        f"{rng.normal():.3f},{'red' if i % 3 else 'blue'},2024-0{1 + i % 9}-11,{'ab'[i % 2] if i % 4 else ''}"
        for i in range(60)
    ]
    return "\n".join([header, *rows]).encode()


def test_every_command_reads_the_same_attributes(write: Write, tmp_path: Path):
    path = write("t.csv", csv())
    x = prepare(read_table(path), ReadOptions("kind")).attributes.x
    run = label_table(read_table(path), LabelOptions("kind", device="cpu"), keep=True)
    assert run.attributes is not None
    np.testing.assert_array_equal(run.attributes.x, x)
    np.testing.assert_array_equal(encode_file(read_table(path), ReadOptions("kind")).table.x, x)
    (table,) = read_folder_tables(tmp_path, target="kind").tables
    np.testing.assert_array_equal(table.x, x)
    frame = pd.read_csv(path)
    fitted = VSAClassifier(device="cpu").fit(frame.drop(columns="kind"), frame["kind"])
    np.testing.assert_array_equal(fitted._labeled, x[frame["kind"].notna()])


@pytest.mark.parametrize("command", [("label", "-q"), ("eval", "-q", "--methods", "prior")], ids=["label", "eval"])
def test_excluding_means_the_same_to_every_command(command: tuple[str, ...], vsa, write: Write):
    path = write("t.csv", csv("size,colour,colour,kind"))
    run = lambda *options: vsa(command[0], path, "-t", "kind", *command[1:], *options)  # noqa: E731
    assert run("--exclude", "kind").error == (
        "vsa: error: --exclude kind: the target is never an attribute; leave the option out"
    )
    assert "has no column 'color'; did you mean 'colour'?" in run("--exclude", "color").error
    assert run("--exclude", "colour").code == 0


def test_all_columns_of_an_excluded_name_are_left_out(write: Write):
    table = read_table(write("t.csv", csv("size,colour,colour,kind")))
    found = prepare(table, ReadOptions("kind", exclude=("colour",)))
    assert found.attributes.used == {"size": 1}
    assert found.attributes.left_out == [("colour", "--exclude")] * 2
    with pytest.raises(DataError, match=r"no column to learn from besides the target \(size: --exclude; colour: "):
        prepare(table, ReadOptions("kind", exclude=("size", "colour")))
    with pytest.raises(UsageError, match="the target is never an attribute"):
        prepare(table, ReadOptions("kind", exclude=("kind",)))


def test_rows_in_which_nothing_is_written_stay_empty(vsa, write: Write):
    rows = [f"{i};{i % 7};{'ab'[i // 10] if i % 3 else ''}" for i in range(20)]
    rows[5:5] = [";;"]
    path = write("t.csv", "\n".join(["size;weight;kind", *rows, " ;;", ";;NA", ";;"]).encode())
    done = vsa("label", path, "-t", "kind", "--confidence", "--device", "cpu")
    lines = done.stdout.decode().splitlines()
    assert [lines[i] for i in (6, -3, -1)] == [";;;", " ;;;", ";;;"]
    assert not any(line.split(";")[2] == "" for i, line in enumerate(lines) if i not in (6, 22, 24))
    assert "note: 3 rows are empty and left out, the first is row 6 (line 7)" in done.stderr
    assert "missing: 8: empty (7), 'NA' (1)" in done.stderr


def test_empty_rows_below_labels_of_another_table_stay_empty(vsa, write: Write):
    rows = [f"{i};{i % 7};{'ab'[i // 10]};x{i}" for i in range(20)]
    labeled = write("old.csv", "\n".join(["size;weight;kind;note", *rows]).encode())
    others = [f"{i + 0.5};{i % 7};;{i * i}" for i in range(0, 20, 3)]
    path = write("t.csv", "\n".join(["size;weight;kind;other", *others, ";;;"]).encode())
    done = vsa("label", path, "-t", "kind", "--labeled", labeled, "--device", "cpu")
    assert done.stdout.decode().splitlines()[-1] == ";;;"
    assert "note: 1 row is empty and left out, row 8 (line 9)" in done.stderr
    path.write_text("\n".join(["size;weight", *(f"{i + 0.5};{i % 7}" for i in range(0, 20, 3)), ";"]))
    done = vsa("label", path, "-t", "kind", "--labeled", labeled, "--device", "cpu")
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "size;weight;kind"
    assert lines[-1] == ";;"
    assert all(line[-1] in "ab" for line in lines[1:-1])


def test_empty_rows_change_no_answer(vsa, write: Write):
    rows = [f"{i % 9};{i * 37 % 101};{'ab'[i % 9 > 4] if i % 3 else ''}" for i in range(40)]
    runs = []
    for empty in (0, 30):
        path = write("t.csv", "\n".join(["size;weight;kind", *rows, *[";;"] * empty]).encode())
        done = vsa("label", path, "-t", "kind", "--confidence", "--proportions", "a=40%,b=60%", "--device", "cpu")
        runs.append(done.stdout.decode().splitlines()[: len(rows) + 1])
    with_confidence = [[line.split(";") for line in run[1:]] for run in runs]
    assert [cells[2] for cells in with_confidence[0]] == [cells[2] for cells in with_confidence[1]]
    away = [abs(float(a[3] or 0) - float(b[3] or 0)) for a, b in zip(*with_confidence, strict=True)]
    assert max(away) < 0.05  # that cells are missing is an attribute, which only the second table has


AMOUNTS = [12.5, 890.0, 33.25, 1204.5, 75.0, 8.0, 410.75, 96.0, 51.5, 260.0, 17.25, 640.0]


def with_totals(amounts: list[float], *below: str) -> bytes:
    spelled = [f"{amount:,.2f} €".translate(str.maketrans(",.", ".,")) for amount in amounts]
    rows = [
        f"K{i}x;{cell};{'ja' if amount > 100 else 'nein'}"
        for i, (cell, amount) in enumerate(zip(spelled, amounts, strict=True))
    ]
    rows[3], rows[7] = rows[3].rpartition(";")[0] + ";", rows[7].rpartition(";")[0] + ";"
    return "\n".join(["Kunde;Betrag;Prüfung", *rows, *below]).encode()


def test_totals_below_a_table_and_what_follows_get_no_label(vsa, write: Write):
    below = ("Summe;3.698,75 €;", ";;", "Mittelwert;308,23 €;", "Quelle: SAP;;")
    path = write("t.csv", with_totals(AMOUNTS, *below))
    done = vsa("label", path, "-t", "Prüfung", "--device", "cpu")
    lines = done.stdout.decode().splitlines()
    assert tuple(lines[-4:]) == below
    assert all(line.endswith(("ja", "nein")) for line in lines[1:-4])
    assert "missing: 2: empty (2)" in done.stderr
    assert "note: row 13 (line 14) holds totals and is left out, and so are 2 below it" in done.stderr
    assert "note: 1 row is empty and left out, row 14 (line 15)" in done.stderr


@pytest.mark.parametrize(
    ("amounts", "last"),
    [(AMOUNTS, "4.698,75 €"), (AMOUNTS[:9], "2.781,50 €"), ([-1.0, 1.0] * 6, "0,00 €")],
    ids=["another number", "a sum of few", "a sum smaller than its parts"],
)
def test_a_last_row_that_is_no_total_gets_a_label(vsa, write: Write, amounts: list[float], last: str):
    path = write("t.csv", with_totals(amounts, f"K99x;{last};"))
    done = vsa("label", path, "-t", "Prüfung", "--device", "cpu")
    assert done.stdout.decode().splitlines()[-1].endswith(("ja", "nein"))
    assert "totals" not in done.stderr
