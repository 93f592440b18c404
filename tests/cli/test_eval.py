"""`vsa eval` as a user runs it: reports, records, pictures, and what it refuses."""

from __future__ import annotations

import json
import re
import shlex
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vsacli.checkpoints.folder import save_checkpoint
from vsacli.cli.layout import Section
from vsacli.cli.sections import plain, show

from ..tiny import tiny_model

Write = Callable[[str, bytes], Path]


def classes_csv(n: int = 60, labeled: int = 40, wrong: int | None = None, noise: bool = False, seed: int = 0) -> bytes:
    """Two groups far apart; `wrong` is a row whose label is not its group's, `noise` draws all labels."""
    rng = np.random.default_rng(seed)
    code = np.arange(n) % 2
    x = np.where(code == 0, 1.0, 9.0) + rng.normal(0, 0.4, n)
    y = np.where(code == 0, 20.0, 3.0) + rng.normal(0, 0.8, n)
    label = rng.permutation(code) if noise else code.copy()
    if wrong is not None:
        label[wrong] = 1 - label[wrong]
    lines = ["x,y,label"]
    lines += [f"{a:.2f},{b:.2f},{'red' if c else 'blue'}" for a, b, c in zip(x, y, label, strict=True)]
    lines[1 + labeled :] = [line.rsplit(",", 1)[0] + "," for line in lines[1 + labeled :]]
    return ("\n".join(lines) + "\n").encode()


