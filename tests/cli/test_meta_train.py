"""`vsa meta-train` as a user meets it: a folder of tables in, a checkpoint out, stopped, killed and resumed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from vsacli.nn.config import VSAConfig
from vsacli.training.folder import read_metrics
from vsacli.training.loop import Trainer
from vsacli.training.run import RunSpec

TINY = [
    *("--model", "layers=1", "--model", "width=8", "--model", "heads=2", "--model", "head_width=4"),
    *("--model", "ff_width=8", "--model", "channels=2", "--preset", "small"),
]
EPISODES = ["--batch", "3", "--shots", "1-2", "--unlabeled", "3-5"]


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """One thread here and in child processes, so that sums are taken in the same order; and a cache of their own."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("VSA_CACHE", str(tmp_path / "cache"))
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Ten tables with their labels in `target`, of which two lie in another folder, and one that is of no use."""
    rng = np.random.default_rng(0)
    place = tmp_path / "tables"
    (place / "more").mkdir(parents=True)
    for i in range(10):
        lines = ["size,colour,target"]
        for row in range(40):
            word = "ab"[row % 2]
            colour = rng.choice(["red", "blue"] if word == "a" else ["blue", "green"])
            lines.append(f"{rng.normal(row % 2 * 3, 1):.3f},{colour},{word}")
        (place / ("more" if i > 7 else "") / f"t{i}.csv").write_text("\n".join(lines) + "\n")
    (place / "one.csv").write_text("size,target\n" + "1,a\n" * 30)
    return place


def command(folder: Path, output: Path, *more: str) -> list[str]:
    return ["meta-train", "--data", str(folder), "-o", str(output), *TINY, *EPISODES, *more]


def weights_of(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "state" / "model.safetensors")


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)


def test_from_a_folder_to_labels(vsa, folder: Path, tmp_path: Path):
    run = tmp_path / "run"
    done = vsa(*command(folder, run, "--steps", "8", "--validate-every", "4", "--workers", "0"))
    assert (done.code, done.stdout) == (0, b"")
    assert "vsa: data: 10 tables, 7 train, 1 valid, 2 test" in done.stderr
    assert re.search(r"vsa: data skipped: one.csv: \w+", done.stderr), done.stderr
    assert re.search(r"step 8, .* validation .*accuracy", done.stderr)
    assert f"--checkpoint {run}" in done.stderr
    names = {p.name for p in run.iterdir()}
    assert {"config.json", "model.safetensors", "README.md", "metrics.jsonl", "run.json", "split.json"} <= names
    assert (run / "curves.png").read_bytes()[:4] == b"\x89PNG"
    assert [r["step"] for r in read_metrics(run / "metrics.jsonl") if "valid_loss" in r] == [4, 8]
    split = json.loads((run / "split.json").read_text())
    assert [t["split"] for t in split["tables"]].count("train") == 7
    assert split["skipped"][0][0] == "one.csv"
    card = (run / "README.md").read_text()
    assert re.search(r"Training: [48] steps", card)
    assert "| accuracy@1 | 0." in card
    assert 0.25 <= json.loads((run / "config.json").read_text())["meta"]["calibration"]["temperature"] <= 4

    table = tmp_path / "table.csv"
    table.write_text("x,y\n" + "1,a\n9,b\n" * 3 + "2,\n8,\n")
    labeled = vsa("label", table, "--target", "y", "--checkpoint", run)
    assert labeled.code == 0
    cells = [line.split(",")[1] for line in labeled.stdout.decode().splitlines()[-2:]]
    assert all(cell in ("a", "b") for cell in cells)

    again = vsa(*command(folder, run, "--steps", "8"))
    assert "holds a run or a checkpoint already" in again.error
    assert "--resume" in again.error


def test_a_run_that_cannot_begin_names_each_cause_and_leaves_nothing(vsa, folder: Path, tmp_path: Path):
    run, bare = tmp_path / "run", tmp_path / "bare"
    bare.mkdir()
    (bare / "a.csv").write_text("x,label\n1,a\n2,b\n" * 5)
    (bare / "b.csv").write_text("x,target\n" + "1,a\n" * 9)
    told = vsa(*command(bare, run, "--steps", "1")).error
    assert "no table to learn from" in told
    assert "a.csv: has no column 'target'" in told
    assert "b.csv: " in told
    assert "--target COL names the label column" in told
    assert not run.exists()
    (bare / "b.csv").write_text("x,target\n" + "".join(f"{i},{'ab'[i > 0]}\n" for i in range(3)))
    (bare / "a.csv").unlink()
    told = vsa(*command(bare, run, "--steps", "1", "--episodes", "plain")).error
    assert re.search("no table to learn from|no episode can be drawn", told)
    assert not run.exists()
    # The same folder takes the run that can begin.
    assert vsa(*command(folder, run, "--steps", "1", "--workers", "0", "-q")).code == 0


def test_regression_from_the_prior(vsa, tmp_path: Path):
    options = ["--kind", "regression", "--shots", "5-6", "--unlabeled", "8-9", "--batch", "2", "--attributes", "3"]
    more = ["--steps", "2", "--workers", "0", "--validate-every", "5", "-q"]
    done = vsa("meta-train", "--synthetic", "prior", "-o", tmp_path / "run", *TINY, *options, *more)
    assert (done.code, done.stderr) == (0, "")
    config = RunSpec.load(tmp_path / "run").config
    assert (config.model.kind, config.episodes.labeled_rows, config.episodes.unlabeled_rows) == (
        "regression",
        (5, 6),
        (8, 9),
    )
    records = read_metrics(tmp_path / "run" / "metrics.jsonl")
    assert np.isfinite([r["valid_mse"] for r in records if "valid_mse" in r]).all()


def test_on_some_of_the_tables(vsa, vsa_process, folder: Path, tmp_path: Path):
    """Three of seven training tables: shown, recorded in the folder, and the same three when the run is resumed."""
    run = tmp_path / "few"
    more = ["--steps", "2", "--workers", "0"]
    done = vsa_process(*command(folder, run, "--tables", "3", "--seed", "1", *more))
    assert (done.code, done.stdout) == (0, b"")
    assert "vsa: data: 6 tables, 3 train, 1 valid, 2 test" in done.stderr
    assert "vsa: learned from: 3 of 7 training tables, of 3 families" in done.stderr
    assert json.loads((run / "run.json").read_text())["sources"]["tables"] == 3
    assert "learned from: 3 of 7 training tables" in (run / "README.md").read_text()
    assert "3 of 7 training tables" in json.loads((run / "config.json").read_text())["meta"]["data"]
    split = json.loads((run / "split.json").read_text())["tables"]
    assert [t["split"] for t in split].count("train") == 3
    assert vsa("meta-train", "--resume", "-o", run, "--steps", "3", "--workers", "0", "-q").code == 0
    assert json.loads((run / "split.json").read_text())["tables"] == split

    for number, words, code in (
        ("8", "--tables 8: there are 7 tables to train on; give a number up to that, or leave out --tables", 2),
        ("0", "--tables", 2),
        ("-3", "--tables", 2),
        ("many", "--tables", 2),
        ("2.5", "--tables", 2),
    ):
        refused = vsa(*command(folder, tmp_path / "refused", "--tables", number, *more))
        assert words in refused.error
        assert refused.code == code
        assert not (tmp_path / "refused" / "state").exists()


def start(folder: Path, run: Path, *more: str) -> subprocess.Popen[bytes]:
    args = command(folder, run, *more)
    return subprocess.Popen([sys.executable, "-m", "vsacli", *args], stderr=subprocess.PIPE, stdout=subprocess.PIPE)


def wait_for_step(run: Path, step: int, process: subprocess.Popen[bytes]) -> None:
    """Until a state of that step or a later one is saved."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        assert process.poll() is None, process.communicate()[1].decode()
        try:
            if json.loads((run / "state" / "state.json").read_text())["step"] >= step:
                return
        except (OSError, ValueError):
            pass
        time.sleep(0.002)
    raise AssertionError("no state within two minutes")


