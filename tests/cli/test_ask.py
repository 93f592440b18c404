"""`vsa label --ask` on a pseudo-terminal, key by key, as a person uses it."""

from __future__ import annotations

import csv
import fcntl
import io
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

WIDTH = 80
SECONDS = 240  # on a machine that also has other work
CTRL_C, CTRL_D = "\x03", "\x04"


@dataclass
class Session:
    """How a session ended: exit status, standard output, and all that the terminal showed."""

    code: int
    stdout: str
    shown: str


Answer = Callable[[str], str]


def on_terminal(folder: Path, *args: str, keys: Iterable[str | Answer]) -> Session:
    """Run `vsa label` on a terminal of 80 columns; each prompt is answered with the next keys.

    Keys that depend on the question are a function of all that was shown so far.
    """
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, WIDTH, 0, 0))
    environment = os.environ | {"TERM": "dumb", "OMP_NUM_THREADS": "1"}
    with (folder / "stdout").open("wb") as out:
        process = subprocess.Popen(
            [Path(sys.executable).parent / "vsa", "label", *args],
            stdin=slave, stdout=out, stderr=slave, cwd=folder, env=environment, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
    os.close(slave)
    shown, waiting = b"", iter(keys)
    while select.select([master], [], [], SECONDS)[0]:
        try:
            read = os.read(master, 4096)
        except OSError:  # the other end is closed
            break
        if not read:
            break
        shown += read
        if shown.endswith(b"> "):
            key = next(waiting)
            text = key if isinstance(key, str) else key(shown.decode().replace("\r\n", "\n"))
            os.write(master, (text if text in (CTRL_C, CTRL_D) else f"{text}\n").encode())
    code = process.wait(SECONDS)
    os.close(master)
    return Session(code, (folder / "stdout").read_text(), shown.decode().replace("\r\n", "\n"))


def unlabeled(two_groups) -> str:
    return "\n".join(["name,x,y,label", *(f"n{i:02},{x:.2f},{y:.2f}," for i, (x, y) in enumerate(two_groups.rows)), ""])


def truth_of(two_groups) -> Answer:
    """Answers a question with the truth."""

    def answer(question: str) -> str:
        row = re.findall(r"^row (\d+) ", question, re.M)[-1]
        return {"a": "low", "b": "high"}[two_groups.truth[int(row) - 1]]

    return answer


def again(shown: str) -> str:
    """Types a new class again."""
    asked = shown.splitlines()[-2]
    assert asked.endswith("would be a new class: type it again, or another label")
    return asked.split("'")[1]


def labels(text: str) -> list[str]:
    return [row["label"] for row in csv.DictReader(io.StringIO(text))]


def test_from_no_label_to_a_filled_table(vsa, two_groups, tmp_path: Path):
    (tmp_path / "t.csv").write_text(unlabeled(two_groups))
    truth = truth_of(two_groups)

    def first_letter(shown: str) -> str:
        return truth(shown)[0]

    def by_number(shown: str) -> str:
        return re.findall(rf"(\d) {truth(shown)}\b", shown.rpartition("\nrow ")[2])[-1]

    keys = [truth, truth, again, "u", "nonsense", truth, again, "s", by_number, first_letter, "q"]
    ended = on_terminal(tmp_path, "t.csv", "-t", "label", "--ask", "9", keys=keys)
    assert ended.code == 0, ended.shown
    told = {"a": "low", "b": "high"}
    assert labels(ended.stdout) == [told[label] for label in two_groups.truth]
    assert ended.stdout.startswith("name,x,y,label\nn00,")
    assert "\x1b" not in ended.shown.split("table")[0]  # no colours, no cursor
    assert all(len(line) <= WIDTH for line in ended.shown.split("\n"))
    assert "name  n" in ended.shown
    assert re.search(r"4 labels were given by hand, 4 of them now; kept in\s+t.answers.csv", ended.shown)
    kept = labels((tmp_path / "t.answers.csv").read_text())
    assert sorted(set(kept)) == ["high", "low"]
    assert len(kept) == 4
    given_back = vsa("label", tmp_path / "t.csv", "-t", "label", "--labeled", tmp_path / "t.answers.csv")
    assert given_back.stdout.decode() == ended.stdout


def test_ctrl_c_loses_nothing_and_the_same_command_continues(two_groups, tmp_path: Path):
    (tmp_path / "t.csv").write_text(unlabeled(two_groups))
    truth = truth_of(two_groups)

    command = ("t.csv", "-t", "label", "-o", "out.csv", "--ask", "5")
    ended = on_terminal(tmp_path, *command, keys=[truth, truth, again, CTRL_C])
    assert (ended.code, ended.stdout) == (130, "")
    assert "2 answers kept in out.answers.csv; the same command continues" in ended.shown
    assert not (tmp_path / "out.csv").exists()
    kept = (tmp_path / "out.answers.csv").read_text()
    assert len(labels(kept)) == 2

    guessed: list[bool] = []

    def enter_if_there_is_a_guess(question: str) -> str:
        guessed.append("[" in question.rsplit("\n", 1)[-1])
        return "" if guessed[-1] else truth(question)

    ended = on_terminal(tmp_path, *command, keys=[enter_if_there_is_a_guess] * 2 + [CTRL_D])
    assert ended.code == 0, ended.shown
    assert guessed == [True, True]  # the network has read the two answers
    assert "2 answers of an earlier run in out.answers.csv" in ended.shown
    assert (tmp_path / "out.answers.csv").read_text().startswith(kept)
    told = {"a": "low", "b": "high"}
    assert labels((tmp_path / "out.csv").read_text()) == [told[label] for label in two_groups.truth]


def test_in_place_all_answers_count(two_groups, tmp_path: Path):
    """Answers of an earlier run stand in the table by now; they are told, and are not asked for again."""
    (tmp_path / "t.csv").write_text(unlabeled(two_groups))
    truth = truth_of(two_groups)
    command = ("t.csv", "-t", "label", "-o", "t.csv", "--ask", "2")
    first = on_terminal(tmp_path, *command, keys=[truth, truth, again])
    assert "2 labels were given by hand, 2 of them now" in first.shown
    second = on_terminal(tmp_path, *command, keys=[truth, "q"])
    shown = " ".join(second.shown.split())
    assert "2 answers of an earlier run in t.answers.csv" in shown
    assert "3 labels were given by hand, 1 of them now" in shown
    rows = re.findall(r"^row (\d+) ", first.shown + second.shown, re.M)
    assert len(set(rows)) == 4
    listed = re.search(r"^  1 (\w+)   2 (\w+)$", second.shown, re.M)
    assert listed is not None
    told = {"a": "low", "b": "high"}
    assert list(listed.groups()) == [told[two_groups.truth[int(row) - 1]] for row in rows[:2]]


@pytest.fixture
def answered(two_groups, write, monkeypatch, tmp_path: Path) -> Path:
    """A table without labels, and beside the output out.csv two answers that `--ask` kept, the wrong way round."""
    monkeypatch.chdir(tmp_path)
    wrong = {"a": "high", "b": "low"}
    form = ["label,label_guess,label_confidence,row,name,x,y"]
    table = unlabeled(two_groups)
    for row in (2, 3, 4, 5, 6, 7):
        form.append(f"{wrong[two_groups.truth[row]]},,,{row + 1},{table.splitlines()[row + 1].rpartition(',')[0]}")
    write("out.answers.csv", "\n".join([*form, ""]).encode())
    return write("t.csv", table.encode())


def test_a_run_that_does_not_ask_reads_the_answers_as_well(vsa, two_groups, answered: Path, tmp_path: Path):
    told = {"a": "high", "b": "low"}
    for more in ((), ("--dry-run",), ("--labeled", "out.answers.csv")):
        result = vsa("label", answered, "-t", "label", "-o", "out.csv", *more)
        assert result.code == 0, result.stderr
        assert "labels: 6 given" in result.stderr
        kept = "your answers to --ask in out.answers.csv are read, as with --labeled; move that file away"
        assert result.stderr.count(kept) == (0 if "--labeled" in more else 1)
        assert labels((tmp_path / "out.csv").read_text()) == [told[label] for label in two_groups.truth]
    # what is named counts more, and another output has other answers
    header, *lines = answered.read_text().splitlines()
    rows = [f"{line}{two_groups.truth[i]}" for i, line in enumerate(lines) if i in (2, 3)]
    (tmp_path / "right.csv").write_text("\n".join([header, *rows, ""]))
    more = ("--labeled", "right.csv", "--dry-run")
    result = vsa("label", answered, "-t", "label", "-o", "out.csv", *more)
    assert "labels: 6 given" in result.stderr
    assert "2 labels of out.answers.csv and right.csv differ from an earlier one of the same row" in result.stderr
    assert "labels: 2 given" in vsa("label", answered, "-t", "label", "-o", "other.csv", *more).stderr


def test_answers_have_the_encoding_and_delimiter_of_the_table(vsa, answered: Path, tmp_path: Path):
    for path in (answered, tmp_path / "out.answers.csv"):
        path.write_bytes(path.read_text().replace("label", "größe").replace(",", ";").encode("latin-1"))
    how = ("-t", "größe", "--encoding", "latin-1", "--delimiter", "semicolon")
    result = vsa("label", answered, *how, "-o", "out.csv")
    assert "labels: 6 given" in result.stderr
    piped = vsa("label", "-", *how, "-o", "out.csv", stdin=answered.read_bytes())
    assert "labels: 6 given" in piped.stderr


def test_files_that_hold_no_answers_for_the_column_are_left_alone(vsa, answered: Path, tmp_path: Path):
    form = (tmp_path / "out.answers.csv").read_text()
    for text in ("", "name,answer\nn02,yes\n", form.replace("label", "other"), f"{form.splitlines()[0]}\n", "\0\1"):
        (tmp_path / "out.answers.csv").write_text(text)
        assert "has no label" in vsa("label", answered, "-t", "label", "-o", "out.csv").error
        assert (tmp_path / "out.answers.csv").read_text() == text


def test_eval_reads_answers_and_other_labels(vsa, two_groups, answered: Path, tmp_path: Path):
    args = ("eval", "t.csv", "-t", "label", "--methods", "centroid")
    shown = vsa(*args, "--labeled", "out.answers.csv").stdout.decode()
    assert "24 rows, 6 with a label" in shown
    command = "vsa label " + shown.splitlines()[-1].partition("vsa label ")[2]
    assert "--labeled out.answers.csv -o labeled.csv" in command
    assert vsa(*command.split()[1:]).code == 0
    (tmp_path / "out.answers.csv").rename(tmp_path / "t.answers.csv")
    beside = vsa(*args).stdout.decode()
    assert "24 rows, 6 with a label" in beside
    assert "your answers to --ask in t.answers.csv are read" in beside
    assert "--labeled" not in beside.splitlines()[-1]  # vsa label finds them as well
    # rows of another table count as rows with a label
    (tmp_path / "old.csv").write_text(
        "x,y,label\n" + "".join(f"{1 + i % 2 * 8},{20 - i % 2 * 17},l{i % 2}\n" for i in range(12))
    )
    (tmp_path / "t.answers.csv").unlink()
    assert "36 rows, 12 with a label" in vsa(*args, "--labeled", "old.csv").stdout.decode()
    assert "give one of them as a path" in vsa("eval", "-", "-t", "label", "--labeled", "-").error


def test_eval_of_what_ask_filled_in_is_told_to_be_circular(vsa, answered: Path):
    assert vsa("label", answered, "-t", "label", "-o", "out.csv").code == 0
    shown = vsa("eval", "out.csv", "-t", "label", "--methods", "centroid").stdout.decode()
    told = " ".join(shown.split())
    assert "Careful: out.csv seems to have been filled in by vsa label --ask, so these figures judge it by its" in told
    assert "with --labeled out.answers.csv." in told
    assert "Next:" not in shown


def test_numbers_with_a_decimal_comma(tmp_path: Path):
    lines = [f"{i % 7},{i % 5};{i};{i % 7 * 2},5" if i < 8 else f"{i % 7},{i % 5};{i};" for i in range(30)]
    (tmp_path / "t.csv").write_text("\n".join(["u;nr;y", *lines, ""]))
    keys = ["much", "8,5", "q"]
    ended = on_terminal(tmp_path, "t.csv", "-t", "y", "--task", "regression", "--ask", "2", "-o", "o.csv", keys=keys)
    assert ended.code == 0, ended.shown
    assert "not a number (decimal mark ',')" in ended.shown
    kept = [line.split(";") for line in (tmp_path / "o.answers.csv").read_text().splitlines()]
    assert kept[0][:4] == ["y", "y_guess", "y_std", "row"]
    assert kept[1][0] == "8,5"
    written = (tmp_path / "o.csv").read_text().splitlines()
    assert written[int(kept[1][3])].endswith(";8,5")
    assert all(re.fullmatch(r".*;-?\d+,\d", line) for line in written[1:])


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["in.csv"], "--ask needs a terminal for its questions; elsewhere use --suggest-to FILE and --labeled FILE"),
        (["-"], "--ask reads answers from the terminal, and the table is standard input"),
        (["parts", "-o", "out"], "--ask is for one file; give one part of the folder as FILE"),
    ],
)
def test_refused_in_one_line(vsa, two_groups, write, tmp_path: Path, monkeypatch, args: list[str], message: str):
    write("in.csv", two_groups.csv())
    (tmp_path / "parts").mkdir()
    pq.write_table(pa.table({"x": [1.0], "label": ["a"]}), tmp_path / "parts" / "1.parquet")
    monkeypatch.chdir(tmp_path)
    result = vsa("label", *args, "-t", "label", "--ask", "3")
    assert result.code == 2
    assert message in result.error
