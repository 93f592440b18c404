"""`make demo`: label a real table with the bundled checkpoint and compare with the labels that were hidden."""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
TARGET = "metal"


def column(path: Path, name: str) -> list[str]:
    with open(path, newline="", encoding="utf-8") as file:
        return [row[name] for row in csv.DictReader(file)]


def main(vsa: str) -> None:
    """Run the command as a user types it, then count."""
    table = HERE / "elements.csv"
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "labeled.csv"
        print(f"$ vsa label sample_data/{table.name} --target {TARGET} --output labeled.csv", flush=True)
        subprocess.run([vsa, "label", table, "--target", TARGET, "--output", output], check=True)
        before, after = column(table, TARGET), column(output, TARGET)
        names = column(output, "name")
    truth = column(HERE / "elements-truth.csv", TARGET)
    hidden = [i for i, label in enumerate(before) if not label]
    right = sum(after[i] == truth[i] for i in hidden)
    print("\nSome of the rows that had no label:\n")
    for i in hidden[:: max(1, len(hidden) // 8)]:
        remark = "" if after[i] == truth[i] else f"   (it is: {truth[i]})"
        print(f"  {names[i]:<14} {after[i]}{remark}")
    print(
        f"\n{right} of the {len(hidden)} hidden labels are right ({right / len(hidden):.0%}), "
        f"learned from {len(before) - len(hidden)} given ones."
    )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "vsa")