def test_killed_and_interrupted_it_ends_with_the_weights_of_an_unbroken_run(vsa, folder: Path, tmp_path: Path):
    settings = ["--steps", "100", "--save-every", "2", "--validate-every", "60", "--seed", "3"]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert vsa(*command(folder, whole, *settings, "--workers", "0", "-q")).code == 0

    process = start(folder, broken, *settings)
    wait_for_step(broken, 6, process)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not same(weights_of(whole), weights_of(broken))

    process = subprocess.Popen(
        [sys.executable, "-m", "vsacli", "meta-train", "--resume", "-o", broken], stderr=subprocess.PIPE
    )
    wait_for_step(broken, 20, process)
    process.send_signal(signal.SIGTERM)
    told = process.communicate()[1].decode()
    assert process.returncode == 128 + signal.SIGTERM
    assert "resumed: from step" in told
    stopped = re.search(r"vsa: stopped at step (\d+), which is saved; resume with: (vsa .*)", told)
    assert stopped is not None
    assert "Traceback" not in told
    assert json.loads((broken / "state" / "state.json").read_text())["step"] == int(stopped[1])

    words = stopped[2].split()
    assert words[0] == "vsa"
    assert vsa(*words[1:], "--workers", "0").code == 0
    assert same(weights_of(whole), weights_of(broken))
    assert same(load_file(whole / "model.safetensors"), load_file(broken / "model.safetensors"))
    validated = [
        [(r["step"], r["valid_loss"]) for r in read_metrics(run / "metrics.jsonl") if "valid_loss" in r]
        for run in (whole, broken)
    ]
    assert validated[0] == validated[1]


