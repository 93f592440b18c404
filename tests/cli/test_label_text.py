"""Labels that depend on what a column of text says."""

from __future__ import annotations

import csv
import io

import numpy as np


def test_few_of_many_phrases_decide(vsa, write) -> None:
    """The six leading components of such texts say little of it: with these alone 55% are right."""
    rng = np.random.default_rng(0)
    ends = ["a", "ino", "ery", "ous"]
    words = ["".join(rng.choice(list("bdfgklmnprst"), 3)) + str(rng.choice(ends)) for _ in range(90)]
    phrases = [" ".join(rng.choice(words, 3, replace=False)) for _ in range(34)]
    truth = np.array(["price", "delivery", "quality"])[np.arange(240) % 3]
    lines = ["comment,stars,topic"]
    for i, k in enumerate(np.arange(240) % 3):
        parts = [*rng.choice(phrases[8 * k : 8 * k + 8], 2, replace=False), *rng.choice(phrases[24:], 2, replace=False)]
        lines.append(f"{'. '.join(rng.permutation(parts))},{rng.integers(1, 6)},{truth[i] if i < 15 else ''}")
    table = write("comments.csv", "\n".join(lines).encode())
    result = vsa("label", table, "-t", "topic")
    assert result.code == 0
    assert "2 used: comment (24 attributes), stars" in result.stderr
    rows = list(csv.DictReader(io.StringIO(result.stdout.decode())))
    right = np.array([row["topic"] for row in rows]) == truth
    assert right[15:].mean() >= 0.7