def numbers_csv(n: int = 60, labeled: int = 40, seed: int = 0) -> bytes:
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 1, (n, 2))
    y = 100 + 10 * x[:, 0] + rng.normal(0, 1, n)
    rows = [
        f"{a:.3f},{b:.3f},{c:.2f}" if i < labeled else f"{a:.3f},{b:.3f},"
        for i, ((a, b), c) in enumerate(zip(x, y, strict=True))
    ]
    return ("\n".join(["u,v,price", *rows]) + "\n").encode()


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of three small tables, its cache in this test's own folder."""
    monkeypatch.setenv("VSA_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    folder = Path("suite")
    folder.mkdir()
    for i in range(3):
        (folder / f"t{i}.csv").write_bytes(classes_csv(labeled=60, seed=i).replace(b"label", b"target"))
    return folder


def records(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def table_row(stdout: bytes, title: str, method: str) -> list[str]:
    """The cells of a method's row below a title."""
    lines = stdout.decode().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(title))
    row = next(line for line in lines[start:] if line.split()[:1] == [method])
    return re.split(r"\s{2,}", row)


def test_an_easy_table_can_be_trusted(vsa, write: Write) -> None:
    path = write("easy.csv", classes_csv())
    before = path.read_bytes()
    done = vsa("eval", path, "-t", "label", "--methods", "centroid,prior")
    assert done.code == 0
    text = done.stdout.decode()
    assert "60 rows, 40 with a label" in text
    assert table_row(done.stdout, "Hidden labels", "centroid")[1:] == ["1.000 ± 0.044", "1.000 ± 0.044", "1.000"]
    assert "Yes: about 100% of the labels should be right (95% interval 91-100%)." in text.splitlines()
    assert text.splitlines()[-2] == "Next: fill in the labels."
    assert "Classes (centroid)" not in text
    assert path.read_bytes() == before
    assert re.fullmatch(r"vsa: 2 methods, 10 rounds each: about \d+ s\n", done.stderr)


def test_everything_that_is_known(vsa, write: Write) -> None:
    path = write("easy.csv", classes_csv())
    done = vsa("eval", path, "-t", "label", "--methods", "centroid,prior", "--full", "--thorough", "-q")
    assert table_row(done.stdout, "Hidden labels", "centroid")[1].startswith("1.000 [0.9")
    assert table_row(done.stdout, "Classes (centroid)", "red")[1:] == ["20", "1.000", "1.000", "1.000"]
    assert table_row(done.stdout, "Known class", "blue")[1:] == ["80", "0"]  # each label was hidden four times
    assert table_row(done.stdout, "accuracy by number of labels", "prior")[1:4] == ["0.500", "0.500", "0.500"]
    assert done.stderr == ""


def test_the_next_command_runs(vsa, write: Write, monkeypatch, tmp_path: Path) -> None:
    """Whatever the figures say, the last line is a command that works."""
    monkeypatch.chdir(tmp_path)
    write("it's one.csv", classes_csv())
    write("noise.csv", classes_csv(noise=True))
    write("numbers.csv", numbers_csv(labeled=8))
    for name, target, method, option in (
        ("it's one.csv", "label", "centroid", "--confidence"),
        ("noise.csv", "label", "centroid", "--suggest-to"),
        ("numbers.csv", "price", "ridge", "--suggest-to"),
    ):
        last = vsa("eval", name, "-t", target, "--methods", method).stdout.decode().splitlines()[-1]
        program, *args = shlex.split(last)
        assert program == "vsa"
        assert option in args
        done = vsa(*args)
        assert done.code == 0, done.stderr
        assert (tmp_path / "labeled.csv").read_bytes().count(b"\n") == 61


def test_the_next_command_reads_the_table_in_the_same_way(vsa, write: Write, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    write("t.csv", b"# made up\n" + classes_csv())
    how = ["--task", "classification", "--na", "x=-99", "--na", "?", "--no-default-na", "--exclude", "y"]
    how += ["--delimiter", "comma", "--encoding", "utf-8", "--header-line", "2", "--proportions", "red=1,blue=1"]
    done = vsa("eval", "t.csv", "-t", "label", "--methods", "centroid", *how)
    words = shlex.split(done.stdout.decode().splitlines()[-1])
    assert words[5 : 5 + len(how)] == how
    assert vsa(*words[1:]).code == 0


def test_a_table_without_a_gap_is_not_to_be_filled_in(vsa, write: Write, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    write("full.csv", classes_csv(labeled=60))
    write("noise.csv", classes_csv(labeled=60, noise=True))
    write("NEW.csv", classes_csv(labeled=0))
    for name in ("full.csv", "noise.csv"):
        *_, why, last = vsa("eval", name, "-t", "label", "--methods", "centroid").stdout.decode().splitlines()
        assert why.startswith("Next: label other rows like these" if name == "full.csv" else "Next: label more rows")
        done = vsa(*shlex.split(last)[1:])
        assert done.code == 0, done.stderr
        assert "labels: 60 given" in done.stderr
        assert (tmp_path / "labeled-NEW.csv").read_bytes().count(b"\n") == 61
    shown = " ".join(vsa("eval", "full.csv", "-t", "label", "--methods", "centroid").stdout.decode().split())
    assert "No label is missing, so nothing is left to fill in here." in shown
    assert "If vsa label wrote some of these labels, the figures judge it by its own answers" in shown
    assert "No label is missing" not in vsa("eval", "NEW.csv", "-t", "label", "--labeled", "full.csv").stdout.decode()


def test_the_report_of_a_table_is_narrow(vsa, write: Write) -> None:
    """Names are shortened and columns stand below each other; no number is cut."""
    rng = np.random.default_rng(0)
    names = [f"a rather long name of class {c}, which nobody would want to read twice" for c in "ABCDEFGHIJ"]
    x = rng.normal(0, 1, (90, 2)) + 5 * np.column_stack([np.arange(90) % 10, np.arange(90) % 3])
    cells = [f'{u:.2f},{v:.2f},"{names[i % 10]}"' for i, (u, v) in enumerate(x)]
    path = write(f"{'n' * 90}.csv", "\n".join(["x,y,label", *cells, ""]).encode())
    for full in ((), ("--full",)):
        text = vsa("eval", path, "-t", "label", "--methods", "centroid,prior", *full).stdout.decode()
        assert max(map(len, text.splitlines())) <= 100
        figures = re.findall(r"^centroid +(.*)$", text, re.MULTILINE)
        assert len(figures) == (2 if full else 1)
        assert all(re.fullmatch(r"[\d.±\[\], ]+( m?s)?", line) for line in figures)
    # What the ten names have in common is left out, so that they can be told apart.
    counts = re.findall(r"^… of class [A-J], which no…((?: +\d+)+)$", text, re.MULTILINE)
    assert sum(int(n) for line in counts for n in line.split()) == 90  # the confusion matrix, in parts


def test_a_terminal_of_80_columns(write: Write) -> None:
    from tests.cli.test_hostile_names import on_terminal

    path = write("easy.csv", classes_csv(wrong=3))
    for options in ((), ("--full",)):
        code, told = on_terminal("eval", path, "-t", "label", "--methods", "centroid,prior", "-q", *options, columns=80)
        assert code == 0
        lines = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in told.splitlines()]
        assert max(map(len, lines)) <= 80
        assert any(re.match(r"centroid +0\.975", line) for line in lines)


def test_noise_cannot_be_trusted(vsa, write: Write) -> None:
    done = vsa("eval", write("noise.csv", classes_csv(noise=True)), "-t", "label", "--methods", "centroid")
    assert "\nToo early to say: " in done.stdout.decode()


def test_a_wrong_label_is_found_by_its_line(vsa, write: Write) -> None:
    args = ("eval", write("t.csv", classes_csv(wrong=10)), "-t", "label", "--methods", "centroid")
    assert "1 known label is contradicted and may be a mistake: --full shows it" in vsa(*args).stdout.decode()
    done = vsa(*args, "--full")
    row = [line for line in done.stdout.decode().splitlines() if line.startswith("row 11 (line 12)")]
    assert len(row) == 1
    assert row[0].split()[4:6] == ["blue", "red"] or row[0].split()[4:6] == ["red", "blue"]


def test_few_labels_are_said_to_be_few(vsa, write: Write) -> None:
    done = vsa("eval", write("t.csv", classes_csv(labeled=6)), "-t", "label", "--methods", "centroid")
    assert "\nToo early to say: 6 hidden labels are too few to judge by; " in done.stdout.decode()


def test_numbers(vsa, write: Write) -> None:
    done = vsa("eval", write("n.csv", numbers_csv()), "-t", "price", "--methods", "ridge,prior")
    assert done.code == 0
    ridge, prior = (table_row(done.stdout, "Hidden labels", m) for m in ("ridge", "prior"))
    assert float(prior[1].split()[0]) < 0.1 < 0.9 < float(ridge[1].split()[0])
    assert float(ridge[2]) < 1.5 < 4 < float(prior[2])  # half of the errors, in the units of the table
    assert re.search(r" Yes: half of .* explain 9\d% of their variance", " ".join(done.stdout.decode().split()))


def test_records_of_a_table(vsa, write: Write, tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    done = vsa(
        "eval", write("t.csv", classes_csv()), "-t", "label", "--methods", "centroid,knn", "--json", out, "--thorough"
    )
    assert done.code == 0
    found = records(out)
    # 5 folds x 4 repeats with all labels, 5 folds each for 1, 2, 3, 5 and 10 labels per class
    assert len(found) == 2 * (20 + 5 * 5)
    assert {r["method"] for r in found} == {"centroid", "knn"}
    assert {r["shot"] for r in found} == {0, 1, 2, 3, 5, 10}
    # every label hidden once in each repeat; the twenty rows without label are context and not scored
    assert sum(sum(n for n, _, _ in r["bins"]) for r in found if r["method"] == "knn" and r["shot"] == 0) == 4 * 40
    assert all(r["n_unlabeled"] == 8 + 20 for r in found)
    assert all(0 <= r["metrics"]["accuracy"] <= 1 for r in found)


def test_the_same_seed_gives_the_same_figures(vsa, write: Write, tmp_path: Path) -> None:
    path = write("t.csv", classes_csv(noise=True))
    figures = []
    for seed in ("3", "3", "4"):
        vsa("eval", path, "-t", "label", "--methods", "centroid", "--seed", seed, "--json", tmp_path / "r.jsonl")
        figures.append([(r["shot"], r["episode"], r["metrics"]) for r in records(tmp_path / "r.jsonl")])
    assert figures[0] == figures[1] != figures[2]


def test_standard_input(vsa) -> None:
    done = vsa("eval", "-", "-t", "label", "--methods", "centroid", stdin=classes_csv())
    assert done.code == 0
    assert b"standard input: classification" in done.stdout


def test_checkpoints_are_compared(vsa, write: Write, tmp_path: Path) -> None:
    for name in ("a", "b"):
        save_checkpoint(tmp_path / name, tiny_model("classification"), {}, "card")
    path = write("t.csv", classes_csv(n=30, labeled=8))
    plot = tmp_path / "p.png"
    options = ("--checkpoint", tmp_path / "a", "--checkpoint", tmp_path / "b", "--plot", plot)
    done = vsa("eval", path, "-t", "label", "--methods", "vsa,prior", *options)
    assert done.code == 0, done.stderr
    rows = [table_row(done.stdout, "Hidden labels", m) for m in ("vsa:a", "vsa:b")]
    assert rows[0][1:] == rows[1][1:]  # the same weights
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_the_bundled_network_is_asked_first(vsa, write: Write, tmp_path: Path, monkeypatch) -> None:
    save_checkpoint(tmp_path / "models" / "classification", tiny_model("classification"), {}, "card")
    monkeypatch.setattr("vsacli.checkpoints.resolve.bundled_folder", lambda: tmp_path / "models")
    done = vsa("eval", write("t.csv", classes_csv(n=24, labeled=8)), "-t", "label")
    assert done.code == 0, done.stderr
    assert re.findall(r"^(\S+) +\d\.\d{3} ± ", done.stdout.decode(), re.MULTILINE) == [
        *("vsa", "forest", "logistic", "prior")
    ]
    thorough = vsa("eval", tmp_path / "t.csv", "-t", "label", "--full", "--thorough")
    assert "Classes (vsa)" in thorough.stdout.decode()
    for method in ("vsa", "forest", "logistic", "kernel-ridge", "class-graph", "prior"):
        assert table_row(thorough.stdout, "Hidden labels", method)[1] != "failed"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "either a TABLE with --target, or --suite"),
        (("t.csv", "--suite", "d"), "either a TABLE with --target, or --suite"),
        (("t.csv",), "TABLE needs --target"),
        (("t.csv", "-t", "label", "--shots", "1"), "--shots does not go with a TABLE"),
        (("--suite", "d", "--na", "x"), "--na does not go with --suite"),
        (("--suite", "d", "--shots", "1,x"), "--shots 1,x: give whole numbers"),
        (("--suite", "d", "--shots", "0"), "the smallest number of labels is 1"),
        (("--suite", "nowhere"), "no suite 'nowhere'"),
        (("--suite", "d", "--natural", "--unlabeled", "5"), "--natural takes all rows without a label"),
        (("--suite", "d", "--natural", "--pool"), "--natural and --pool are two settings"),
        (("t.csv", "-t", "class", "--natural"), "--natural does not go with a TABLE"),
        (("t.csv", "-t", "class", "--pool"), "--pool does not go with a TABLE"),
        (("--suite", "d", "--full"), "--full does not go with --suite"),
        (("--suite", "d", "--thorough"), "--thorough does not go with --suite"),
        (("t.csv", "-t", "label", "--plot", "p.bmp"), "--plot p.bmp: the name of a picture ends in .png, .svg, .pdf"),
        (("t.csv", "-t", "label", "--json", "no/such/r.jsonl"), "its folder does not exist"),
        (("t.csv", "-t", "label", "--methods", "logistc"), "did you mean 'logistic'"),
        (("t.csv", "-t", "label", "--methods", "ridge"), "'ridge' does not support classification"),
        (("t.csv", "-t", "lable", "--methods", "knn"), "did you mean 'label'"),
        (("t.csv", "-t", "label", "--checkpoint", "nowhere"), "checkpoint nowhere: no such folder"),
    ],
)
def test_what_is_refused(vsa, write: Write, monkeypatch, tmp_path: Path, args: tuple[str, ...], message: str) -> None:
    write("t.csv", classes_csv())
    monkeypatch.chdir(tmp_path)
    done = vsa("eval", *args)
    assert message in done.error
    assert done.code == (1 if "--checkpoint" in args else 2)


