"""What goes to stderr: plain lines to a pipe, a layout to a terminal."""

from __future__ import annotations

import io
import sys

import pytest

from vsacli.cli import console


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_facts_in_plain_lines(capsys: pytest.CaptureFixture[str]):
    console.show_facts("vsa", [("rows", "3"), ("note", "[bold]x")])
    assert capsys.readouterr().err == "vsa: rows: 3\nvsa: note: [bold]x\n"


def test_facts_on_a_terminal(monkeypatch: pytest.MonkeyPatch):
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    console.show_facts("vsa", [("rows", "3"), ("note", "[bold]x")])
    lines = stderr.getvalue().splitlines()
    assert len(lines) == 2
    assert "\x1b[" in lines[0]
    assert "[bold]x" in lines[1]


def test_quiet(capsys: pytest.CaptureFixture[str]):
    console.show_facts("vsa", [("rows", "3")], quiet=True)
    with console.progress_shown(quiet=True) as progress:
        progress("labeling", 1, 2)
    assert capsys.readouterr().err == ""


def test_progress_in_a_log_is_rare(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    now = [0.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    with console.progress_shown() as progress:
        for second in range(40):
            now[0] = float(second)
            progress("labeling", second * 1000, 40000)
    assert capsys.readouterr().err == ("vsa: labeling: 15,000 of 40,000 (38%)\nvsa: labeling: 30,000 of 40,000 (75%)\n")


def test_progress_on_a_terminal_leaves_it_clean(monkeypatch: pytest.MonkeyPatch):
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setenv("TERM", "xterm")
    with console.progress_shown() as progress:
        progress("labeling", 1, 2)
    assert "labeling" in stderr.getvalue()
    assert stderr.getvalue().endswith("\x1b[2K")  # the bar's line is erased


@pytest.mark.parametrize("stream", [None, io.StringIO()])
def test_say_without_a_stderr(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], stream):
    if stream is not None:
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    console.say("lost")
    console.show_facts("vsa", [("rows", "3")])
    assert capsys.readouterr().out == ""