def test_ctrl_c_in_a_terminal_reaches_worker_processes_too(folder: Path, tmp_path: Path):
    run = tmp_path / "run"
    args = command(folder, run, "--max-time", "10m", "--save-every", "1", "--workers", "2")
    process = subprocess.Popen([sys.executable, "-m", "vsacli", *args], stderr=subprocess.PIPE, start_new_session=True)
    wait_for_step(run, 2, process)
    os.killpg(process.pid, signal.SIGINT)
    told = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 130
    assert "finishing the step and saving" in told
    assert "vsa: stopped at step" in told
    assert "Traceback" not in told
    assert (run / "model.safetensors").is_file()


@pytest.mark.parametrize("structure", ["false", "true"])
def test_two_processes_are_one_with_the_doubled_batch(folder: Path, tmp_path: Path, structure: str):
    """Also where a gate of the network has nothing to do in one of them: only some tasks have a structure."""
    run = tmp_path / "run"
    args = command(folder, run, "--steps", "6", "--validate-every", "1", "--workers", "0", "--precision", "float32")
    args += ["--model", f"structure={structure}"]
    launch = ["torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "vsacli"]
    done = subprocess.run(
        [sys.executable, "-m", *launch, *args], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "vsa: processes: 2" in done.stderr
    assert done.stderr.count("vsa: end: done") == 1
    together = [r for r in read_metrics(run / "metrics.jsonl") if "valid_loss" in r]

    from dataclasses import replace

    from vsacli.training.run import validation_of
    from vsacli.training.sources import collect

    spec = RunSpec.load(run)
    config = replace(spec.config, join=2)
    collection = collect(spec.sources, "classification", cache=tmp_path / "cache")
    sampler = collection.sampler("classification", config.episodes, config.seed, config.plain)
    alone = Trainer(config, sampler, validation_of(collection, config), tmp_path / "alone", torch.device("cpu"))
    alone.run()
    doubled = [r for r in read_metrics(tmp_path / "alone" / "metrics.jsonl") if "valid_loss" in r]
    assert [(r["step"], r["tasks"]) for r in together] == [(r["step"], r["tasks"]) for r in doubled]
    assert [r["tasks"] for r in together] == [6, 12, 18, 24, 30, 36]
    assert [r["valid_loss"] for r in together] == pytest.approx([r["valid_loss"] for r in doubled], rel=1e-5)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--steps", "5"], "nothing to learn from: give --data DIR"),
        (["--synthetic", "prior"], "give --steps or --max-time"),
        (["--synthetic", "prior", "--max-time", "30"], "--max-time 30: give a time with its unit"),
        (["--synthetic", "prior", "--steps", "5", "--shots", "5-1"], "--shots 5-1"),
        (["--synthetic", "prior", "--steps", "5", "--batch", "2", "--cells", "9"], "--batch and --cells"),
        (["--synthetic", "prior", "--steps", "5", "--model", "depth=3"], "--model depth=3"),
        (["--synthetic", "prior", "--steps", "5", "--learning-rate", "nan"], "--learning-rate is nan"),
        (["--synthetic", "prior", "--steps", "5", "--weight", "openml=2"], "'openml', which is not a source"),
        (["--synthetic", "circle-spiral", "--steps", "5", "--kind", "regression"], "classes only"),
        (["--synthetic", "moons", "--steps", "5"], "moons"),
        (["--data", "nowhere", "--steps", "5"], "nowhere: no such folder"),
        (["--resume"], "no run to resume here"),
        (["--resume", "--tables", "3"], "a resumed run keeps its sources"),
        (["--synthetic", "prior", "--steps", "5", "--tables", "3"], "no tables to choose from"),
        (["--resume", "--preset", "small"], "a resumed run keeps its sources"),
        (["--synthetic", "prior", "--steps", "0"], "--steps"),
    ],
)
def test_errors_are_one_line(vsa, tmp_path: Path, args: list[str], words: str):
    result = vsa("meta-train", "-o", tmp_path / "run", *args)
    assert words in result.error
    assert result.code == (1 if "nowhere" in words or "no run" in words else 2)
    assert not (tmp_path / "run" / "state").exists()


