"""`make demo`: label a real table with the bundled checkpoint and compare with the labels that were hidden.

The table is one that the checkpoint has not seen: 1,797 scanned digits, three of each labeled.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
TARGET = "digit"


def column(path: Path) -> list[str]:
    """The target as it is in a file."""
    with open(path, newline="", encoding="utf-8") as file:
        return [row[TARGET] for row in csv.DictReader(file)]


def main(vsa: str) -> None:
    """Run the command as a user types it, then count."""
    command = ["vsa", "label", "sample_data/digits.csv", "--target", TARGET, "--output"]
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "labeled.csv"
        print("$", *command, "labeled.csv", flush=True)
        subprocess.run([vsa, *command[1:], output], check=True, cwd=HERE.parent)
        before, after = column(HERE / "digits.csv"), column(output)
    truth = column(HERE / "digits-truth.csv")
    hidden = [i for i, label in enumerate(before) if not label]
    right = Counter(truth[i] for i in hidden if after[i] == truth[i])
    print("\nOf the digits whose label was hidden:\n")
    for digit, count in sorted(Counter(truth[i] for i in hidden).items()):
        print(f"  {digit}: {right[digit]:>4} of {count} right")
    print(
        f"\n{right.total():,} of {len(hidden):,} hidden labels are right ({right.total() / len(hidden):.1%}), "
        f"learned from {len(before) - len(hidden)} given ones."
    )


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).absolute()) if len(sys.argv) > 1 else "vsa")
