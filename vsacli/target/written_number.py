"""Numbers as a user writes them in a label column, understood with all that it takes to write others alike.

Understood are an optional sign, digits (of any script) with an optional decimal mark (``.`` or ``,``) and exponent,
thousands set apart (``1,204.50``, ``1.204,50``, ``1 204,50``, ``1'204.50``, ``12,04,500``), one currency sign or code
before or after, ``%`` or ``‰`` after, or a unit that all labels have (``59.3 kg``). Also negative are ``(400.22)``, if
others are not in parentheses, and ``400.22-``. A limit (``<0.05``, ``65+``) is read as the number beside the sign,
unless most labels are limits. Spreadsheets write ``="12.5"``; heights are written ``5'11"``. A percentage stays the
number that is written: ``45%`` is 45.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from vsacli.attributes.digits import ASCII, Script, to_ascii

_SPACE = r"[ \u00a0\u202f]?"
_CURRENCY = (
    r"[$€£¥₹₩₽₺₪₫₴฿¢]|(?:US|A|C|NZ|HK)\$|USD|EUR|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|CAD|AUD|BRL|R\$|zł|kr|Rs\.?"
)
_UNIT = r"""[^\s\d.,:;()<>+\-−/\\|_=~&@!?*'"%‰#№][^\s\d()'"]{0,11}[23]?(?:[ ][^\s\d()'"]{1,12})?"""
_NUMBER = r"""
    (?P<bound>(?:<=|>=|[<>≤≥~≈])[ ]?)?
    (?P<open>\()? (?P<sign>[+\-−]?) (?P<prefix>(?:{currency}){space})? (?P<inner>\()? (?P<sign2>[+\-−]?)
    (?:
        (?P<grouped>[1-9][0-9]{{0,2}}(?P<group>[{groups}])[0-9]{{3}}(?:(?P=group)[0-9]{{3}})*)
      | (?P<lakhs>[1-9][0-9]?(?:{comma}[0-9]{{2}})+{comma}[0-9]{{3}})
      | (?P<whole>[0-9]*)
    )
    (?:(?P<mark>{mark})(?P<fraction>[0-9]*))?
    (?P<exponent>[eE][+\-]?[0-9]+)?
    (?P<end>\))? (?P<suffix>{space}(?:%|‰|{currency}{unit}))? (?P<close>\))? (?P<tail>[+\-−])?
