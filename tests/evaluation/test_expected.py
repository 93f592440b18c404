"""What other tables say before any label is hidden: quartiles, as records of a suite have them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vsacli.errors import CheckpointError
from vsacli.evaluation.expected import EXPECTED_FILE, read_expected, summarize_tables
from vsacli.evaluation.run import Record
from vsacli.evaluation.verdict import known_before

ROOT = Path(__file__).parents[2]


def accuracies(classes: int, labels: int) -> np.ndarray:
    """Of eleven tables: eleven steps up to 0.9 and 0.02 more for each label."""
    return np.linspace(0.4, 0.7, 11) + 0.02 * labels - 0.01 * classes


@pytest.fixture
def records(tmp_path: Path) -> Path:
    found = [
        Record(f"t{classes}-{i}", "f", "classification", method, labels, draw, labels * classes, 50, 3, classes, 0.1,
               {"accuracy": value + (0.01 if draw else -0.01)})
        for classes in (2, 4)
        for labels in (1, 4)
        for i, value in enumerate(accuracies(classes, labels))
        for draw in (0, 1)
        for method in ("vsa", "other")
    ]  # fmt: skip
    failed = Record("t2-0", "f", "classification", "vsa", 1, 2, 2, 50, 3, 2, 0.1, error="no")
    path = tmp_path / "pool.jsonl"
    path.write_text("".join(json.dumps(r.to_dict()) + "\n" for r in [*found, failed]))
    return path


def test_the_file_is_made_from_records_by_one_command(records: Path, tmp_path: Path) -> None:
    (tmp_path / "models" / "classification").mkdir(parents=True)
    command = [sys.executable, ROOT / "benchmarks" / "expected.py", records, "--models", tmp_path / "models"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = read_expected(tmp_path / "models" / "classification")
    assert expected is not None
    assert [(line.classes, line.labels, line.tables) for line in expected.lines] == [
        *(((2, 2), 1, 11), ((2, 2), 4, 11), ((3, 5), 1, 11), ((3, 5), 4, 11))
    ]
    found = expected.at(2, 2)
    assert found is not None
    assert found.quartiles == pytest.approx(np.quantile(accuracies(2, 1), [0.25, 0.5, 0.75]), abs=5e-4)
    between = expected.at(8, 4)  # two labels per class lie halfway between one and four
    assert between is not None
    halfway = (accuracies(4, 1) + accuracies(4, 4)) / 2
    assert between.quartiles == pytest.approx(np.quantile(halfway, [0.25, 0.5, 0.75]), abs=1e-3)
    assert expected.at(16, 2) is not None
    assert expected.at(18, 2) is None  # more than twice as many as were tried
    assert expected.at(30, 10) is None  # no such tables


def test_it_is_told_in_a_sentence() -> None:
    tables = [(f"t{i}", 5, 2, i / 10) for i in range(11)]
    text = known_before(summarize_tables("classification", tables), 10, 2)
    assert text == (
        "On 11 other tables with 2 classes and about 5 labels per class the network labeled 25-75% of the rows right "
        "in the middle half of the tables (median 50%)."
    )
    text = known_before(summarize_tables("regression", [(f"t{i}", 10, 1, i / 10 - 0.3) for i in range(11)]), 10, 1)
    assert text == (
        "On 11 other tables with as many labels the network explained 0-45% of the variance in the middle half of the "
        "tables (median 20%)."
    )


def test_absent_or_damaged(tmp_path: Path) -> None:
    assert read_expected(tmp_path) is None
    assert read_expected(None) is None
    for text in ("{", '{"kind": "x", "figure": "accuracy", "lines": []}', '{"kind": "regression"}', "[" * 100_000):
        (tmp_path / EXPECTED_FILE).write_text(text)
        with pytest.raises(CheckpointError, match=r"damaged .* delete it"):
            read_expected(tmp_path)


def test_the_bundled_network_has_it() -> None:
    expected = read_expected(ROOT / "models" / "classification")
    assert expected is not None
    for classes in (2, 4, 10):
        quartiles = [line.quartiles for n in (1, 3, 10) if (line := expected.at(n * classes, classes)) is not None]
        assert len(quartiles) == 3
        assert sorted(quartiles) == quartiles  # more labels, more right
    expected = read_expected(ROOT / "models" / "regression")
    assert expected is not None
    quartiles = [line.quartiles for n in (10, 20, 50) if (line := expected.at(n, 1)) is not None]
    assert len(quartiles) == 3
    assert sorted(quartiles) == quartiles


def test_a_table_of_numbers_is_told_what_to_expect(vsa, write) -> None:
    rows = [f"{i % 7},{i % 11},{i % 7 + 2 * (i % 11) if i < 12 else ''}" for i in range(40)]
    path = write("t.csv", "\n".join(["a,b,y", *rows, ""]).encode())
    shown = " ".join(vsa("eval", path, "-t", "y", "--task", "regression", "--methods", "vsa").stdout.decode().split())
    assert re.search(r"On \d+ other tables with as many labels the network explained \d+-\d+% of the variance", shown)
