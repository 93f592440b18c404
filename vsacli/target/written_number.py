"""Numbers of a label column, with all that it takes to write others alike.

:mod:`vsacli.tables.numbers.notation` says what a number is, for attributes and labels alike. Among labels, only
those with the currency, percent sign or unit of the others are read as numbers. Parentheses mean negative if other
labels are not in them. A limit (``<0.05``, ``65+``) is the number beside the sign, unless most labels are limits.
Spreadsheets write ``="12.5"``. A percentage stays the number that is written: ``45%`` is 45.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from vsacli.tables.numbers.digits import ASCII, Script, to_ascii
from vsacli.tables.numbers.notation import CURRENCY, FACTORS, parse, unit_key

_NO_UNIT = re.compile(rf"\s*(?:%|‰|{CURRENCY})?")
_WRAPPED = re.compile(r'="(.*)"')
_ORDINALS = frozenset({"st", "nd", "rd", "th"})
_MAIN_UNIT = 0.9  # share of the labels with a unit that must have the same, if there are at least ...
_MANY = 10  # ... so many; of fewer, all
_PARTS = ("open", "bound", "sign", "prefix", "inner", "sign2", "number", "exponent", "suffix", "tail")


@dataclass(frozen=True)
class WrittenNumber:
    """A number and how it was written."""

    value: float
    sign: str
    prefix: str
    suffix: str
    whole: str  # digits before the decimal mark, thousands no longer set apart
    fraction: str  # digits after it
    group: str  # what sets thousands apart, "" if nothing does
    mark: bool  # there is a decimal mark
    exponent: str  # "e-05" as written, "" if there is none
    lakhs: bool = False  # thousands are set apart as in India
    brackets: str = ""  # "(": in parentheses; "$(": these follow the prefix
    trailing: bool = False  # the sign stands at the end
    bound: bool = False  # a sign says that the number is a limit or a guess
    wrapped: bool = False  # ="12.5"
    feet: tuple[str, str] | None = None  # what follows feet, and what follows inches
    script: Script = ASCII

    @property
    def affix(self) -> tuple[str, str, bool]:
        """Currency sign, percent sign or unit before and after: what all numbers of a column must share."""
        return self.prefix.strip(), unit_key(self.suffix.strip()), self.feet is not None


def read_number(text: str, decimal: str = ".", *, units: bool = False) -> WrittenNumber | None:
    """Read one cell (without surrounding white space) as a number; None if it is not a finite one.

    Parameters
    ----------
    text
        The cell.
    decimal
        The decimal mark, ``"."`` or ``","``.
    units
        It may have a unit.
    """
    number = _read([text], decimal)[0]
    return number if number is None or units or not _has_unit(number) else None


def _has_unit(number: WrittenNumber) -> bool:
    return _NO_UNIT.fullmatch(number.suffix) is None


def _read(texts: Sequence[str], decimal: str) -> list[WrittenNumber | None]:
    """Read cells as numbers, with a unit or without; None where a cell is not a finite one."""
    wrapped = [_WRAPPED.fullmatch(text) for text in texts]
    spelled = [to_ascii(w[1] if w else text, decimal) for text, w in zip(texts, wrapped, strict=True)]
    found = parse(pa.array([text for text, _ in spelled], pa.large_string()), decimal)
    parts = [pc.struct_field(found.parts, name).to_pylist() for name in _PARTS]
    feet = [pc.struct_field(found.feet, name).to_pylist() for name in ("feet", "mark", "inches", "end")]
    out: list[WrittenNumber | None] = []
    for value, own, tall, (text, script), w in zip(
        found.values.tolist(), zip(*parts, strict=True), zip(*feet, strict=True), spelled, wrapped, strict=True
    ):
        number = None
        if math.isfinite(value):
            number = _number(value, decimal, *own) if tall[0] is None else _in_feet(value, decimal, *tall)
        if number is not None and (w or script is not ASCII or "−" in text):
            sign = number.sign.replace("-", "−") if "−" in text else number.sign
            number = replace(number, sign=sign, wrapped=w is not None, script=script)
        out.append(number)
    return out


def _in_feet(value: float, decimal: str, feet: str, mark: str, inches: str, end: str) -> WrittenNumber:
    fraction = inches.partition(decimal)[2]
    return WrittenNumber(value, "", "", "", feet, fraction, "", bool(fraction), "", feet=(mark, end))


def _number(value: float, decimal: str, *parts: str) -> WrittenNumber | None:
    part = dict(zip(_PARTS, parts, strict=True))
    if part["suffix"].strip() in _ORDINALS:
        return None
    spelled, mark, fraction = part["number"].partition(decimal)
    group = next((c for c in spelled if not c.isdigit()), "")
    pieces = spelled.split(group) if group else [spelled]
    limit = part["tail"] == "+"
    return WrittenNumber(
        value=value,
        sign=part["sign"] or part["sign2"] or ("" if limit else part["tail"]),
        prefix=part["prefix"],
        suffix=part["suffix"],
        whole="".join(pieces),
        fraction=fraction,
        group=group,
        mark=bool(mark),
        exponent=part["exponent"],
        lakhs=len(pieces) > 2 and len(pieces[1]) == 2,
        brackets="(" if part["open"] else "$(" if part["inner"] else "",
        trailing=bool(part["tail"]) and not limit,
        bound=bool(part["bound"]) or limit,
    )


def infinities(texts: Sequence[str], decimal: str = ".") -> list[float]:
    """Infinity for each cell that says so (``inf``, ``-Infinity``, ``∞``, ``1e400``), NaN for any other."""
    found = parse(pa.array(texts, pa.large_string()), decimal)
    values = zip(found.values.tolist(), found.units.to_pylist(), strict=True)
    return [value if math.isinf(value) and _NO_UNIT.fullmatch(unit) else math.nan for value, unit in values]


def read_numbers(texts: Sequence[str], decimal: str = ".") -> tuple[list[WrittenNumber | None], str]:
    """Read the distinct cells of a column as numbers, all written the same way.

    The decimal mark is the given one unless the other one understands more of the cells. Cells whose currency or
    percent sign is not the one that most cells have are not numbers: dollars and euros cannot be compared. Units are
    read if (nearly) all cells that have one have the same.

    Returns
    -------
    numbers
        One for each cell; None if the cell is not a number like the others.
    decimal
        The decimal mark that was taken.
    """
    other = "," if decimal == "." else "."
    readings = {decimal: _read(texts, decimal)}
    if any(number is None or _has_unit(number) for number in readings[decimal]):
        readings[other] = _read(texts, other)
    numbers, mark = _alike(readings, units=False)
    if None in numbers:
        measured, other = _alike(readings, units=True)
        if measured.count(None) < numbers.count(None):
            return measured, other
    return numbers, mark


def _alike(readings: dict[str, list[WrittenNumber | None]], units: bool) -> tuple[list[WrittenNumber | None], str]:
    """The reading with the most numbers, the first of those, less the numbers that are not like the others."""
    allowed = {
        mark: [n if n is None or units or not _has_unit(n) else None for n in numbers]
        for mark, numbers in readings.items()
    }
    decimal = min(allowed, key=lambda mark: allowed[mark].count(None))
    numbers = allowed[decimal]
    n = len(numbers)
    read = [number for number in numbers if number is not None]
    if units:
        read = _of_one_unit(read)
        if not read:
            return [None] * n, decimal
        scaled = iter(read)
        numbers = [None if number is None else next(scaled) for number in numbers]
    bare = ("", "", False)
    affixes = Counter(number.affix for number in read)
    if len(affixes) > 1:
        # of equally frequent ones the last by letters: which stands first in the column makes no difference
        usual = max(affixes, key=lambda affix: (not (units and affix == bare), affixes[affix], affix))
        accepted = {usual, bare} if units else {usual}
        numbers = [number if number is not None and number.affix in accepted else None for number in numbers]
    read = [number for number in numbers if number is not None]
    if read and all(number.brackets and not number.mark and not number.group for number in read):
        return [None] * n, decimal  # (1), (2), (3) number something
    if 2 * sum(number.bound for number in read) > len(read):
        numbers = [None if number is None or number.bound else number for number in numbers]
    return numbers, decimal


def _of_one_unit(numbers: Sequence[WrittenNumber]) -> list[WrittenNumber]:
    """The numbers, if those with a unit have (nearly) all the same; thousands and millions as multiples of one."""
    units = Counter(number.suffix.strip() for number in numbers if number.suffix.strip())
    if not units:
        return []
    if units.keys() <= FACTORS.keys() and len(units) > 1:
        main = units.most_common(1)[0][0]
        suffix = next(number.suffix for number in numbers if number.suffix.strip() == main)
        return [
            replace(n, value=n.value * FACTORS.get(n.suffix.strip(), 1.0) / FACTORS[main], suffix=suffix)
            for n in numbers
        ]
    keys = Counter[str]()
    for unit, count in units.items():
        keys[unit_key(unit)] += count
    most, total = keys.most_common(1)[0][1], keys.total()
    return list(numbers) if most == total or (total >= _MANY and most >= _MAIN_UNIT * total) else []
