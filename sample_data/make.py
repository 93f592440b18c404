"""Make the tables of this folder again: the same bytes each time.

The real tables are read from scikit-learn and from elements-truth.csv, most of their labels are blanked, and
the synthetic ones are drawn. What each table is, and where it comes from, is told in README.md.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.datasets import load_diabetes, load_digits, load_wine

HERE = Path(__file__).parent
SEED = 20231


def keep_per_class(labels: Sequence[str], count: int, rng: np.random.Generator) -> set[int]:
    """The rows whose labels stay: `count` of each class, at random."""
    rows = defaultdict(list)
    for i, label in enumerate(labels):
        rows[label].append(i)
    return {int(i) for members in rows.values() for i in rng.choice(members, count, replace=False)}


def write_csv(name: str, header: Sequence[str], rows: Iterable[Sequence[object]], **style: str) -> None:
    with open(HERE / name, "w", newline="", encoding=style.pop("encoding", "utf-8")) as file:
        writer = csv.writer(file, **{"lineterminator": "\n", **style})  # pyright: ignore[reportArgumentType]
        writer.writerow(header)
        writer.writerows(rows)


def digits() -> None:
    """1,797 written digits as 64 counts of ink, three labeled ones of each; the answers in digits-truth.csv."""
    data = load_digits()
    labels = [str(code) for code in data.target]
    kept = keep_per_class(labels, 3, np.random.default_rng(SEED))
    names = [f"row {j // 8 + 1} column {j % 8 + 1}" for j in range(64)]
    rows = [[*map(plain, data.data[i]), labels[i] if i in kept else ""] for i in range(len(labels))]
    write_csv("digits.csv", [*names, "digit"], rows)
    write_csv("digits-truth.csv", ["digit"], [[label] for label in labels])


def elements() -> None:
    """elements-truth.csv with the kind of element blanked in all but three rows of each kind."""
    with open(HERE / "elements-truth.csv", newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    target = header.index("metal")
    kept = keep_per_class([row[target] for row in rows], 3, np.random.default_rng(SEED))
    for i, row in enumerate(rows):
        if i not in kept:
            row[target] = ""
    write_csv("elements.csv", header, rows)


def wine() -> None:
    """Three cultivars, five labeled wines of each."""
    data = load_wine()
    labels = [f"cultivar {chr(ord('A') + code)}" for code in data.target]
    rng = np.random.default_rng(SEED + 1)
    kept, order = keep_per_class(labels, 5, rng), rng.permutation(len(labels))
    rows = [[*map(plain, data.data[i]), labels[i] if i in kept else ""] for i in order]
    write_csv("wine.csv", [*data.feature_names, "cultivar"], rows)


def diabetes() -> None:
    """A number to fill in: how far the disease got within a year, known for 40 of 442 patients."""
    data = load_diabetes(scaled=False)
    rng = np.random.default_rng(SEED + 2)
    kept = set(rng.choice(len(data.target), 40, replace=False).tolist())
    names = ["age", "sex", "bmi", "blood_pressure", *data.feature_names[4:], "progression"]
    rows = [[*map(plain, data.data[i]), plain(data.target[i]) if i in kept else "NA"] for i in range(len(data.target))]
    write_csv("diabetes.csv", names, rows)


def two_moons() -> None:
    """Two interleaved half circles with one label each: only the shape of the unlabeled rows tells them apart."""
    rng = np.random.default_rng(SEED + 3)
    angle = rng.uniform(0, np.pi, 200)
    upper = np.arange(200) % 2 == 0
    x = np.where(upper, np.cos(angle), 1 - np.cos(angle)) + rng.normal(0, 0.07, 200)
    y = np.where(upper, np.sin(angle), 0.5 - np.sin(angle)) + rng.normal(0, 0.07, 200)
    rows = [[f"{a:.3f}", f"{b:.3f}", ""] for a, b in zip(x, y, strict=True)]
    rows[0][2], rows[1][2] = "upper", "lower"
    write_csv("moons.csv", ["x", "y", "moon"], rows)


def orders() -> None:
    """As a spreadsheet of many countries saves it: semicolons, decimal commas, CRLF, a byte order mark."""
    rng = np.random.default_rng(SEED + 4)
    rows = []
    for i in range(120):
        express = bool(rng.random() < 0.4)
        weight = float(rng.lognormal(0.8 if express else 2.0, 0.4))
        price = 4.9 + 1.35 * weight + (11.5 if express else 0) + float(rng.normal(0, 0.8))
        day = f"{int(rng.integers(1, 29)):02d}.{int(rng.integers(1, 13)):02d}.2024"
        town = str(rng.choice(["Köln", "Genève", "Łódź", "A Coruña"]))
        known = i % 6 == 0
        rows.append(
            [f"{i + 1:06d}", day, town, comma(weight), "ja" if express else "nein", comma(price) if known else ""]
        )
    header = ["Auftrag", "Datum", "Ort", "Gewicht (kg)", "Express", "Porto"]
    write_csv("orders.csv", header, rows, delimiter=";", lineterminator="\r\n", encoding="utf-8-sig")


def readings() -> None:
    """Parquet with a dictionary-encoded target, nullable integers, booleans and time stamps with a zone."""
    rng = np.random.default_rng(SEED + 5)
    n = 300
    state = rng.choice(["idle", "normal", "overload"], n, p=[0.3, 0.5, 0.2])
    level = np.array([{"idle": 0.0, "normal": 1.0, "overload": 2.0}[name] for name in state])
    current = 2 + 9 * level + rng.normal(0, 2.0, n)
    rpm = (600 + 700 * level + rng.normal(0, 150, n)).astype(np.int32)
    hot = rng.random(n) < 0.05 + 0.4 * level
    known = set(np.concatenate([np.flatnonzero(state == name)[:4] for name in np.unique(state)]).tolist())
    start = np.datetime64("2024-03-01T06:00:00", "ms")
    table = pa.table(
        {
            "reading": pa.array(np.arange(n) + 10**15, pa.int64()),
            "time": pa.array(start + np.arange(n) * np.timedelta64(90_000, "ms"), pa.timestamp("ms", "Europe/Berlin")),
            "current_a": pa.array(np.round(current, 2), pa.float64(), mask=rng.random(n) < 0.05),
            "rpm": pa.array(rpm, pa.int32(), mask=rng.random(n) < 0.1),
            "hot": pa.array(hot, mask=rng.random(n) < 0.1),
            "state": pa.array([s if i in known else None for i, s in enumerate(state)]).dictionary_encode(),
        }
    )
    pq.write_table(table, HERE / "readings.parquet", row_group_size=128, compression="zstd")


def plain(value: float) -> str:
    """As people write it: 14.0 is 14, 14.23 is 14.23."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


def comma(value: float) -> str:
    return f"{value:.2f}".replace(".", ",")


if __name__ == "__main__":
    for make in (digits, elements, wine, diabetes, two_moons, orders, readings):
        make()
