"""Kill `vsa label` with SIGKILL at random moments of its writing: the target is the old file or the whole new one.

    python tests/faults/kill_writing.py [KILLS] [SEED]

The table is labeled in place, alternately as text and as Parquet. All its labels are of one class, so that the fill
needs no network and nearly all the time goes into reading and writing. The libraries are loaded once and every run is
a fork. Prints what was found, a count a line; exit code 1 if any file was neither.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import pyarrow as pa
import pyarrow.parquet as pq

from vsacli.cli import main

ROWS = 200_000


def make(folder: Path) -> dict[str, bytes]:
    """Tables with half of the labels missing, by file name."""
    text = b"x,label\n" + b"".join(b"%d.5,%s\n" % (k, b"yes" if k % 2 else b"") for k in range(ROWS))
    table = pa.table({"x": range(ROWS), "label": ["yes" if k % 2 else None for k in range(ROWS)]})
    pq.write_table(table, folder / "made.parquet", row_group_size=20_000, use_dictionary=False)
    return {"t.csv": text, "t.parquet": (folder / "made.parquet").read_bytes()}


def start(path: Path) -> int:
    """Label the file in place in a process of its own; its id."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(main(["label", str(path), "-t", "label", "-o", str(path), "-q"]))
        finally:
            os._exit(99)
    return child


def finish(child: int) -> int:
    """Its exit code, negative for the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def writing(folder: Path) -> bool:
    return any(name.startswith(".vsa-") for name in os.listdir(folder))


def run(kills: int, seed: int) -> Counter[str]:
    moments, found = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        made = Path(name) / "made"
        made.mkdir()
        old = make(made)
        new, seconds = {}, {}
        for file, data in old.items():
            path = Path(name) / file
            path.write_bytes(data)
            child = start(path)
            while not writing(Path(name)):
                time.sleep(0.0005)
            begin = time.perf_counter()
            assert finish(child) == 0
            seconds[file], new[file] = time.perf_counter() - begin, path.read_bytes()
            assert new[file] != data
            assert not writing(Path(name))
        for k in range(kills):
            file = list(old)[k % 2]
            path = Path(name) / file
            path.write_bytes(old[file])
            child = start(path)
            while not writing(Path(name)):
                time.sleep(0.0005)
            time.sleep(moments.uniform(0, 1.1 * seconds[file]))
            os.kill(child, signal.SIGKILL)
            code = finish(child)
            data = path.read_bytes()
            state = "old" if data == old[file] else "new" if data == new[file] else "neither"
            found[f"{state}, {'killed' if code == -signal.SIGKILL else f'ended before with {code}'}"] += 1
            for left in Path(name).glob(".vsa-*"):
                left.unlink()
    return found


if __name__ == "__main__":
    given = [int(arg) for arg in sys.argv[1:]]
    outcome = run(*given, *(100, 0)[len(given) :])
    for what, count in sorted(outcome.items()):
        sys.stdout.write(f"{count:4d}  {what}\n")
    sys.exit(any(what.startswith("neither") for what in outcome))
