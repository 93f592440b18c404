"""Numbers as a user writes them: understood on the way in, spelled alike on the way out.

Understood are an optional sign, digits with an optional decimal mark (``.`` or ``,``) and exponent, thousands set apart
in threes (``1,204.50``, ``1.204,50``, ``1 204,50``, ``1'204.50``), one currency sign or code before or after, and ``%``
or ``‰`` after. A percentage stays the number that is written: ``45%`` is 45.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

_CURRENCY = r"[$€£¥₹₩₽₺₪₫₴]|(?:US|A|C|NZ|HK)\$|USD|EUR|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|CAD|AUD|BRL|R\$|zł|kr"
_NUMBER = r"""
    (?P<sign>[+\-−]?) (?P<prefix>(?:{currency})[ \u00a0\u202f]?)? (?P<sign2>[+\-−]?)
    (?:
        (?P<grouped>[1-9][0-9]{{0,2}}(?P<group>[{groups}])[0-9]{{3}}(?:(?P=group)[0-9]{{3}})*)
      | (?P<whole>[0-9]*)
    )
    (?:(?P<mark>{mark})(?P<fraction>[0-9]*))?
    (?P<exponent>[eE][+\-]?[0-9]+)?
    (?P<suffix>[ \u00a0\u202f]?(?:%|‰|{currency}))?