def test_labels_that_cannot_be_hidden(vsa, write: Write, tmp_path: Path) -> None:
    done = vsa("eval", write("t.csv", classes_csv(labeled=2)), "-t", "label", "--methods", "knn")
    assert "every class has a single label" in done.error
    assert "other tables" not in done.error  # it is known of the network, which is not asked
    done = vsa("eval", tmp_path / "t.csv", "-t", "label")
    assert re.search(
        r"every class has a single label.*\. On \d+ other tables with 2 classes and about 1 label ", done.error
    )
    done = vsa("eval", write("t.csv", classes_csv(labeled=1)), "-t", "label", "--methods", "knn")
    assert "of one class" in done.error
    assert done.code == 1


def test_a_method_that_fails_is_named_and_the_others_go_on(vsa, write: Write, monkeypatch) -> None:
    def fails(self, rows, rng):
        raise RuntimeError("out of luck")

    monkeypatch.setattr("vsacli.baselines.linear.Logistic.classify", fails)
    path = write("t.csv", classes_csv())
    done = vsa("eval", path, "-t", "label", "--methods", "centroid,logistic")
    assert done.code == 0
    assert "logistic failed: RuntimeError: out of luck" in done.stdout.decode()
    assert table_row(done.stdout, "Hidden labels", "logistic")[1:] == ["failed"] * 3
    first = vsa("eval", path, "-t", "label", "--methods", "logistic,centroid")
    assert first.code == 1
    assert "logistic failed: RuntimeError: out of luck" in first.stderr