"""


def _patterns(unit: str) -> dict[str, re.Pattern[str]]:
    return {
        mark: re.compile(
            _NUMBER.format(
                currency=_CURRENCY,
                space=_SPACE,
                unit=unit,
                comma=re.escape(groups),
                groups=groups + r" \u00a0\u202f'’",
                mark=re.escape(mark),
            ),
            re.VERBOSE,
        )
        for mark, groups in ((".", ","), (",", "."))
    }


_BARE, _WITH_UNIT = _patterns(""), _patterns(f"|{_UNIT}")
_WRAPPED = re.compile(r'="(.*)"')
_FEET = re.compile(
    r"(?P<feet>[0-9]{1,2})(?P<mark>\s*(?:['′’]|ft\.?|feet)\s*)(?P<inches>[0-9]{1,2}(?:[.,][0-9]+)?)"
    r"""(?P<end>\s*(?:["″”]|''|′′|’’|in\.?|inches)?)"""
)
_INFINITE = re.compile(r"[+\-−]?(inf(inity)?|∞|[0-9]*\.?[0-9]*e\+?[0-9]+)", re.IGNORECASE)
_ORDINALS = frozenset({"st", "nd", "rd", "th"})
_FACTORS = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "bn": 1e9}
_MAIN_UNIT = 0.9  # share of the labels with a unit that must have the same, if there are at least ...
_MANY = 10  # ... so many; of fewer, all


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


def unit_key(unit: str) -> str:
    """One spelling of a unit: kg, Kg, kgs and kg. are the same; M and m are not."""
    key = unit.rstrip(".")
    return key.casefold().removesuffix("s") if len(key) > 1 else key


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
    wrapped = _WRAPPED.fullmatch(text)
    spelled, script = to_ascii(wrapped[1] if wrapped else text, decimal)
    number = _feet(spelled, decimal) or _number(spelled, decimal, units)
    if number is None or not math.isfinite(number.value):
        return None
    return replace(number, wrapped=wrapped is not None, script=script)


def _feet(text: str, decimal: str) -> WrittenNumber | None:
    found = _FEET.fullmatch(text)
    if found is None:
        return None
    whole, _, fraction = found["inches"].partition(decimal)
    if not whole.isdigit() or not (not fraction or fraction.isdigit()) or float(whole) >= 12:
        return None
    value = 12 * int(found["feet"]) + float(f"{whole}.{fraction or '0'}")
    marks = (found["mark"], found["end"])
    return WrittenNumber(value, "", "", "", found["feet"], fraction, "", bool(fraction), "", feet=marks)


def _number(text: str, decimal: str, units: bool) -> WrittenNumber | None:
    found = (_WITH_UNIT if units else _BARE)[decimal].fullmatch(text)
    if found is None:
        return None
    part = found.groupdict(default="")
    whole, fraction = part["whole"], part["fraction"]
    group = part["group"]
    if part["lakhs"]:
        group = "." if decimal == "," else ","
    if group:
        whole = (part["grouped"] or part["lakhs"]).replace(group, "")
    brackets = "(" if part["open"] else "$(" if part["inner"] else ""
    signs = [sign for sign in (part["sign"], part["sign2"], part["tail"], brackets) if sign]
    limit = part["tail"] == "+"
    if (not whole and not fraction) or len(signs) > 1 + limit or _is_ordinal(part["suffix"]):
        return None
    if part["open"] and part["inner"]:
        return None
    if bool(part["open"]) + bool(part["inner"]) != bool(part["end"]) + bool(part["close"]):
        return None
    sign = part["sign"] or part["sign2"] or ("" if limit else part["tail"])
    value = float(f"{whole or '0'}.{fraction or '0'}{part['exponent']}")
    return WrittenNumber(
        value=-value if sign in ("-", "−") or brackets else value,
        sign=sign,
        prefix=part["prefix"],
        suffix=part["suffix"],
        whole=whole,
        fraction=fraction,
        group=group,
        mark=bool(part["mark"]),
        exponent=part["exponent"],
        lakhs=bool(part["lakhs"]),
        brackets=brackets,
        trailing=bool(part["tail"]) and not limit,
        bound=bool(part["bound"]) or limit,
    )


def _is_ordinal(suffix: str) -> bool:
    return suffix.strip() in _ORDINALS


def is_infinite(text: str) -> bool:
    """Whether a cell that :func:`read_number` refuses says infinity: ``inf``, ``-Infinity``, ``∞``, ``1e400``."""
    return _INFINITE.fullmatch(text) is not None


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
    numbers, decimal = _alike(texts, decimal, units=False)
    if None in numbers:
        measured, mark = _alike(texts, decimal, units=True)
        if measured.count(None) < numbers.count(None):
            return measured, mark
    return numbers, decimal


def _alike(texts: Sequence[str], decimal: str, units: bool) -> tuple[list[WrittenNumber | None], str]:
    other = "," if decimal == "." else "."
    numbers = [read_number(text, decimal, units=units) for text in texts]
    if None in numbers:
        again = [read_number(text, other, units=units) for text in texts]
        if again.count(None) < numbers.count(None):
            numbers, decimal = again, other
    read = [number for number in numbers if number is not None]
    if units:
        read = _of_one_unit(read)
        if not read:
            return [None] * len(texts), decimal
        scaled = iter(read)
        numbers = [None if number is None else next(scaled) for number in numbers]
    bare = ("", "", False)
    affixes = Counter(number.affix for number in read)
    if len(affixes) > 1:
        usual = max(affixes, key=lambda affix: (not (units and affix == bare), affixes[affix]))
        accepted = {usual, bare} if units else {usual}
        numbers = [number if number is not None and number.affix in accepted else None for number in numbers]
    read = [number for number in numbers if number is not None]
    if read and all(number.brackets and not number.mark and not number.group for number in read):
        return [None] * len(texts), decimal  # (1), (2), (3) number something
    if 2 * sum(number.bound for number in read) > len(read):
        numbers = [None if number is None or number.bound else number for number in numbers]
    return numbers, decimal


def _of_one_unit(numbers: Sequence[WrittenNumber]) -> list[WrittenNumber]:
    """The numbers, if those with a unit have (nearly) all the same; thousands and millions as multiples of one."""
    units = Counter(number.suffix.strip() for number in numbers if number.suffix.strip())
    if not units:
        return []
    if units.keys() <= _FACTORS.keys() and len(units) > 1:
        main = units.most_common(1)[0][0]
        suffix = next(number.suffix for number in numbers if number.suffix.strip() == main)
        return [
            replace(n, value=n.value * _FACTORS.get(n.suffix.strip(), 1.0) / _FACTORS[main], suffix=suffix)
            for n in numbers
        ]
    keys = Counter[str]()
    for unit, count in units.items():
        keys[unit_key(unit)] += count
    most, total = keys.most_common(1)[0][1], keys.total()
    return list(numbers) if most == total or (total >= _MANY and most >= _MAIN_UNIT * total) else []
