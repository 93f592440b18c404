"""How given numbers are written, so that new ones are spelled alike."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from vsacli.tables.numbers.digits import ASCII, Script
from vsacli.target.written_number import WrittenNumber

_LEAST_SIGNIFICANT = 6  # fills never carry fewer significant digits than this for want of digits in the given ones
_MOST_SIGNIFICANT = 15  # what a double holds for certain

T = TypeVar("T")


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
    lakhs: bool = False  # thousands are set apart as in India: 12,34,567
    brackets: str = ""  # how negative numbers are written, if not with a sign: "(" or, behind the prefix, "$("
    trailing: bool = False  # the sign stands at the end
    wrapped: bool = False  # ="12.5"
    feet: tuple[str, str] | None = None  # 5'11": what follows feet, and what follows inches
    script: Script = ASCII

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
        negative = [n for n in given if n.value < 0]
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
            lakhs=any(n.lakhs for n in given),
            brackets=_usual((n.brackets for n in negative), ""),
            trailing=_usual((n.trailing for n in negative), False),
            wrapped=_usual((n.wrapped for n in given), False),
            feet=_usual((n.feet for n in given), None),
            script=_usual((n.script for n in given if n.script != ASCII), ASCII),
        )

    def spell(self, value: float) -> str:
        """Write one number. It must be finite."""
        if not math.isfinite(value):
            raise ValueError(f"{value} cannot be written as a number")
        text = self._in_feet(value) if self.feet else self._with_sign(value)
        text = self.script.write(text, self.decimal)
        return f'="{text}"' if self.wrapped else text

    def _in_feet(self, inches: float) -> str:
        assert self.feet is not None
        inches = round(max(inches, 0.0), self.decimals)
        feet = int(inches // 12)
        rest = f"{inches - 12 * feet:.{self.decimals}f}"
        if not self.padded and "." in rest:
            rest = rest.rstrip("0").rstrip(".")
        return f"{feet}{self.feet[0]}{rest.replace('.', self.decimal)}{self.feet[1]}"

    def _with_sign(self, value: float) -> str:
        size = abs(value)
        small_or_huge = size != 0 and not 1e-4 <= size < 1e16
        if self.exponent_always or (self.exponent and small_or_huge):
            digits = self._with_exponent(size)
        else:
            digits = self._positional(size)
        zero = not re.search("[1-9]", re.split("[eE]", digits)[0])
        sign = "" if zero else self.minus if value < 0 else "+" if self.plus else ""
        if sign == self.minus and self.brackets == "(":
            return f"({self.prefix}{digits}{self.suffix})"
        if sign == self.minus and self.brackets:
            return f"{self.prefix}({digits}){self.suffix}"
        if self.trailing:
            return f"{self.prefix}{digits}{self.suffix}{sign}"
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
            whole = _set_apart(whole, self.group, self.lakhs)
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


def _set_apart(whole: str, mark: str, lakhs: bool) -> str:
    """Set thousands apart, or (in India) thousands and then every two digits."""
    if not lakhs or len(whole) <= 3:
        return f"{int(whole):,}".replace(",", mark)
    head = re.sub(r"(?<=\d)(?=(\d\d)+$)", mark, whole[:-3])
    return f"{head}{mark}{whole[-3:]}"


def _most(values: Iterable[str]) -> str:
    return _usual(values, "")


def _usual(values: Iterable[T], default: T) -> T:
    counts = Counter(values)
    return counts.most_common(1)[0][0] if counts else default
