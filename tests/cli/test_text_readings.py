"""Whatever reads a table with many texts reads it without their further components as well as with them, and words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from pandas.api.types import is_numeric_dtype
from pyarrow import csv

from vsacli import VSAClassifier, VSARegressor
from vsacli.asking.session import Asking
from vsacli.cli import main
from vsacli.inference.reading import Reading
from vsacli.labeling.job import LabelOptions
from vsacli.tables.read import read_table


@pytest.fixture(params=["t", "1."])
def texts(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A table of 240 texts about five things, 30 of them labeled, by class or by number."""
    rng = np.random.default_rng(0)
    words = [
        f"{a}{b}" for a in ("lam", "ter", "vis", "qua", "non", "sod") for b in ("ba", "ko", "mi", "pe", "ru", "zu")
    ]
    lines = ["comment,topic"]
    for i in range(240):
        about = words[7 * (i % 5) : 7 * (i % 5) + 7]
        label = f"{request.param}{i % 5 + 1}" if i < 30 else ""
        lines.append(f"{' '.join([*rng.choice(about, 2), *rng.choice(words, 3)])},{label}")
    path = tmp_path / "texts.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """How many further components each reading of the network knew of, and whether it knew the words."""
    known: list[tuple[int, bool]] = []
    begin = Reading.__init__

    def spied(self: Reading, *args: object, **options: object) -> None:
        begin(self, *args, **options)  # pyright: ignore[reportArgumentType]
        further = 0 if self.known.further is None else int(self.known.further.sum())
        known.append((further, self.known.words is not None))

    monkeypatch.setattr(Reading, "__init__", spied)
    return known


def label(path: Path) -> None:
    assert main(["label", str(path), "-t", "topic", "-o", str(path.parent / "out.csv")]) == 0


def label_large(path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vsacli.prepare.LARGE_ROWS", 100)
        assert main(["label", str(path), "-t", "topic", "-o", str(path.parent / "out.csv")]) == 0


def label_folder(path: Path) -> None:
    table, folder = csv.read_csv(path), path.parent / "parts"
    folder.mkdir()
    for start in (0, 120):
        pq.write_table(table.slice(start, 120), folder / f"{start}.parquet")
    assert main(["label", str(folder), "-t", "topic", "-o", str(path.parent / "out")]) == 0


def label_folder_by_a_sample(path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vsacli.labeling.parts.plan.WHOLE_ROWS", 100)
        label_folder(path)


def evaluate(path: Path) -> None:
    assert main(["eval", str(path), "-t", "topic", "--methods", "vsa"]) == 0


def ask(path: Path) -> None:
    Asking(read_table(path), LabelOptions(target="topic")).question()


def fit(path: Path) -> None:
    frame = pd.read_csv(path)
    known = frame["topic"].notna()
    estimator = VSARegressor() if is_numeric_dtype(frame["topic"]) else VSAClassifier()
    estimator.fit(frame[["comment"]], frame["topic"].where(known, None)).predict(frame[["comment"]][:3])


@pytest.mark.parametrize("use", [label, label_large, label_folder, label_folder_by_a_sample, evaluate, ask, fit])
def test_every_reading_knows_the_further_components(
    use: Callable[[Path], None], texts: Path, readings: list[tuple[int, bool]]
) -> None:
    use(texts)
    assert readings
    assert set(readings) == {(18, True)}


def test_columns_of_a_report_are_shuffled_alike(texts: Path, readings: list[tuple[int, bool]]) -> None:
    page = texts.parent / "page.html"
    assert main(["label", str(texts), "-t", "topic", "-o", str(texts.parent / "out.csv"), "--report", str(page)]) == 0
    assert readings.count((18, True)) == 1
    assert readings.count((18, False)) >= 2  # columns are shuffled for the network alone
    assert readings.count((0, False)) == 1  # the map of the rows, which shows all attributes
