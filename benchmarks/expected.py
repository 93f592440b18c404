"""What to expect of a bundled network with so many labels, from the records of a suite: models/KIND/expected.json.

    vsa eval --suite CORPUS --split valid --task classification --pool --shots 1,3,5,10 --methods vsa --json pool.jsonl
    python benchmarks/expected.py pool.jsonl

For numbers: `--task regression --shots 10,20,50`. `vsa eval TABLE` quotes the file. Run the commands again for new
weights. Quartiles are over tables, of accuracy (R2 for numbers), by labels of a class (labels) and groups of numbers of
classes.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

from vsacli.checkpoints.resolve import bundled_folder
from vsacli.evaluation.expected import EXPECTED_FILE, FIGURES, summarize_tables
from vsacli.evaluation.run import Record


def main() -> None:
    """Write the file of each kind of task that the records have, and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="+", type=Path, help="files that vsa eval --suite --json wrote")
    parser.add_argument("--method", default="vsa", help="its name in the records")
    parser.add_argument("--models", type=Path, default=bundled_folder())
    args = parser.parse_args()
    lines = [line for path in args.records for line in path.read_text(encoding="utf-8").splitlines()]
    records = [Record.from_dict(json.loads(line)) for line in lines]
    records = [r for r in records if r.method == args.method and r.error is None]
    if not records:
        parser.error(f"no answers of {args.method} in these records")
    for kind, figure in FIGURES.items():
        own = [(r.table, r.shot, r.n_classes, r.metrics[figure]) for r in records if r.kind == kind]
        own = [entry for entry in own if math.isfinite(entry[3])]
        if not own:
            continue
        expected = summarize_tables(kind, own)
        path = args.models / kind / EXPECTED_FILE
        path.write_text(_spelled(expected.to_dict()), encoding="utf-8")
        print(path)
        for line in expected.lines:
            classes = "" if line.classes is None else f"{line.classes[0]}-{line.classes[1]} classes, "
            low, middle, high = line.quartiles
            print(f"{classes}{line.labels} labels: {low:.3f} {middle:.3f} {high:.3f} over {line.tables} tables")


def _spelled(content: dict[str, Any]) -> str:
    """JSON with one line of the table in a line."""
    lines = ",\n  ".join(json.dumps(line) for line in content.pop("lines"))
    return json.dumps(content)[:-1] + f', "lines": [\n  {lines}\n]}}\n'


if __name__ == "__main__":
    main()