def test_a_suite(vsa, suite: Path, tmp_path: Path) -> None:
    out, plot = tmp_path / "r.jsonl", tmp_path / "p.svg"
    options = ("--methods", "centroid,knn,prior", "--episodes", "2", "--shots", "1,3", "--unlabeled", "10")
    done = vsa("eval", "--suite", suite, *options, "--jobs", "1", "--json", out, "--plot", plot)
    assert done.code == 0, done.stderr
    found = records(out)
    assert len(found) == 3 * 3 * 2 * 2
    mean = np.mean([r["metrics"]["accuracy"] for r in found if r["method"] == "knn" and r["shot"] == 3])
    assert f"{mean:.3f} ±" in table_row(done.stdout, f"{suite}: classification, 3 tables", "knn")[2]
    assert table_row(done.stdout, "Families where centroid wins", "prior")[1:] == ["3 / 0 / 0", "3 / 0 / 0"]
    assert ET.parse(plot).getroot().tag.endswith("svg")


def test_a_suite_goes_on_where_it_was_cut_off(vsa, suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    options = ("--methods", "centroid,knn", "--episodes", "2", "--shots", "1,3", "--unlabeled", "10", "--jobs", "1")
    first = vsa("eval", "--suite", suite, *options, "--json", out)
    lines = out.read_text().splitlines(keepends=True)
    out.write_text("".join(lines[:10]) + lines[10][:20])  # killed in the middle of a line
    again = vsa("eval", "--suite", suite, *options, "--json", out)
    assert "10 of 24 results are in" in again.stderr
    assert out.read_text().splitlines(keepends=True)[:10] == lines[:10]
    timeless = sorted(json.dumps(r | {"seconds": 0}) for r in records(out))
    assert timeless == sorted(json.dumps(json.loads(line) | {"seconds": 0}) for line in lines)
    # the report is that of the unbroken run but for the times
    assert _without_times(again.stdout) == _without_times(first.stdout)
    other = vsa("eval", "--suite", suite, *options, "--seed", "1", "--json", out)
    assert "--seed 0 --unlabeled 10" in other.error


def test_natural_episodes_ask_for_all_other_rows(vsa, suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    options = ("--methods", "prior", "--shots", "2", "--episodes", "1", "--jobs", "1", "--json", out)
    assert vsa("eval", "--suite", suite, *options, "--natural").code == 0
    for r in records(out):
        assert (r["setting"], r["unlabeled"]) == ("natural", 0)
        assert r["n_labeled"] == 2 * r["n_classes"]
        assert r["n_labeled"] + r["n_unlabeled"] == 60
    other = vsa("eval", "--suite", suite, *options)
    assert other.code == 2
    assert "--seed 0 --natural, not with --seed 0 --unlabeled 20" in other.error


def test_pool_episodes_score_all_other_rows(vsa, suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    options = ("--methods", "centroid,prior", "--shots", "1,2", "--episodes", "1", "--jobs", "1", "--json", out)
    done = vsa("eval", "--suite", suite, *options, "--pool")
    assert done.code == 0
    for r in records(out):
        assert (r["setting"], r["unlabeled"]) == ("pool", 1200)
        assert r["n_labeled"] == r["shot"] * r["n_classes"]
        assert r["n_labeled"] + r["n_unlabeled"] == 60
        assert sum(n for n, _, _ in r["bins"]) == r["n_unlabeled"]
    # the two figures have a table each, and the lead a line for each figure and number of labels
    for title, figure in ((": accuracy", "accuracy"), (": balanced", "balanced_accuracy")):
        values = {r["shot"]: [] for r in records(out)}
        for r in records(out):
            if r["method"] == "centroid":
                values[r["shot"]].append(r["metrics"][figure])
        row = table_row(done.stdout, f"{suite}: classification, 3 tables{title}", "centroid")
        assert [cell.split()[0] for cell in row[1:3]] == [f"{np.mean(v):.3f}" for v in values.values()]
    found = {(r["shot"], r["method"], r["table"]): r["metrics"]["balanced_accuracy"] for r in records(out)}
    tables = sorted({r["table"] for r in records(out)})
    difference = [found[2, "centroid", t] - found[2, "prior", t] for t in tables]
    expected = f"{np.mean(difference):+.3f} ± {np.std(difference, ddof=1) / np.sqrt(3):.3f}"
    lines = done.stdout.decode().splitlines()
    leads = [re.split(r"\s{2,}", line) for line in lines if re.match(r"(accuracy|balanced) +\d ", line)]
    assert [line[:3] for line in leads] == [[f, s, "prior"] for f in ("accuracy", "balanced") for s in "12"]
    assert leads[3][3] == expected
    again = vsa("eval", "--suite", suite, *options, "--pool")
    assert "12 of 12 results are in" in again.stderr
    for other, how in (
        (("--natural",), "--seed 0 --natural"),
        (("--pool", "--unlabeled", "9"), "--pool --unlabeled 9"),
    ):
        refused = vsa("eval", "--suite", suite, *options, *other)
        assert refused.code == 2
        assert "drawn with --seed 0 --pool --unlabeled 1200, not with" in refused.error
        assert how in refused.error


def test_results_of_earlier_versions_are_resumed(vsa, suite: Path, tmp_path: Path) -> None:
    """Their records name no setting: 0 unlabeled rows were natural episodes."""
    for options in (("--natural",), ("--unlabeled", "10")):
        out = tmp_path / f"{options[0][2:]}.jsonl"
        command = ("eval", "--suite", suite, "--methods", "prior", "--shots", "1", "--episodes", "1", "--jobs", "1")
        assert vsa(*command, *options, "--json", out).code == 0
        lines = [{k: v for k, v in r.items() if k != "setting"} for r in records(out)]
        out.write_text("".join(json.dumps(r) + "\n" for r in lines))
        assert "3 of 3 results are in" in vsa(*command, *options, "--json", out).stderr
        other = vsa(*command, "--pool", "--json", out)
        assert other.code == 2


def test_results_of_other_weights_are_not_reused(vsa, suite: Path, tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "c", tiny_model("classification"), {}, "card")
    options = ("--methods", "vsa,centroid", "--episodes", "1", "--shots", "1", "--unlabeled", "5", "--jobs", "1")
    command = ("eval", "--suite", suite, *options, "--checkpoint", tmp_path / "c", "--json", tmp_path / "r.jsonl")
    assert vsa(*command).code == 0
    assert "6 of 6 results" in vsa(*command).stderr
    save_checkpoint(tmp_path / "c", tiny_model("classification", width=16), {}, "card")
    assert "3 of 6 results" in vsa(*command).stderr
    assert len(records(tmp_path / "r.jsonl")) == 6


def test_a_file_that_is_no_result_is_not_overwritten(vsa, suite: Path, write: Write) -> None:
    notes = write("notes.txt", b"my notes\n")
    done = vsa("eval", "--suite", suite, "--methods", "prior", "--json", notes)
    assert "notes.txt, line 1: not a result" in done.error
    assert notes.read_bytes() == b"my notes\n"


def test_processes_change_nothing(vsa, vsa_process, suite: Path, tmp_path: Path) -> None:
    options = ("--methods", "prior,centroid", "--episodes", "1", "--shots", "1", "--unlabeled", "10")
    found = []
    for run, jobs in ((vsa, "1"), (vsa_process, "2")):
        out = tmp_path / f"r{jobs}.jsonl"
        done = run("eval", "--suite", suite, *options, "--jobs", jobs, "--json", out)
        assert done.code == 0, done.stderr
        found.append((sorted(json.dumps(r | {"seconds": 0}) for r in records(out)), _without_times(done.stdout)))
    assert found[0] == found[1]


def test_circle_spiral_is_at_hand(vsa) -> None:
    options = ("--methods", "centroid,prior", "--episodes", "1", "--shots", "5", "--jobs", "1")
    done = vsa("eval", "--suite", "circle-spiral", *options)
    assert done.code == 0
    assert "100 tables" in done.stdout.decode()
    # half of the tasks have two classes, half have five: chance is 0.35, as in the paper's table
    assert 0.3 < float(table_row(done.stdout, "circle-spiral: ", "prior")[1].split()[0]) < 0.4


def test_plain_text_is_aligned() -> None:
    section = Section("Title", ["name", "a"], [["x", "1"], ["longer", "22"]], ["note"])
    assert plain(section) == "Title\nname     a\nx        1\nlonger  22\nnote"


def test_a_terminal_gets_a_drawn_table(monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    show([Section("Title", ["name", "[a]"], [["[x]", "1"]], ["note"])], ["closing"])
    text = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    assert "[x]" in text  # brackets are not taken for markup
    assert "[a]" in text
    assert "─" in text
    assert text.rstrip().endswith("closing")


def _without_times(stdout: bytes) -> list[str]:
    """The report's lines, columns one space apart, as a longer time makes a wider column."""
    lines = (re.sub(r"\d+(\.\d+)? m?s$", "", line) for line in stdout.decode().splitlines())
    return [" ".join(line.split()) for line in lines]
