"""Notes on labels: what was decided about doubtful ones, and which option changes that."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from vsacli.support.privacy import VARIABLE, values_shown
from vsacli.target.doubtful import far_numbers, is_missing_code, looks_missing
from vsacli.target.task_rule import Verdict

_POINT_ZERO = re.compile(r"(?<=\d)[.,]0{1,2}\Z")


def other_task(verdict: Verdict) -> list[str]:
    """Name the other kind of task if it is nearly as likely."""
    if not verdict.close:
        return []
    if verdict.kind == "classification":
        return ["the numbers among the labels are taken as classes; if they are quantities, use --task regression"]
    return ["the labels are taken as quantities; if they are codes or ratings, use --task classification"]


def not_learned_from(keys: Sequence[str], counts: np.ndarray, reasons: Mapping[int, str]) -> list[str]:
    """Name the labels that are kept and not learned from; `reasons` has the places of these among all."""
    notes = []
    for reason in dict.fromkeys(reasons.values()):
        places = [i for i, why in reasons.items() if why == reason]
        alike, cells = [keys[i] for i in places], int(counts[places].sum())
        harmless = values_shown() or all(looks_missing(key) or is_code(key) for key in alike)
        shown = ", ".join(map(repr, alike)) if harmless else f"a label ({VARIABLE}=1 shows it)"
        token = repr(alike[0]) if harmless else "TOKEN"
        notes.append(
            f"{shown} ({cells:,} {'cell' if cells == 1 else 'cells'}) {reason}: kept and not learned from; "
            f"use --na {token} to have it filled"
        )
    return notes


def limits_as_numbers(cells: int, example: str) -> list[str]:
    """Say that labels such as "<0.5" are learned from as the number beside the sign."""
    if not cells:
        return []
    like = f" like {example!r}" if values_shown() else ""
    many = f"{cells:,} labels{like} are limits or guesses" if cells > 1 else f"1 label{like} is a limit or a guess"
    return [f"{many}: the number beside the sign is learned from"]


def often_missing(keys: Sequence[str], values: np.ndarray) -> list[str]:
    """Name the classes that often mean "missing"; `values` are the classes as numbers, NaN where they are words."""
    words, codes = np.isnan(values), np.array([is_code(key) for key in keys], bool)
    mostly_words = 2 * words.sum() > len(keys)
    odd = codes if mostly_words else far_numbers(values, least=2) & codes
    doubtful = [key for key, is_odd in zip(keys, odd, strict=True) if is_odd or looks_missing(key)]
    if not doubtful or "NA" in doubtful or len(doubtful) >= len(keys):
        return []
    some = ", ".join(map(repr, doubtful))
    return [f"{some} taken as a class; if it means missing, use --na {doubtful[0]!r}"]


def is_code(key: str) -> bool:
    """Whether a label is a number that often stands for "missing", and not a code such as 09999."""
    number = key.replace("−", "-").removesuffix(".0")
    return re.fullmatch(r"-?[1-9]\d{0,9}", number) is not None and is_missing_code(float(number))


def near_spellings(keys: Sequence[str]) -> list[str]:
    """Say that classes differ only in case, inner space or a ``.0``: often they are meant to be one."""
    alike: dict[str, list[str]] = {}
    for key in keys:
        alike.setdefault(_POINT_ZERO.sub("", " ".join(key.casefold().split())), []).append(key)
    groups = [group for group in alike.values() if len(group) > 1]
    if not groups:
        return []
    shown = f" ({', '.join(map(repr, groups[0]))}{', …' if len(groups) > 1 else ''})" if values_shown() else ""
    return [
        f"{sum(map(len, groups))} classes would be {len(groups)} without differences in case, spaces or .0{shown}: "
        f"they are kept apart; if they are the same, spell them alike"
    ]
