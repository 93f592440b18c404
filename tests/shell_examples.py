"""The shell commands of a Markdown page, and a folder in which they run."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.checkpoints.hub.hub_server import TOKEN, HubServer, Repo
from tests.tiny import tiny_model
from vsacli.checkpoints.folder import save_checkpoint
from vsacli.cli import Commands

ROOT = Path(__file__).parent.parent
COMMANDS = ("vsa", "cat", "csvcut", "mlr", "duckdb", "eval", "diff")
SHORTER = {  # what would take long is asked for less, and an invented repository is one of the Hub on loopback
    r"--workers 4": "--workers 1",
    r"\bORG/NAME\b": "lab/model",
}
NOT_HERE = {
    "vsa meta-train": "takes long; tests/training and tests/cli/test_meta_train.py have its options",
    "vsa eval": "takes long; tests/cli/test_eval.py has its options",
    "--openml-suite": "needs OpenML",
    "--engine ray": "needs Ray",
    "--ask": "needs a terminal; tests/cli/test_ask.py has it",
    "completion zsh": "needs zsh; tests/cli/test_completion.py has it",
    "~/.config": "writes where a user's shell looks",
}


@dataclass(frozen=True)
class Block:
    """A fenced block of commands: where it stands and its lines."""

    page: str
    line: int
    commands: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def shell_blocks(page: str) -> list[Block]:
    """The blocks of a page that start with a command which can be run here; the output of a command is not a block."""
    blocks = []
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    start: int | None = None
    for i, line in enumerate(lines):
        if not line.startswith("```"):
            continue
        if start is None:
            start = i
            continue
        if lines[start] in ("```", "```sh"):
            commands = tuple(c for c in lines[start + 1 : i] if _is_command(c.split()))
            if commands:
                blocks.append(Block(page, start + 1, commands))
        start = None
    return blocks


def _is_command(words: list[str]) -> bool:
    if not words or words[0] not in COMMANDS:
        return False
    return words[0] != "vsa" or (len(words) > 1 and words[1] in Commands.registered)


def why_not(command: str) -> str | None:
    """Why a command cannot be run here, if it cannot."""
    for mark, reason in NOT_HERE.items():
        if mark in command:
            return reason
    words = {part.split()[0] for part in command.split(" | ")}
    absent = sorted(word for word in words - {"vsa", "eval", "diff"} if shutil.which(word) is None)
    return f"{', '.join(absent)}: not installed" if absent else None


def short(command: str) -> str:
    for pattern, instead in SHORTER.items():
        command = re.sub(pattern, instead, command)
    return command


def make_sandbox(folder: Path, two_groups: bytes) -> None:
    """Fill a folder with everything that the pages name: tables and parts."""
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    (folder / "sample_data").symlink_to(ROOT / "sample_data")
    for name in ("data.csv", "new.csv", "old.csv", "table.csv"):
        (folder / name).write_bytes(two_groups.replace(b"label", b"class"))
    table = pc.read_csv(folder / "data.csv")
    labels = table["class"].to_pylist()
    labels = pa.array([label or None for label in labels])
    (folder / "parts").mkdir()
    for i in range(2):
        part = pa.table({"a": table["x"], "b": table["y"], "state": labels, "y": labels})
        pq.write_table(part, folder / "parts" / f"{i}.parquet")


def make_run(folder: Path) -> None:
    save_checkpoint(folder, tiny_model(), {"folder": str(folder)}, "# Card\n")


def fill_in(path: Path) -> None:
    """What a user does with the rows that --suggest-to wrote: takes the guesses as labels."""
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header[1] == f"{header[0]}_guess"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *([guess, guess, *rest] for _, guess, *rest in rows)])


def run_block(block: Block, folder: Path, server: HubServer) -> list[str]:
    """Run the commands one after another; each must succeed and say nothing but its own lines. Those left out, why."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING", "VSA_"))}
    environment |= {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HF_ENDPOINT": server.root,
        "HF_HOME": str(folder / "home"),
        "HF_TOKEN": TOKEN,
        "OMP_NUM_THREADS": "1",
    }
    left_out = []
    for command in block.commands:
        reason = why_not(command)
        if reason is not None:
            left_out.append(f"{command}: {reason}")
            continue
        if "--labeled next.csv" in command:
            fill_in(folder / "next.csv")
        if "runs/mine" in command and "meta-train" not in command and not (folder / "runs/mine").exists():
            make_run(folder / "runs/mine")
        done = subprocess.run(
            ["bash", "--norc", "-o", "pipefail", "-c", short(command)],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,  # on a machine that also has other work
        )
        assert done.returncode == 0, f"{block}: {command}\n{done.stderr}"
        strange = [line for line in done.stderr.splitlines() if not line.startswith("vsa: ")]
        assert strange == [], f"{block}: {command}\n{done.stderr}"
    return left_out


def hub_with_a_model(folder: Path) -> HubServer:
    """A Hub on loopback whose repository ``lab/model`` has a checkpoint, at main and v2."""
    make_run(folder)
    server = HubServer()
    server.repos["lab/model"] = Repo()
    server.repos["lab/model"].commit({p.name: p.read_bytes() for p in folder.iterdir()}, "main", "v2")
    return server


def run_in_sandbox(block: Block, folder: Path, two_groups: bytes) -> list[str]:
    """`run_block` in a folder with everything that the pages name, beside a Hub of its own."""
    make_sandbox(folder, two_groups)
    server = hub_with_a_model(folder / "published")
    try:
        return run_block(block, folder, server)
    finally:
        server.close()
