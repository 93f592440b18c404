"""Which columns are shown of a row."""

from __future__ import annotations

from pathlib import Path

from vsacli.insight.told_columns import naming_columns, telling_columns
from vsacli.tables.read import read_table

ELEMENTS = Path(__file__).parents[2] / "sample_data" / "elements.csv"


def test_elements_are_known_by_symbol_and_name():
    table = read_table(ELEMENTS)
    target = table.find("metal")
    assert [table.columns[j] for j in naming_columns(table, target)] == ["symbol", "name"]
    shown = telling_columns(table, target, [*naming_columns(table, target), table.find("density"), table.find("name")])
    assert [table.columns[j] for j in shown[:4]] == ["symbol", "name", "density", "atomic number"]
    assert sorted(shown) == [j for j in range(len(table.columns)) if j != target]


def test_without_names_a_code_and_else_nothing(write):
    lines = [f"{i * i},{'abc'[i % 3]}x,{i % 2},{i / 7}" for i in range(20)]
    coded = read_table(write("a.csv", "\n".join(["customer_id,size,t,v", *lines]).encode()))
    assert naming_columns(coded, 2) == [0]
    persons = [f"{1000 + i},Person {i},{i % 2}" for i in range(20)]
    known = read_table(write("c.csv", "\n".join(["id,full name,t", *persons]).encode()))
    assert naming_columns(known, 2) == [1]
    bare = read_table(write("b.csv", "\n".join(["w,size,t,v", *lines]).encode()))
    assert naming_columns(bare, 2) == []


def test_long_texts_and_mostly_empty_columns_do_not_name(write):
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
    lines = [f"{w if i < 2 else ''},{(w + ' ') * 20},{w}" for i, w in enumerate(words)]
    table = read_table(write("a.csv", "\n".join(["seldom,story,word", *lines]).encode()))
    assert naming_columns(table, None) == [2]
