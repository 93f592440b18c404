"""What a person sees before and in place of the table: --dry-run, --preview, and a terminal."""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.test_hostile_names import on_terminal


@pytest.fixture
def named(two_groups, write, tmp_path: Path, monkeypatch) -> Path:
    """Rows with a name, and a text longer than a line."""
    lines = [f"n{i:02},{line},{'word ' * 30}" for i, line in enumerate(two_groups.lines())]
    monkeypatch.chdir(tmp_path)
    write("in.csv", "\n".join(["name,x,y,label,remark", *lines, ""]).encode())
    return Path("in.csv")


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(vsa, named: Path, tmp_path: Path):
    out = tmp_path / "out.csv"
    done = vsa("label", named, "-t", "label", "-o", out, "--dry-run", "--json", tmp_path / "s.json")
    assert (done.code, done.stdout) == (0, b"")
    assert not out.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv"]
    told = dict(line.removeprefix("vsa: ").split(": ", 1) for line in done.stderr.splitlines())
    assert told["task"].startswith("classification of 'label'")
    assert told["labels"].startswith("8 given")
    assert told["missing"] == "16: empty (16)"
    assert re.search(r"\d used: .*x, y", told["columns"])
    assert "remark (constant" in told["left out"]
    assert told["network"] == "classification on cpu"
    assert re.fullmatch(r"about \d+ s", told["time"])
    assert told["dry run"] == "nothing was filled in or written"
    assert "filled" not in told
    # the same is said of what a run decides
    run = vsa("label", named, "-t", "label", "-o", out)
    for what in ("table", "task", "labels", "missing", "columns", "left out", "network"):
        assert f"vsa: {what}: {told[what]}" in run.stderr.splitlines()


def test_a_dry_run_refuses_what_a_run_refuses(vsa, named: Path, write):
    assert "did you mean 'label'" in vsa("label", named, "-t", "lable", "--dry-run").error
    done = vsa("label", write("full.csv", b"x,label\n1,a\n2,b\n"), "-t", "label", "--dry-run")
    assert "vsa: time: nothing to fill in" in done.stderr.splitlines()


def test_a_dry_run_says_that_one_class_leaves_no_choice(vsa, write):
    done = vsa("label", write("one.csv", b"x,label\n1,a\n2,\n3,\n"), "-t", "label", "--dry-run")
    assert "note: all given labels are of one class, so every missing label becomes that one" in done.stderr


def test_a_preview_has_the_first_filled_rows(vsa, named: Path, tmp_path: Path):
    out = tmp_path / "out.csv"
    whole = vsa("label", named, "-t", "label", "-o", out, "--preview", "--confidence")
    assert whole.code == 0
    given, after = (list(csv.DictReader(path.read_text().splitlines())) for path in (named, out))
    filled = [(i, row) for i, row in enumerate(after) if not given[i]["label"]][:10]
    text = whole.stdout.decode()
    assert text.splitlines()[0].endswith("16 of 16 missing labels filled in")
    shown = [re.split(r" {2,}", line.strip())[:4] for line in text.splitlines()[2:12]]
    assert [[row, label, name] for row, label, _, name in shown] == [
        [str(i + 1), row["label"], row["name"]] for i, row in filled
    ]
    for (_, _, confidence, _), (_, row) in zip(shown, filled, strict=True):
        assert abs(float(confidence) - float(row["label_confidence"])) <= 0.0051  # both are rounded
    assert max(map(len, text.splitlines())) <= 100
    assert "and 6 more rows" in text
    assert "not written" not in text
    alone = vsa("label", named, "-t", "label", "--preview")
    assert "the table was not written: give --output FILE" in alone.stdout.decode()
    assert alone.stdout.splitlines()[1:12] == whole.stdout.splitlines()[1:12]


def test_cells_below_the_confidence_are_shown_as_empty(vsa, named: Path):
    text = vsa("label", named, "-t", "label", "--preview", "--min-confidence", "1").stdout.decode()
    assert text.splitlines()[0].endswith("0 of 16 missing labels filled in")
    assert text.count("(left empty)") == 10


def test_numbers_are_shown_with_their_deviation(vsa, write, named: Path):
    rows = [f"{i * 7 % 31 / 10},{i * 7 % 31 * 3.5 + 0.25 if i < 15 else ''}" for i in range(31)]
    path = write("n.csv", "\n".join(["x,v", *rows, ""]).encode())
    text = vsa("label", path.name, "-t", "v", "--preview").stdout.decode()
    assert re.match(r"row +v +± std +x", text.splitlines()[1])
    assert re.fullmatch(r" *16 +[\d.]+ +[\d.e+-]+ +[\d.]+", text.splitlines()[2])


def test_a_terminal_is_not_flooded(named: Path, tmp_path: Path):
    code, told = on_terminal("label", named, "-t", "label", columns=80)
    assert code == 0
    lines = [re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", line) for line in told.splitlines()]
    assert max(map(len, lines)) <= 80
    assert any("the table was not written: give --output FILE or a pipe; -o - prints it here" in line for line in lines)
    assert not any(line.startswith("n05,") for line in lines)
    assert lines[-2:] == ["Next: write the table", "  vsa label in.csv -t label -o FILE"]
    code, told = on_terminal("label", named, "-t", "label", "-o", "-", columns=80)
    assert code == 0
    assert re.findall(r"n(\d\d),\d", told) == [f"{i:02}" for i in range(24)]


def test_the_next_command_is_told_on_a_terminal(vsa, named: Path, tmp_path: Path):
    how = ("--na", "x=-99", "--exclude", "y", "--seed", "3")
    _, told = on_terminal("label", named, "-t", "label", "-o", tmp_path / "out.csv", *how)
    why, command = told.splitlines()[-2:]
    assert why == "Next: how many of these labels are right?"
    program, *args = shlex.split(command)
    assert (program, args) == ("vsa", ["eval", str(named), "-t", "label", *how[:4]])
    assert vsa(*args, "--methods", "prior").code == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--preview", "-o", "-"), "--preview and the table would both go to standard output"),
        (("--preview", "--dry-run"), "--dry-run fills in nothing; leave out --preview"),
    ],
)
def test_what_does_not_go_together(vsa, named: Path, args: tuple[str, ...], message: str):
    assert message in vsa("label", named, "-t", "label", *args).error


def test_folders_have_neither(vsa, tmp_path: Path):
    for option in ("--preview", "--dry-run"):
        error = vsa("label", tmp_path, "-t", "label", "-o", tmp_path / "out", option).error
        assert f"{option} is for one file; give one part of the folder" in error
