"""Tables within so many columns: whole numbers, names that can still be told apart."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from vsacli.cli.layout import Section, shortened, told_apart, wrapped
from vsacli.cli.sections import plain

NAMES = st.lists(st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), min_size=1, max_size=60))


def test_columns_that_do_not_fit_stand_below() -> None:
    section = Section("T", ["method", *(f"figure {i}" for i in range(6))], [["a", *["0.123 ± 0.456"] * 6]])
    for width in (40, 80, 100, 200):
        text = plain(section, width)
        assert max(map(len, text.splitlines())) <= width
        assert len(re.findall(r"0\.123 ± 0\.456", text)) == 6
    assert len(plain(section, 200).splitlines()) == 3
    assert plain(section, 40).count("method") == 3


def test_what_names_have_in_common_is_left_out() -> None:
    names = [f"{'a' * 40}{c}{'b' * 40}" for c in "xyz"]
    short = told_apart([*names, "short"], 12)
    assert [re.sub("[^xyz]", "", s) for s in short[:3]] == ["x", "y", "z"]
    assert short[3] == "short"
    assert told_apart(["x", "x"], 5) == ["x", "x"]


@settings(max_examples=30)
@given(NAMES, st.integers(8, 40))
def test_different_names_stay_different(names: list[str], width: int) -> None:
    short = told_apart(names, width)
    assert all(cell_len(s) <= width for s in short)
    assert len(set(short)) == len(set(names))


@settings(max_examples=30)
@given(st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"])), st.integers(8, 40))
def test_lines_are_not_wider(text: str, width: int) -> None:
    assert cell_len(shortened(text, width)) <= width
    lines = wrapped(text, width, "  ")
    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
