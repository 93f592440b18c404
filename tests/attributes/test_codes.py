"""Codes that all differ: what repeats in them becomes attributes, what does not is left out as an id."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tests.attributes.columns import encode, reason, text

N = 60


def codes(form: str, seed: int = 0) -> list[str]:
    """Cells of one form, with W for one of three words, D for a digit, L for a letter."""
    rng = np.random.default_rng(seed)
    draw = {
        "W": lambda: str(rng.choice(["oak", "ash", "elm"])),
        "D": lambda: str(rng.integers(1, 10)),
        "L": lambda: str(rng.choice(list("bcdfghjklmnpqrst"))),
    }
    cells: list[str] = []
    while len(cells) < N:
        cell = "".join(draw[c]() if c in draw else c for c in form)
        if cell not in cells:
            cells.append(cell)
    return cells


def told_apart(x: np.ndarray, groups: list[str]) -> bool:
    """Whether rows have equal attributes exactly if they are of one group, in some of the attributes."""
    groups_of = np.unique(groups, return_inverse=True)[1]
    zero_one = x[:, np.isin(x, (0, 1)).all(axis=0)]
    _, seen = np.unique(zero_one, axis=0, return_inverse=True)
    return bool(np.array_equal(seen[:, None] == seen, groups_of[:, None] == groups_of))


@pytest.mark.parametrize("form", ["W-DDDDD", "WDDDD", "W_LDDDD", "DDDDD W", "DDDDD-W", "W/DDDD/D"])
def test_the_word_of_a_serial_number_is_a_category(form: str) -> None:
    cells = codes(form)
    x, encoder = encode(text(*cells), "sku")
    assert told_apart(x, [next(w for w in ("oak", "ash", "elm") if w in cell) for cell in cells])
    assert x.shape[1] == encoder.used["sku"] <= 4


@pytest.mark.parametrize(
    ("form", "number", "numbers"),
    [
        ("10.{}.7.9", lambda v: v, 1),
        ("{:.1f} ± 0.4", lambda v: v, 1),
        ("${}-$9999", lambda v: v, 1),
        ("{:.2f} DR", lambda v: v, 1),
        ("{}/80", lambda v: v, 1),
        ("I{:.1f}", lambda v: v, 1),
        ("{}°00'00\"N", lambda v: v, 1),
        ("{}x1080", lambda v: v, 1),
    ],
)
def test_quantities_are_numbers_in_order(form: str, number: object, numbers: int) -> None:
    values = np.random.default_rng(1).permutation(np.arange(20, 20 + N)) * 1.5 if "f" in form else None
    values = np.random.default_rng(1).permutation(np.arange(20, 80) * 3) if values is None else values
    x, _ = encode(text(*(form.format(v) for v in values)))
    assert x.shape[1] == numbers
    assert np.array_equal(np.argsort(x[:, 0]), np.argsort(values))


def test_south_and_west_are_negative() -> None:
    degrees = np.random.default_rng(2).uniform(-60, 60, N)
    for side in ("SN", "WE"):
        plain = text(*(f"{abs(v):.6f}{side[int(v > 0)]}" for v in degrees))
        minutes = text(*(f"{int(abs(v))}°{abs(v) % 1 * 60:.4f}' {side[int(v > 0)]}" for v in degrees))
        for cells in (plain, minutes):
            x, _ = encode(cells, "place")
            assert x.shape[1] == 2  # the side, and the number
            assert np.array_equal(np.argsort(x[:, 1]), np.argsort(degrees))


def test_addresses_of_networks() -> None:
    rng = np.random.default_rng(3)
    x, _ = encode(text(*(f"192.168.{a}.{b}" for a, b in zip(rng.integers(0, 9, N), range(1, N + 1), strict=True))))
    assert x.shape[1] == 1  # two octets are the same everywhere, one counts the rows
    ends = rng.integers(0, 256, (N, 2))
    macs = [f"{first}:{a:02x}:{b:02x}" for first, (a, b) in zip(["00", "f4", "3c"] * 20, ends, strict=True)]
    x, _ = encode(text(*macs))
    assert told_apart(x, [mac[:2] for mac in macs])


def test_brackets_around_some_numbers() -> None:
    values = np.random.default_rng(4).uniform(1, 300, N)
    cells = [f"[{v:.0f}]" if i % 3 == 0 else f"{v:.3f}" for i, v in enumerate(values)]
    x, _ = encode(text(*cells))
    assert x.shape[1] == 2
    assert np.corrcoef(x[:, 1], values)[0, 1] > 0.9
    assert told_apart(x, [cell[0] if cell[0] == "[" else "" for cell in cells])


@pytest.mark.parametrize("form", ["LLDLDLLD", "DDDDLDDD", "KG-DDDDD", "DDDDD-X", "#DDDDD", "L-DDLLDD", "no. DDDDD"])
def test_codes_in_which_nothing_repeats_are_ids(form: str) -> None:
    assert reason(text(*codes(form))).startswith("an id: all 60 values differ")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [12, 80, 400])
def test_random_codes_and_hashes_are_ids(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    hashes = [rng.bytes(8).hex() for _ in range(n)]
    assert "hexadecimal" in reason(text(*hashes)) or n < 12
    alphabet = np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"))
    keys = ["".join(rng.choice(alphabet, 6)) for _ in range(n)]
    assert reason(text(*keys)).startswith("an id")
    counted = [f"row_{i}" for i in range(1, n + 1)]
    assert reason(text(*counted)).startswith("an id")


def test_a_letter_before_a_number_is_read_as_any_other_letter_is() -> None:
    numbers = range(100_007, 100_007 + 3 * N, 3)
    assert reason(text(*(f"C{i}" for i in numbers))).replace("C1", "K1") == reason(text(*(f"K{i}" for i in numbers)))


def test_stretches_that_repeat_anywhere_make_it_text() -> None:
    rng = np.random.default_rng(5)
    cells = ["".join(rng.choice(list("bcdfgklmnprst"), 4)) + ("ova", "sen")[i % 2] for i in range(N)]
    _, encoder = encode(text(*cells), "name")
    assert encoder.left_out == []
    assert [name for name in encoder.attribute_names if name.startswith("name text")]


def test_other_rows_are_encoded_alike() -> None:
    from vsacli.attributes.encoder import AttributeEncoder

    cells = codes("W-DDDDD")
    other = pa.array(np.linspace(0, 1, N))
    encoder = AttributeEncoder().fit([("a", other), ("sku", text(*cells))])
    new = encoder.transform([("a", pa.array([0.0, 0.0])), ("sku", text("ELM-1", "zzz"))])
    shown = dict(zip(encoder.attribute_names, new[0], strict=True))
    assert shown["sku = elm-…"] == 1
    assert new[1, 1:].tolist() == [0, 0, 0]
