"""Option values that are more than a word or a number: ranges, durations, shares."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

from vsacli.errors import UsageError

if TYPE_CHECKING:
    from vsacli.prepare import ReadOptions

Texts = TypeVar("Texts", str, list[str], None)

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def parse_share(option: str, text: str) -> float:
    """``0.8`` or ``80%`` as a number from 0 to 1.

    Raises
    ------
    UsageError
        If it is of another form, or beyond.
    """
    try:
        share = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise UsageError(f"{option} {text}: give a number from 0 to 1, or a percentage, such as 0.8 or 80%")
    return share


def restored(value: Texts) -> Texts:
    """Text from the command line that is to match text in a file, also if the locale could not read its UTF-8."""
    if isinstance(value, list):
        return [restored(text) for text in value]
    if isinstance(value, str) and any("\udc80" <= c <= "\udcff" for c in value):
        return os.fsencode(value).decode(errors="surrogateescape")
    return value


def repeated(options: Mapping[str, object]) -> list[str]:
    """Options as words of a command line: those that were given, a list once for each value."""
    words: list[str] = []
    for option, value in options.items():
        if value is True:
            words.append(option)
        elif isinstance(value, Sequence) and not isinstance(value, str):
            words += [word for one in value for word in (option, str(one))]
        elif value is not None and value is not False:
            words += [option, str(value)]
    return words


def reading_again(options: ReadOptions, others: Mapping[str, object]) -> list[str]:
    """Words of a command line that reads a table as these options and others do."""
    own = {
        "--task": None if options.task == "auto" else options.task,
        "--na": options.na,
        "--no-default-na": not options.default_na,
        "--exclude": options.exclude,
        "--include": options.include,
    }
    return repeated({**own, **others})


def parse_range(option: str, text: str, least: int = 1) -> tuple[int, int]:
    """``5`` or ``1-10`` as (low, high).

    Raises
    ------
    UsageError
        If it is something else, or runs downwards.
    """
    found = re.fullmatch(r"(\d+)(?:(?:-|\.\.)(\d+))?", text.strip())
    if found is None:
        raise UsageError(f"{option} {text}: give a number or a range such as 1-10")
    low = int(found[1])
    high = int(found[2]) if found[2] else low
    if low < least or high < low:
        raise UsageError(f"{option} {text}: the range starts at {least} or above and does not run downwards")
    return low, high


def parse_duration(option: str, text: str) -> float:
    """``90s``, ``30m``, ``2h``, ``1h30m``, ``1d`` as seconds.

    Raises
    ------
    UsageError
        If there is no unit, or no such unit.
    """
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd])", text.strip())
    if not parts or "".join(a + b for a, b in parts) != text.strip():
        raise UsageError(f"{option} {text}: give a time with its unit, such as 90s, 30m or 2h")
    seconds = sum(float(n) * _SECONDS[unit] for n, unit in parts)
    if seconds <= 0:
        raise UsageError(f"{option} {text}: the time is 0")
    return seconds


def parse_interval(option: str, text: str) -> tuple[float | None, int | None]:
    """A time with its unit, or a plain number of steps: (seconds, steps), one of them None.

    Raises
    ------
    UsageError
        If it is neither.
    """
    if re.fullmatch(r"\d+", text.strip()):
        steps = int(text)
        if steps < 1:
            raise UsageError(f"{option} {text}: at least 1 step")
        return None, steps
    return parse_duration(option, text), None


def parse_weights(option: str, texts: list[str]) -> dict[str, float]:
    """``NAME=WEIGHT`` items as a dict.

    Raises
    ------
    UsageError
        If one is not of that form, or a name comes twice.
    """
    weights: dict[str, float] = {}
    for text in texts:
        name, _, value = text.partition("=")
        try:
            number = float(value)
        except ValueError:
            raise UsageError(f"{option} {text}: give SOURCE=WEIGHT, such as data=2") from None
        if name in weights:
            raise UsageError(f"{option} {text}: {name} has a weight already")
        weights[name] = number
    return weights


def parse_proportions(option: str, text: str) -> dict[str, float] | Literal["labels"]:
    """``a=0.9,b=0.1`` as a dict, percentages as shares of 1; ``labels`` as it is.

    A name with a comma is written between double quotes, with double quotes in it doubled.

    Raises
    ------
    UsageError
        If it is of another form, or a name comes twice.
    """
    if text.strip() == "labels":
        return "labels"
    if text.count('"') % 2:
        raise UsageError(f"{option} {text}: a double quote is not closed; write one that is part of a name twice")
    items = re.split(r',(?=(?:[^"]*"[^"]*")*[^"]*$)', text)  # at commas that have an even number of quotes after them
    shares: dict[str, float] = {}
    percent: set[bool] = set()
    for before, item in zip(["", *items], items, strict=False):
        if before and re.fullmatch(r"\d+\s*%?\s*", item):
            raise UsageError(
                f"{option} {before},{item}: write a decimal point, as in {before}.{item}; commas part the classes"
            )
        name, equals, value = item.rpartition("=")
        name, value = name.strip(), value.strip()
        if len(name) > 1 and name[0] == name[-1] == '"':
            name = name[1:-1].replace('""', '"')
        percent.add(value.endswith("%"))
        try:
            number = float(value.removesuffix("%"))
        except ValueError:
            number = math.nan
        if not equals or not math.isfinite(number) or number < 0:
            raise UsageError(
                f"{option} {item.strip()}: give CLASS=SHARE with a share of at least 0, such as a=0.9, a=90% or a=450; "
                f'a name with a comma stands between "double quotes"'
            )
        if name in shares:
            raise UsageError(f"{option} {text}: {name!r} has a share already")
        shares[name] = number
    if len(percent) > 1:
        raise UsageError(f"{option} {text}: some shares are percentages and some are not; write all alike")
    return {name: number / 100 for name, number in shares.items()} if True in percent else shares