"""
_PATTERNS = {
    mark: re.compile(
        _NUMBER.format(currency=_CURRENCY, groups=groups + r" \u00a0\u202f'’", mark=re.escape(mark)), re.VERBOSE
    )
    for mark, groups in ((".", ","), (",", "."))
}
_INFINITE = re.compile(r"[+\-−]?(inf(inity)?|∞|[0-9]*\.?[0-9]*e\+?[0-9]+)", re.IGNORECASE)
_LEAST_SIGNIFICANT = 6  # fills never carry fewer significant digits than this for want of digits in the given ones
_MOST_SIGNIFICANT = 15  # what a double holds for certain


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

    @property
    def affix(self) -> tuple[str, str]:
        """Currency or percent sign before and after: what all numbers of a column must share."""
        return self.prefix.strip(), self.suffix.strip()


def read_number(text: str, decimal: str = ".") -> WrittenNumber | None:
    """Read one cell (without surrounding white space) as a number; None if it is not a finite one.

    Parameters
    ----------
    text
        The cell.
    decimal
        The decimal mark, ``"."`` or ``","``.
    """
    found = _PATTERNS[decimal].fullmatch(text)
    if found is None:
        return None
    part = found.groupdict(default="")
    whole, fraction = part["whole"], part["fraction"]
    if part["grouped"]:
        whole = part["grouped"].replace(part["group"], "")
    if (not whole and not fraction) or (part["sign"] and part["sign2"]):
        return None
    sign = part["sign"] or part["sign2"]
    value = float(f"{whole or '0'}.{fraction or '0'}{part['exponent']}")
    if not math.isfinite(value):
        return None
    return WrittenNumber(
        value=-value if sign in ("-", "−") else value,
        sign=sign,
        prefix=part["prefix"],
        suffix=part["suffix"],
        whole=whole,
        fraction=fraction,
        group=part["group"],
        mark=bool(part["mark"]),
        exponent=part["exponent"],
    )


def is_infinite(text: str) -> bool:
    """Whether a cell that :func:`read_number` refuses says infinity: ``inf``, ``-Infinity``, ``∞``, ``1e400``."""
    return _INFINITE.fullmatch(text) is not None


def read_numbers(texts: Sequence[str], decimal: str = ".") -> tuple[list[WrittenNumber | None], str]:
    """Read the distinct cells of a column as numbers, all written the same way.

    The decimal mark is the given one unless the other one understands more of the cells. Cells whose currency or
    percent sign is not the one that most cells have are no numbers: dollars and euros cannot be compared.

    Returns
    -------
    numbers
        One for each cell; None where the cell is no number like the others.
    decimal
        The decimal mark that was taken.
    """
    other = "," if decimal == "." else "."
    numbers = [read_number(text, decimal) for text in texts]
    if None in numbers:
        again = [read_number(text, other) for text in texts]
        if again.count(None) < numbers.count(None):
            numbers, decimal = again, other
    affixes = Counter(number.affix for number in numbers if number is not None)
    if len(affixes) > 1:
        usual = affixes.most_common(1)[0][0]
        numbers = [number if number is not None and number.affix == usual else None for number in numbers]
    return numbers, decimal


@dataclass(frozen=True)
class NumberStyle:
    """How the given numbers are written, so that new ones can be written alike (:meth:`of`, :meth:`spell`)."""

    decimal: str = "."
    decimals: int = 0  # most digits after the decimal mark
    padded: bool = False  # always so many digits: 82.30
    significant: int = _MOST_SIGNIFICANT  # most significant digits
    group: str = ""  # thousands separator
    prefix: str = ""
    suffix: str = ""
    minus: str = "-"
    plus: bool = False  # positive numbers have a sign
    bare_point: bool = False  # .5 and not 0.5
    exponent: str = ""  # "e" or "E" when exponents are used at all
    exponent_always: bool = False
    exponent_plus: bool = False
    exponent_digits: int = 1

    @classmethod
    def of(cls, given: Sequence[WrittenNumber], decimal: str = ".") -> NumberStyle:
        """Read the style off the given numbers.

        Parameters
        ----------
        given
            At least one number, as :func:`read_numbers` returns them.
        decimal
            Their decimal mark.
        """
        powered = [n for n in given if n.exponent]
        always = 2 * len(powered) >= len(given)
        counted = powered if always else [n for n in given if not n.exponent]
        decimals = max(len(n.fraction) for n in counted)
        longest = [n for n in counted if len(n.fraction) == decimals]
        same = len(longest) == len(counted)
        padded = decimals > 0 and (
            same or (2 * len(longest) >= len(counted) and any(n.fraction.endswith("0") for n in longest))
        )
        large = [n for n in given if len(n.whole) > 3 and not n.exponent]
        grouped = [n for n in given if n.group]
        positive = [n for n in given if n.value > 0]
        small = [n for n in given if n.fraction and abs(n.value) < 1 and not n.exponent]
        powers = [n.exponent[1:] for n in powered]
        return cls(
            decimal=decimal,
            decimals=decimals,
            padded=padded,
            significant=max(1, *(len((n.whole + n.fraction).lstrip("0")) for n in given)),
            group=_most(n.group for n in grouped) if 2 * len(grouped) >= len(large) else "",
            prefix=_most(n.prefix for n in given),
            suffix=_most(n.suffix for n in given),
            minus="−" if any(n.sign == "−" for n in given) else "-",
            plus=bool(positive) and all(n.sign == "+" for n in positive),
            bare_point=bool(small) and all(not n.whole for n in small),
            exponent=powered[0].exponent[0] if powered else "",
            exponent_always=bool(powered) and always,
            exponent_plus=any(power.startswith("+") for power in powers),
            exponent_digits=min((len(power.lstrip("+-")) for power in powers), default=1),
        )

    def spell(self, value: float) -> str:
        """Write one number. It must be finite."""
        if not math.isfinite(value):
            raise ValueError(f"{value} cannot be written as a number")
        size = abs(value)
        small_or_huge = size != 0 and not 1e-4 <= size < 1e16
        if self.exponent_always or (self.exponent and small_or_huge):
            digits = self._with_exponent(size)
        else:
            digits = self._positional(size)
        zero = not re.search("[1-9]", re.split("[eE]", digits)[0])
        sign = "" if zero else self.minus if value < 0 else "+" if self.plus else ""
        return f"{sign}{self.prefix}{digits}{self.suffix}"

    def _positional(self, size: float) -> str:
        decimals = self.decimals
        if not self.padded and size:
            significant = min(max(self.significant, _LEAST_SIGNIFICANT), _MOST_SIGNIFICANT)
            decimals = max(0, min(decimals, significant - 1 - math.floor(math.log10(size))))
        text = f"{size:.{decimals}f}"
        whole, _, fraction = text.partition(".")
        if not self.padded:
            fraction = fraction.rstrip("0")
        if self.group:
            whole = f"{int(whole):,}".replace(",", self.group)
        if self.bare_point and fraction and whole == "0":
            whole = ""
        return whole + (self.decimal + fraction if fraction else "")

    def _with_exponent(self, size: float) -> str:
        decimals = self.decimals if self.exponent_always else min(self.significant, _MOST_SIGNIFICANT) - 1
        mantissa, _, power = f"{size:.{decimals}e}".partition("e")
        whole, _, fraction = mantissa.partition(".")
        if not self.padded:
            fraction = fraction.rstrip("0")
        sign = "-" if power.startswith("-") else "+" if self.exponent_plus else ""
        power = power.lstrip("+-").lstrip("0").rjust(self.exponent_digits, "0")
        return whole + (self.decimal + fraction if fraction else "") + self.exponent + sign + power


def _most(values) -> str:
    counts = Counter(values)
    return counts.most_common(1)[0][0] if counts else ""
