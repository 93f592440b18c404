"""What all tests share: the command, run in this process or in its own, and small tables with an evident answer."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pytest

SAMPLES = Path(__file__).parent.parent / "sample_data"

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A shell starts jobs in the background with SIGINT ignored, and so would be all that the tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Two threads that wait for each other beside other work take minutes for what one does in seconds; all tests are small.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.pop("VSA_SHOW_VALUES", None)  # what the tests check does not depend on whose shell they run in


@pytest.fixture
def values_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages quote cells, as a user asks for by this variable."""
    monkeypatch.setenv("VSA_SHOW_VALUES", "1")


@dataclass
class Result:
    """How a run of `vsa` ended."""

    code: int
    stdout: bytes
    stderr: str

    @property
    def error(self) -> str:
        """The error line; fails if there is not exactly one, or anything on stdout."""
        assert self.code != 0, self.stderr
        assert self.stdout == b""
        lines = self.stderr.splitlines()
        assert len(lines) == 1, self.stderr
        assert lines[0].startswith("vsa: error: ")
        return lines[0]


class Vsa(Protocol):
    def __call__(self, *args: str | Path, stdin: bytes = b"") -> Result: ...


@pytest.fixture
def vsa(monkeypatch: pytest.MonkeyPatch) -> Vsa:
    """Run `vsa` inside this process, with its own standard streams."""
    from vsacli.cli import main

    def run(*args: str | Path, stdin: bytes = b"") -> Result:
        out, err = io.BytesIO(), io.BytesIO()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            patch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="utf-8", write_through=True))
            patch.setattr(sys, "stderr", io.TextIOWrapper(err, encoding="utf-8", write_through=True))
            code = main([os.fspath(arg) for arg in args])
            result = Result(code, out.getvalue(), err.getvalue().decode())
        assert "Traceback" not in result.stderr
        return result

    return run


@pytest.fixture
def vsa_process(tmp_path: Path) -> Vsa:
    """Run `vsa` as a user does: the installed command in its own process, in an empty folder."""
    command = Path(sys.executable).parent / "vsa"

    def run(*args: str | Path, stdin: bytes = b"") -> Result:
        done = subprocess.run([command, *args], input=stdin, capture_output=True, cwd=tmp_path, check=False)
        result = Result(done.returncode, done.stdout, done.stderr.decode())
        assert "Traceback" not in result.stderr
        assert "Exception ignored" not in result.stderr
        return result

    return run


@dataclass
class TwoGroups:
    """Rows of two groups far apart, one in three with its label: what any labeler gets right."""

    rows: list[tuple[float, float]]
    truth: list[str]
    given: list[bool]

    def lines(self, labels: dict[str, str] | None = None, missing: str = "") -> list[str]:
        """`x,y,label` records without line ends; `labels` renames the classes a and b."""
        rename = labels or {}
        return [
            f"{x:.2f},{y:.2f},{rename.get(label, label) if given else missing}"
            for (x, y), label, given in zip(self.rows, self.truth, self.given, strict=True)
        ]

    def csv(self, labels: dict[str, str] | None = None, missing: str = "", end: str = "\n") -> bytes:
        """The table with the header `x,y,label`."""
        return "".join(f"{line}{end}" for line in ["x,y,label", *self.lines(labels, missing)]).encode()


def make_two_groups(n: int = 24, seed: int = 0) -> TwoGroups:
    """Draw a `TwoGroups` of `n` rows."""
    rng = np.random.default_rng(seed)
    code = np.arange(n) % 2
    x = np.where(code == 0, 1.0, 9.0) + rng.normal(0, 0.4, n)
    y = np.where(code == 0, 20.0, 3.0) + rng.normal(0, 0.8, n)
    return TwoGroups(
        list(zip(x.tolist(), y.tolist(), strict=True)),
        ["a" if c == 0 else "b" for c in code],
        [i % 6 in (0, 1) for i in range(n)],
    )


@pytest.fixture
def two_groups() -> TwoGroups:
    return make_two_groups()


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, bytes], Path]:
    """Put bytes into a file of this test's own folder."""

    def to(name: str, data: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return to
