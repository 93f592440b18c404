"""Rows of `--labeled` that are rows of the table to fill."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vsacli.labeling.copies import find_copies
from vsacli.labeling.labeled_table import LabeledContext
from vsacli.tables.read import read_table

TABLE = "nr,when,size,shade,t\n" + "".join(
    f"{n:03},2024-01-{n:02},{1.5 * n:.2f},{'red' if n % 2 else 'blue'},\n" for n in range(1, 13)
)
ROWS = TABLE.splitlines()


def copies(
    write: Callable[[str, bytes], Path], source: str, table: str | Path = TABLE, skip: tuple[int | None, ...] = (4,)
) -> list[bool]:
    labeled = read_table(write("s.csv", source.encode()))
    path = write("t.csv", table.encode()) if isinstance(table, str) else table
    return find_copies(LabeledContext(labeled, read_table(path), np.ones(labeled.n_rows, bool)), skip).any_row.tolist()


def test_rows_of_the_table_are_found_in_any_order_and_others_are_not(write):
    source = [ROWS[0], ROWS[7] + "a", "777,2020-02-02,99.5,red,b", ROWS[2] + "b", ROWS[7] + "a"]
    assert copies(write, "\n".join(source)) == [True, False, True, True]


def test_other_columns_beside_and_in_another_order(write):
    source = "t,row,shade,size,nr,guess\na,3,red,4.50,003,b\nb,9,green,4.50,999,b\n"
    assert copies(write, source) == [True, False]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("3,2024-01-03,4.5,red,a", True),  # as a spreadsheet writes the same numbers
        (" 003 ,2024-01-03,4.50,red ,a", True),
        ("003,03.01.2024,4.50,red,a", True),  # another format of one column
        ("003,2024-01-03,4.75,red,a", True),  # corrected
        ("003,2024-01-05,9.00,blue,a", False),  # the number of a row, and else unlike it
        ("103,2024-02-03,4.50,red,a", False),  # two cells of four by chance
    ],
)
def test_cells_may_be_corrected_or_spelled_otherwise(write, line: str, expected: bool):
    assert copies(write, f"{ROWS[0]}\n{line}\n") == [expected]


def test_a_second_table_of_the_same_kind_has_no_copies(write):
    """Places 1 to 8 of another race: numbered alike, and of other cars."""
    cars = ["ada", "bo", "cy", "di", "ed", "flo", "gus", "hal"]
    one = "place,car,seconds,t\n" + "".join(f"{i + 1},{cars[i]},{70 + i / 7:.3f},\n" for i in range(8))
    two = "place,car,seconds,t\n" + "".join(f"{i + 1},{cars[7 - i]},{71 + i / 9:.3f},a\n" for i in range(8))
    assert copies(write, two, one, skip=(3,)) == [False] * 8


def test_what_is_not_compared(write):
    source = "nr,size,t\n001,1.50,a\n555,9.00,b\n"
    assert copies(write, source) == [True, False]
    assert copies(write, source, skip=(4, 0)) == [True, True]  # then the size alone says which row it is
    assert copies(write, source, skip=(4, 0, 2)) == [False, False]


def test_empty_cells_and_rows_that_are_twins(write):
    table = "a,b,t\n5,,\n6,,\n,x,\n,x,\n"
    assert copies(write, "a,b,t\n5,,k\n,x,k\n", table, skip=(2,)) == [True, False]


def test_long_numbers_are_not_rounded(write):
    table = "id,x,t\n" + "".join(f"90071992547409{n},{n % 2},\n" for n in range(900, 912))
    assert copies(write, "id,x,t\n90071992547409905,1,a\n90071992547409999,1,a\n", table, skip=(2,)) == [True, False]


def test_rows_of_parquet_as_text(write, tmp_path: Path):
    n = 12
    table = pa.table(
        {
            "id": pa.array(range(100, 100 + n), pa.int32()),
            "ratio": pa.array([i / 10 for i in range(n)], pa.float32()),
            "sure": [i % 3 == 0 for i in range(n)],
            "parts": [[i] for i in range(n)],
            "t": pa.nulls(n, pa.string()),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    source = "id,ratio,sure,parts,t\n103,0.3,true,[3],a\n500,0.4,false,[4],a\n"
    assert copies(write, source, tmp_path / "t.parquet") == [True, True]
    assert copies(write, source.replace("500,0.4", "500,7"), tmp_path / "t.parquet") == [True, False]


def test_other_passengers_of_the_same_kind_are_no_copies(write):
    """Most cells agree, since most passengers are alike; fares now and then are those of one other passenger."""
    rng = np.random.default_rng(0)

    def passengers(n: int, label: str) -> str:
        alike = [rng.choice(a, n, p=p) for a, p in ((["m", "f"], [0.8, 0.2]), ([1, 2, 3], [0.1, 0.2, 0.7]))]
        rare = np.where(rng.random((2, n)) < 0.9, "", "B")
        fares = rng.choice(np.arange(10, 90, 0.25), n)
        rows = zip(*alike, *rare, fares, strict=True)
        return "sex,class,deck,boat,fare,t\n" + "".join(",".join(map(str, row)) + f",{label}\n" for row in rows)

    aboard, others = passengers(200, ""), passengers(100, "yes")
    lines = aboard.splitlines()
    found = np.flatnonzero(copies(write, others, aboard, skip=(5,)))
    assert all(others.splitlines()[1 + i].removesuffix("yes") in lines for i in found)
    unchanged = "\n".join([lines[0], *(line + "yes" for line in lines[1:9])])
    assert sum(copies(write, unchanged, aboard, skip=(5,))) >= 3  # those whose fare nobody else paid
