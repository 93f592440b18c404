"""Names and classes come from people's files: whatever they hold, a terminal gets plain text, and not much of it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

VSA = Path(sys.executable).parent / "vsa"
HOSTILE = "\x1b[31m\x1b]0;owned\x07\x1b]8;;http://x\x1b\\\x1b]52;c;AAAA\x07\u202egnp\x9b1m\x00"
FORBIDDEN = ("\x1b[31m", "\x1b]0", "\x1b]8", "\x1b]52", "\u202e", "\x9b", "\x00", "\x07")


def on_terminal(*args: str | Path, columns: int = 300) -> tuple[int, str]:
    """Run `vsa` with stdout and stderr on a terminal, and return what it shows."""
    ours, screen = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm", "NO_COLOR": "1"}
    with subprocess.Popen([VSA, *args], stdin=subprocess.DEVNULL, stdout=screen, stderr=screen, env=environment) as run:
        os.close(screen)
        told = bytearray()
        while True:
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            told += piece
    os.close(ours)
    return run.returncode, told.decode(errors="replace")


@pytest.fixture
def hostile(two_groups, write) -> Path:
    csv = two_groups.csv({"a": f"{HOSTILE}A", "b": f"{HOSTILE}B"}).decode()
    head, *lines = csv.splitlines()
    rows = [f"{HOSTILE},same{HOSTILE},{head}", *(f"{i % 5},same{HOSTILE},{line}" for i, line in enumerate(lines)), ""]
    return write(f"in{HOSTILE.replace(chr(0), '').replace('/', '')}.csv", "\n".join(rows).encode())


def commands(path: Path, folder: Path) -> dict[str, tuple[str | Path, ...]]:
    name = path.name
    return {
        "label": ("label", path, "-t", "label", "-o", folder / "out.csv", "--confidence"),
        "label, no such column": ("label", path, "-t", f"zz{name}"),
        "eval": ("eval", path, "-t", "label", "--methods", "logistic"),
        "download": ("download", f"a/{name}"),
        "upload": ("upload", folder / name, "a/b"),
        "meta-train": ("meta-train", "--data", folder, "--steps", "1", "-o", folder / "out"),
        "completion": ("completion", name),
    }


@pytest.mark.parametrize("command", commands(Path("x"), Path("y")))
def test_a_terminal_gets_no_control_characters_of_names(hostile: Path, tmp_path: Path, command: str) -> None:
    code, told = on_terminal(*commands(hostile, tmp_path)[command])
    assert told.strip()
    assert code == (0 if command in ("label", "eval") else code)
    for mark in FORBIDDEN:
        assert mark not in told
    if command in ("label", "eval"):
        assert r"\x1b[31m" in told


@pytest.mark.parametrize("command", ["label", "eval"])
def test_neither_does_a_pipe(vsa, hostile: Path, values_shown, command: str) -> None:
    args = ["--methods", "logistic"] if command == "eval" else ["-o", hostile.with_name("out.csv")]
    result = vsa(command, hostile, "-t", "label", *args)
    assert result.code == 0, result.stderr
    for mark in FORBIDDEN:
        assert mark not in result.stderr
        assert mark not in result.stdout.decode()


def test_a_file_without_a_header_is_not_quoted_in_a_log(vsa, write) -> None:
    result = vsa("label", write("in.csv", b"root:x:0:0,secret words,t0ken\nalice,more,other\n"), "-t", "label")
    assert "has no column 'label'; it has 3 columns (VSA_SHOW_VALUES=1 lists them)" in result.error
    assert "secret" not in result.error


def test_names_are_cut(vsa, write, values_shown) -> None:
    long = "n" * 1_000_000
    lines = [f"{long},{long}2,label", *(f"{i % 7},{i % 3},{'ab'[i % 2] if i < 9 else ''}" for i in range(20)), ""]
    path = write("in.csv", "\n".join(lines).encode())
    assert len(vsa("label", path, "-t", "label").stderr) < 5_000
    assert len(vsa("label", path, "-t", "nothing").stderr) < 1_000
    assert len(vsa("label", path, "-t", "label", "--exclude", "label").stderr) < 1_000


def test_a_first_line_without_end_is_refused_before_it_is_read(vsa, write) -> None:
    error = vsa("label", write("in.csv", b"secret " * 3_000_000), "-t", "label").error
    assert "its first line is longer than 16 MB" in error
    assert "secret" not in error
