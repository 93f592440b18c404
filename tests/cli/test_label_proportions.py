"""`vsa label --proportions`: what people know of the shares of the classes."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import Vsa


@pytest.fixture
def overlapping(tmp_path: Path) -> Path:
    """One row in ten is of class b, and nothing tells it for sure; three labels of each class are given."""
    rng = np.random.default_rng(5)
    code = (np.arange(200) % 10 == 0).astype(int)
    x, y = rng.normal(0, 1, (2, 200)) + 2.2 * code
    given = np.isin(np.arange(200), [0, 10, 20, 1, 2, 3])
    lines = [f"{a:.3f},{b:.3f},{'ab'[c] if g else ''}" for a, b, c, g in zip(x, y, code, given, strict=True)]
    path = tmp_path / "in.csv"
    path.write_text("\n".join(["x,y,label", *lines, ""]))
    return path


def shares_of(table: bytes) -> np.ndarray:
    """The mean probability of each class over all rows, a given label counting 1; and the share of b in the labels."""
    rows = list(csv.DictReader(table.decode().splitlines()))
    means = []
    for name in ("a", "b"):
        column = [row[f"label_proba_{name}"] for row in rows]
        means.append(np.mean([float(p) if p else row["label"] == name for p, row in zip(column, rows, strict=True)]))
    return np.array([*means, np.mean([row["label"] == "b" for row in rows])])


@pytest.mark.parametrize(
    "said", ["a=0.9,b=0.1", "b=10%", "a=180,b=20", '"a"=9, b=1', "a=0.9"], ids=["shares", "rest", "counts", "q", "1"]
)
def test_the_answers_have_the_shares_that_were_said(vsa: Vsa, overlapping: Path, said: str):
    plain = vsa("label", overlapping, "-t", "label", "--proba")
    result = vsa("label", overlapping, "-t", "label", "--proba", "--proportions", said)
    assert result.code == 0, result.stderr
    found = shares_of(result.stdout)
    np.testing.assert_allclose(found[:2], [0.9, 0.1], atol=2e-4)  # probabilities are written in four digits
    assert found[2] < shares_of(plain.stdout)[2]
    assert "vsa: shares: 50.0% to 50.0% of the labels, 10.0% to 90.0% of all rows assumed," in result.stderr


def test_the_labels_are_the_same_with_and_without_probabilities(vsa: Vsa, overlapping: Path):
    options = ("label", overlapping, "-t", "label", "-q", "--proportions", "b=0.1")
    labels = [
        [r[2] for r in csv.reader(vsa(*options, *more).stdout.decode().splitlines())] for more in ((), ("--proba",))
    ]
    assert labels[0] == labels[1]


def test_labels_drawn_at_random_have_the_shares_of_the_table(vsa_process: Vsa, overlapping: Path):
    result = vsa_process("label", overlapping, "-t", "label", "--proba", "--proportions", "labels")
    np.testing.assert_allclose(shares_of(result.stdout)[:2], [0.5, 0.5], atol=2e-4)


def test_the_shares_of_another_table(vsa: Vsa, overlapping: Path, tmp_path: Path):
    old = tmp_path / "old.parquet"
    pq.write_table(pa.table({"label": ["a"] * 17 + ["b"] * 3 + [None] * 5}), old)
    result = vsa("label", overlapping, "-t", "label", "--proba", "--proportions-from", old)
    np.testing.assert_allclose(shares_of(result.stdout)[:2], [0.85, 0.15], atol=2e-4)


@pytest.mark.usefixtures("values_shown")
def test_summary_record_and_page_show_given_filled_and_assumed_shares(vsa: Vsa, overlapping: Path, tmp_path: Path):
    out, page = tmp_path / "out.csv", tmp_path / "page.html"
    args = ("label", overlapping, "-t", "label", "-o", out, "--json", "-", "--report", page)
    result = vsa(*args, "--proportions", "b=0.1")
    record = json.loads(result.stdout)
    filled = record["filled_by_class"]["b"] / 194
    assert record["given_shares"] == {"a": 0.5, "b": 0.5}
    assert record["assumed_shares"] == pytest.approx({"a": 0.9, "b": 0.1})
    assert record["filled_shares"] == pytest.approx({"a": 1 - filled, "b": filled})
    of_a = f"a 50.0% of the labels, 90.0% of all rows assumed, {1 - filled:.1%} of the filled"
    of_b = f"b 50.0% of the labels, 10.0% of all rows assumed, {filled:.1%} of the filled"
    assert f"shares: {of_a}; {of_b}\n" in result.stderr
    assert '<td class="n"><bdi>180</bdi></td>' in page.read_text()
    assert "assumed: rows and their share of the table" in page.read_text()
    without = vsa(*args)
    assert "assumed" not in page.read_text() + without.stderr
    assert json.loads(without.stdout)["assumed_shares"] is None


def test_a_class_that_has_more_labels_than_rows_is_not_filled(vsa: Vsa, overlapping: Path):
    result = vsa("label", overlapping, "-t", "label", "--proba", "--proportions", "a=199,b=1")
    assert "more rows are labeled than --proportions leaves for one class: nothing is filled with it" in result.stderr
    assert shares_of(result.stdout)[2] == pytest.approx(3 / 200)


def test_a_note_names_the_option_where_the_fills_have_other_shares(vsa: Vsa, write, two_groups):
    note = "if you know their shares among all rows, --proportions makes the labels better"
    assert note not in vsa("label", write("even.csv", two_groups.csv()), "-t", "label").stderr
    groups = [f"{9 + i % 7 / 10},{3 + i % 5 / 10}," for i in range(60)] + [f"{i / 10},20," for i in range(6)]
    table = "\n".join(["x,y,label", *groups, *(f"{g}a" for g in groups[:3]), *(f"{g}b" for g in groups[-3:])])
    file = write("uneven.csv", table.encode())
    assert note in vsa("label", file, "-t", "label").stderr
    assert note not in vsa("label", file, "-t", "label", "--proportions", "labels").stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--proportions", "a=0.9,c=0.1"), "no label is of the class 'c'; there are 2 others"),
        (("--proportions", "a"), "--proportions a: give CLASS=SHARE with a share of at least 0"),
        (("--proportions", "a=-1,b=2"), "--proportions a=-1: give CLASS=SHARE"),
        (("--proportions", "a=9"), "the others are 9 together; name every class"),
        (("--proportions", "a=90%,b=0.1"), "some shares are percentages and some are not"),
        (("--proportions", "b=0.1", "--proportions-from", "x.csv"), "leave out one"),
        (("--proportions", "b=0.1", "--task", "regression"), ""),
        (("--proportions-from", "absent.csv"), "absent.csv"),
    ],
)
def test_what_cannot_be_shares_is_refused_before_the_work(vsa: Vsa, overlapping: Path, options, said: str):
    result = vsa("label", overlapping, "-t", "label", *options)
    assert said in result.error
    assert result.code in (1, 2)


def test_numbers_have_no_classes(vsa: Vsa, write):
    file = write("n.csv", b"x,v\n" + b"".join(b"%d,%s\n" % (i, b"%d.5" % i if i % 3 else b"") for i in range(40)))
    result = vsa("label", file, "-t", "v", "--proportions", "labels")
    assert "--proportions needs classes and the task is regression" in result.error
    assert result.code == 2
