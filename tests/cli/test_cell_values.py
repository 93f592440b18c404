"""No message holds what stands in a cell, unless asked for."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vsacli.labeling import run as labeling
from vsacli.support.privacy import quoted, showing_values, values_shown

VSA = Path(sys.executable).parent / "vsa"
MARK = "zq7secret"


def secret_table(labels: list[str], *, n: int = 40) -> bytes:
    """Columns of every kind whose cells all hold the mark; only header names do not."""
    lines = ["id,constant,group,note,code,flag,when,size,label"]
    for i in range(n):
        cells = [
            f"{MARK}{i:04}",
            f"{MARK} always",
            f"{MARK} {'abc'[i % 3]}",
            f"{MARK} is what was said {i * 31 % 17} times about {i}",
            f"{MARK}-{i % 7}",
            MARK if i % 2 else "",
            f"{MARK} 2024-01-{1 + i % 28:02}",
            f"{i % 2 * 40 + i % 5} {MARK[:2]}",
            labels[i % len(labels)] if i % 3 else "",
        ]
        lines.append(",".join(cells))
    return "\n".join(lines).encode()


def secret_runs() -> Iterator[tuple[str, bytes, list[str]]]:
    two = [f"{MARK} yes", f"{MARK} no"]
    yield "two classes", secret_table(two), ["label"]
    yield "one class", secret_table(two[:1]), ["label"]
    yield "words as numbers", secret_table(two), ["label", "--task", "regression"]
    numbers = [f"{1.25 * k:.2f}" for k in range(13)]
    yield "a word among numbers", secret_table([*numbers, MARK], n=60), ["label"]
    yield "a ragged row", secret_table(two) + f"\n{MARK},{MARK}".encode(), ["label"]
    yield "an open quote", secret_table(two) + f'\n"{MARK},{MARK}'.encode(), ["label"]
    yield "bad bytes", secret_table(two) + f"\n{MARK}é".encode("latin-1"), ["label"]
    yield "labels as columns", secret_table(two), ["label", "--proba", "--confidence"]


RUNS = {name: (data, args) for name, data, args in secret_runs()}


@pytest.mark.parametrize("command", ["label", "eval"])
@pytest.mark.parametrize("run", RUNS)
def test_nothing_on_stderr_is_a_cell(vsa, write, command: str, run: str):
    data, args = RUNS[run]
    if command == "eval":
        args = [arg for arg in args if arg not in ("--proba", "--confidence")] + ["--methods", "logistic"]
    result = vsa(command, write("in.csv", data), "-t", *args)
    assert result.code in (0, 1)
    assert result.stderr if command == "label" or result.code else True
    assert MARK not in result.stderr


def test_the_test_would_see_a_cell(vsa, write, values_shown):
    """The same runs do quote cells when that is asked for."""
    for run in ("two classes", "one class", "words as numbers", "a word among numbers"):
        data, args = RUNS[run]
        assert MARK in vsa("label", write("in.csv", data), "-t", *args).stderr, run


def test_nothing_on_stderr_is_a_cell_of_parquet(vsa, tmp_path: Path):
    words = pa.array([MARK, None, f"{MARK} b", MARK] * 6)
    path, given = tmp_path / "in.parquet", tmp_path / "given.parquet"
    pq.write_table(pa.table({"x": [0.5, 1.5, 9.0, 0.75] * 6, "same": [MARK] * 24, "label": words}), path)
    pq.write_table(pa.table({"x": [0.5, 1.5], "label": [1, 2]}), given)
    result = vsa("label", path, "-t", "label", "-o", tmp_path / "out.parquet")
    assert result.code == 0, result.stderr
    assert "constant" in result.stderr
    assert MARK not in result.stderr
    refused = vsa("label", given, "-t", "label", "--labeled", path, "-o", tmp_path / "out.parquet")
    assert "do not fit the target column" in refused.error
    assert MARK not in refused.error


def test_an_unexpected_error_quotes_nothing(vsa, write, monkeypatch: pytest.MonkeyPatch):
    def broken(*args: object, **options: object) -> None:
        raise ValueError(f"could not convert string to float: '{MARK}'")

    monkeypatch.setattr(labeling, "label_table", broken)
    assert MARK not in vsa("label", write("in.csv", secret_table(["a", "b"])), "-t", "label").error


@pytest.mark.parametrize(("variable", "shown"), [(None, True), ("0", False)])
def test_a_terminal_shows_class_names(write, two_groups, variable: str | None, shown: bool):
    path = write("in.csv", two_groups.csv({"a": MARK, "b": "b"}))
    environment = {**os.environ, "TERM": "dumb", "COLUMNS": "200"}
    if variable is not None:
        environment["VSA_SHOW_VALUES"] = variable
    ours, screen = pty.openpty()
    done = subprocess.run(
        [VSA, "label", path, "-t", "label"], stdout=subprocess.DEVNULL, stderr=screen, env=environment
    )
    told = os.read(ours, 1 << 16).decode()
    os.close(screen)
    os.close(ours)
    assert done.returncode == 0, told
    assert "8 given" in told
    assert (MARK in told) == shown


def test_who_may_say_so(monkeypatch: pytest.MonkeyPatch):
    assert not values_shown()
    assert quoted("a", "it") == "it"
    with showing_values(True):
        assert quoted("a", "it") == "'a'"
        monkeypatch.setenv("VSA_SHOW_VALUES", "0")
        assert quoted("a", "it") == "it"
    monkeypatch.setenv("VSA_SHOW_VALUES", "1")
    assert values_shown()
