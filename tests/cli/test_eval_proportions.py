"""`vsa eval --proportions`: answers and figures for rows in the shares that people know."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Vsa


@pytest.fixture
def overlapping(tmp_path: Path) -> Path:
    """Classes that overlap: 20 labels of each, and 160 rows without, one in ten of class b."""
    rng = np.random.default_rng(7)
    code = np.concatenate([np.arange(40) % 2, np.arange(160) % 10 == 0]).astype(int)
    x = rng.normal(0, 1, (200, 2)) + 1.2 * code[:, None]
    cells = ["ab"[c] if i < 40 else "" for i, c in enumerate(code)]
    path = tmp_path / "in.csv"
    path.write_text("\n".join(["x,y,label", *(f"{u:.3f},{v:.3f},{c}" for (u, v), c in zip(x, cells, strict=True)), ""]))
    return path


def accuracy_of_prior(report: str) -> float:
    found = re.search(r"^prior +([01]\.\d+) ", report, re.MULTILINE)
    assert found, report
    return float(found[1])


def test_figures_are_for_rows_in_the_shares_that_were_said(vsa: Vsa, overlapping: Path):
    args = ("eval", overlapping, "-t", "label", "--methods", "prior,logistic", "-q")
    plain = vsa(*args).stdout.decode()
    known = vsa(*args, "--proportions", "a=0.85,b=0.15").stdout.decode()
    assert accuracy_of_prior(plain) == pytest.approx(0.5, abs=0.01)
    assert accuracy_of_prior(known) == pytest.approx(0.85, abs=0.01)
    assert (
        "answers and figures assume these shares of the classes: b 15.0%, a 85.0%" in known
        or "a 85.0%, b 15.0%" in known
    )
    assert "in these shares" not in plain


def test_without_unlabeled_rows_the_hidden_ones_are_matched(vsa: Vsa, overlapping: Path):
    lines = overlapping.read_text().splitlines()[:41]
    overlapping.write_text("\n".join(lines))
    args = ("eval", overlapping, "-t", "label", "--methods", "prior", "-q", "--proportions")
    assert accuracy_of_prior(vsa(*args, "labels").stdout.decode()) == pytest.approx(0.5, abs=0.01)
    assert accuracy_of_prior(vsa(*args, "b=0.3").stdout.decode()) == pytest.approx(0.7, abs=0.01)


def test_what_has_no_classes_is_refused(vsa: Vsa, overlapping: Path, write):
    numbers = write("n.csv", b"x,v\n" + b"".join(b"%d,%d.5\n" % (i * i % 17, i) for i in range(40)))
    assert "the task is regression" in vsa("eval", numbers, "-t", "v", "--proportions", "labels").error
    assert "class 'c'" in vsa("eval", overlapping, "-t", "label", "--proportions", "c=1").error
    assert "--proportions does not go with --suite" in vsa("eval", "--suite", "x", "--proportions", "labels").error
