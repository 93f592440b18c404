"""What a person means by what they type to a question: a label, the guess, or another wish.

Enter takes the guess. A label may be given as it is, by its first letters, or by its number in the list. `s` skips the
row, `u` takes the last answer back, `q` stops. `=` before a text makes a label of whatever follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from vsacli.target.missing import normalize
from vsacli.target.written_number import read_number

SKIP, UNDO, QUIT, LITERAL = "s", "u", "q", "="


@dataclass(frozen=True)
class Typed:
    """What was understood.

    Attributes
    ----------
    wish : {"label", "new", "skip", "undo", "quit", "unclear"}
        "new" is a label that no row has so far: it is one if it is typed again.
    text : str
        The label; if "unclear", what to tell.
    """

    wish: Literal["label", "new", "skip", "undo", "quit", "unclear"]
    text: str = ""


_WISHES = {SKIP: Typed("skip"), UNDO: Typed("undo"), QUIT: Typed("quit")}


def understand(
    line: str, classes: Sequence[str], guess: str | None, *, numbers: bool = False, decimal: str = "."
) -> Typed:
    """Understand a line that was typed to a question.

    Parameters
    ----------
    line : str
    classes : sequence of str
        The labels so far, in the order of their numbers.
    guess : str, optional
        What Enter takes.
    numbers : bool
        The labels are numbers, and not classes.
    decimal : str
        The decimal mark of the table.
    """
    text = normalize(line)
    if not text:
        return Typed("label", guess) if guess is not None else Typed("unclear", "no guess yet: type a label")
    if text in classes:
        return Typed("label", text)
    if text in _WISHES:
        return _WISHES[text]
    if text.startswith(LITERAL):
        return _literal(normalize(text[1:]), classes)
    if numbers:
        if read_number(text, decimal) is None:
            return Typed("unclear", f"not a number (decimal mark {decimal!r}): type a number, or s, u or q")
        return Typed("label", text)
    if numbered(classes) and text.isdecimal() and 0 < int(text) <= len(classes):
        return Typed("label", classes[int(text) - 1])
    meant = [name for name in classes if name.casefold().startswith(text.casefold())]
    if len(meant) == 1:
        return Typed("label", meant[0])
    if meant:
        return Typed("unclear", f"could be {' or '.join(meant)}: type more letters, or the number")
    return _literal(text, classes)


def numbered(classes: Sequence[str]) -> bool:
    """Whether classes can be chosen by their number: not if one of them is a number itself."""
    return not any(read_number(name) is not None for name in classes)


def _literal(text: str, classes: Sequence[str]) -> Typed:
    if not text:
        return Typed("unclear", f"type a label after {LITERAL}")
    # There is nothing that the first label could be mistyped from.
    return Typed("new" if classes and text not in classes else "label", text)