def test_output_that_is_a_file(vsa, tmp_path: Path):
    (tmp_path / "taken").touch()
    result = vsa("meta-train", "--synthetic", "prior", "--steps", "1", "-o", tmp_path / "taken")
    assert "a file, not a folder" in result.error


def test_a_suite_may_be_named_or_not(monkeypatch: pytest.MonkeyPatch, vsa, tmp_path: Path):
    asked: list[RunSpec] = []
    monkeypatch.setattr("vsacli.cli.meta_train.run", lambda spec, *rest: asked.append(spec))
    for words, expected in (
        (["--openml-suite", "--steps", "3"], ("paper",)),
        (["--openml-suite", "99", "--steps", "3"], ("99",)),
        (["--openml-suite=OpenML-CC18", "--steps", "3"], ("OpenML-CC18",)),
        (["--steps", "3", "--openml-suite"], ("paper",)),
        (["--openml-suite", "99", "--openml-suite", "--steps", "3"], ("99", "paper")),
    ):
        assert vsa("meta-train", "-o", tmp_path / "run", *words).code == 0
        assert asked[-1].sources.openml == expected


def test_ablations_and_preset_reach_the_config(monkeypatch: pytest.MonkeyPatch, vsa, tmp_path: Path):
    asked: list[RunSpec] = []
    monkeypatch.setattr("vsacli.cli.meta_train.run", lambda spec, *rest: asked.append(spec))
    words = ["--preset", "paper", "--ablation", "w/oLN", "--ablation", "exampleattn", "--shots", "3", "--steps", "9"]
    assert vsa("meta-train", "--synthetic", "circle-spiral", "-o", tmp_path / "run", *words).code == 0
    config = asked[0].config
    assert isinstance(config.model, VSAConfig)
    assert (config.model.layer_norm, config.model.attribute_attention) == (False, False)
    assert (config.optimizer, config.learning_rate, config.episodes.tasks, config.episodes.shots) == (
        "adam",
        1e-4,
        (8, 8),
        (3, 3),
    )


def test_another_method_from_tables_to_a_comparison(vsa, vsa_process, folder: Path, tmp_path: Path):
    run = tmp_path / "proto"
    options = ["--method", "proto", "--preset", "paper", "--batch", "2", "--steps", "4", "--workers", "0"]
    done = vsa_process("meta-train", "--data", folder, "-o", run, *options)
    assert done.code == 0, done.stderr
    assert "# Proto, classification" in (run / "README.md").read_text()
    resumed = vsa("meta-train", "--resume", "-o", run, "--steps", "6", "-q")
    assert (resumed.code, resumed.stderr) == (0, "")
    plan = ["--shots", "1", "--episodes", "1", "--unlabeled", "5", "--jobs", "1"]
    table = vsa("eval", "--suite", folder, "--methods", "proto,prior", "--checkpoint", run, *plan)
    assert table.code == 0, table.stderr
    assert re.search(r"^proto +0\.\d+ ± ", table.stdout.decode(), re.M)
