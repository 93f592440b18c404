"""Data sets as OpenML has them, for its server on the loopback interface."""

from __future__ import annotations

import numpy as np

from vsacli.tasks.store import TableStore

from .openml_server import DataSet


def numeric(data_id: int, name: str, *, per_class: tuple[int, ...] = (30, 30, 30), columns: int = 3) -> DataSet:
    """Numbers around a centre for each class."""
    rng = np.random.default_rng(data_id)
    y = np.repeat(np.arange(len(per_class)), per_class)
    x = rng.normal(size=(len(y), columns)) + y[:, None]
    classes = [f"c{k}" for k in range(len(per_class))]
    head = "".join(f"@attribute x{j} numeric\n" for j in range(columns))
    rows = "".join(",".join(f"{v:.4f}" for v in row) + f",c{k}\n" for row, k in zip(x, y, strict=True))
    return DataSet(
        data_id,
        name,
        f"@relation r\n{head}@attribute class {{{','.join(classes)}}}\n@data\n{rows}",
        features=[*((f"x{j}", "numeric", []) for j in range(columns)), ("class", "nominal", classes)],
        qualities={
            "NumberOfInstances": len(y),
            "NumberOfFeatures": columns + 1,
            "NumberOfClasses": len(per_class),
            "MinorityClassSize": min(per_class),
        },
    )


def mixed(data_id: int = 20) -> DataSet:
    """Categories, gaps, a row number, an ignored column, and classes that are called None and yes."""
    rows = []
    for i in range(60):
        colour = ("red", "green", "?")[i % 3]
        rows.append(f"{i},{i * 0.5 if i % 7 else '?'},{colour},{i % 5},{'None' if i % 2 else 'yes'}\n")
    return DataSet(
        data_id,
        "mixed",
        "@relation r\n@attribute no numeric\n@attribute size numeric\n@attribute colour {red,green}\n"
        "@attribute secret numeric\n@attribute class {yes,None}\n@data\n" + "".join(rows),
        features=[
            ("no", "numeric", []),
            ("size", "numeric", []),
            ("colour", "nominal", ["red", "green"]),
            ("secret", "numeric", []),
            ("class", "nominal", ["yes", "None"]),
        ],
        extra={"row_id_attribute": "no", "ignore_attribute": "secret"},
    )


def regression(data_id: int = 30, name: str = "slope", n: int = 80) -> DataSet:
    rng = np.random.default_rng(data_id)
    x = rng.normal(size=(n, 2))
    rows = "".join(f"{a:.4f},{b:.4f},{2 * a - b:.4f}\n" for a, b in x)
    return DataSet(
        data_id,
        name,
        f"@relation r\n@attribute a numeric\n@attribute b numeric\n@attribute y numeric\n@data\n{rows}",
        target="y",
        features=[("a", "numeric", []), ("b", "numeric", []), ("y", "numeric", [])],
        qualities={"NumberOfInstances": n, "NumberOfFeatures": 3},
    )


def names(store: TableStore) -> list[str]:
    return [table.name for table in store]
