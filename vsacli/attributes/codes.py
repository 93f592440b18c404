"""Text whose cells all differ though a part of them repeats: FRZ-01234, I25.1, 192.168.1.7, $1500-$1749, 12.3 ± 0.4.

A cell is split into its numbers and the words around them. What repeats becomes attributes: the words, as categories;
numbers that are quantities, or of which many are equal, scaled. Serial numbers (all different, attached to letters or
hyphens) carry no information and are dropped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vsacli.attributes.column_encoders import CategoryEncoder
from vsacli.attributes.column_kinds import MIN_SEQUENCE, NEARLY_ALL, id_reason_of_numbers, is_hexadecimal
from vsacli.attributes.scaling import RobustScale
from vsacli.tables.arrow_types import spelled
from vsacli.tables.distinct import Distinct, distinct_cells

MAX_NUMBERS = 4
"""Most numbers of a cell that become attributes."""

SAME_FORM = 0.9
"""Share of the cells that must hold equally many numbers, or begin with a word, for these to be read."""

REPEATED = 0.8
"""Share of the cells whose word must occur at least twice for it to be a category."""

_READ = 2_000  # distinct cells that decide whether the others are worth reading
_MAX_LENGTH = 100
_GAP = "…"  # stands for a number
_NUMBER = {
    mark: re.compile(
        rf"(?P<sign>(?<!\S)[-+−])?(?P<digits>[1-9]\d{{0,2}}(?:{group}\d{{3}})+(?:{point}\d+)?(?![\d.,])"
        rf"|(?<![.,])\d+{point}\d+(?!\d|[.,]\d)|\d+)"
    )
    for mark, point, group in ((".", r"\.", ","), (",", ",", r"\."))
}
_ANGLE = re.compile(  # 41°25'01"S, 41.407694N, -41° 25.5'
    r"(?P<sign>[-+−]?)(?P<degrees>\d+(?:[.,]\d+)?)\s*(?P<mark>[°º]?)\s*(?:(?P<minutes>\d+(?:[.,]\d+)?)\s*['′’]\s*)?"
    r"(?:(?P<seconds>\d+(?:[.,]\d+)?)\s*(?:[\"″”]|''|′′|’’)\s*)?(?P<side>[nsew]?)"
)
_DIGITS = re.compile(r"\d+")
_HYPHENS = "-_/#"
_CURRENCY = "$€£¥₹"


@dataclass
class Parts:
    """Distinct cells, split.

    Attributes
    ----------
    forms : list of str
        Each cell in lower case with its numbers taken out.
    held : ndarray of int64, shape (k,)
        How many numbers are in each cell.
    numbers : ndarray of float64, shape (k, MAX_NUMBERS)
        The first of them; NaN where a cell has fewer.
    attached : ndarray of bool, shape (k, MAX_NUMBERS)
        The number belongs to a code: it follows letters, is joined by a hyphen to something that has letters, or
        begins with a zero.
    decimals : ndarray of bool, shape (k, MAX_NUMBERS)
    """

    forms: list[str]
    held: np.ndarray
    numbers: np.ndarray
    attached: np.ndarray
    decimals: np.ndarray


def split(values: Sequence[str], decimal: str) -> Parts:
    """Split cells into numbers and what is around them."""
    k = len(values)
    flags = (np.zeros((k, MAX_NUMBERS), bool) for _ in range(2))
    parts = Parts([], np.zeros(k, np.int64), np.full((k, MAX_NUMBERS), np.nan), *flags)
    for i, value in enumerate(values):
        text = value[:_MAX_LENGTH].casefold()
        angle = _ANGLE.fullmatch(text)
        if angle and (angle["mark"] or angle["side"]):
            parts.forms.append(_GAP + angle["side"])
            parts.held[i], parts.numbers[i, 0], parts.decimals[i, 0] = 1, _degrees(angle), True
            continue
        found = list(_NUMBER[decimal].finditer(text))
        parts.forms.append(_NUMBER[decimal].sub(_GAP, text))
        for j, match in enumerate(found[:MAX_NUMBERS]):
            digits = match["digits"]
            plain = digits.replace("," if decimal == "." else ".", "").replace(decimal, ".")
            number = float(plain)
            parts.numbers[i, j] = -number if match["sign"] in ("-", "−") else number
            parts.decimals[i, j] = decimal in digits
            parts.attached[i, j] = decimal not in digits and _is_attached(text, match.start(), match.end(), digits)
        parts.held[i] = len(found)
    return parts


def _degrees(angle: re.Match[str]) -> float:
    """A latitude or longitude in degrees, negative in the south and the west."""
    whole, minutes, seconds = (
        float((angle[part] or "0").replace(",", ".")) for part in ("degrees", "minutes", "seconds")
    )
    size = whole + minutes / 60 + seconds / 3600
    return -size if (angle["sign"] in ("-", "−")) != (angle["side"] in ("s", "w")) else size


def _is_attached(text: str, start: int, end: int, digits: str) -> bool:
    before, after = text[:start], text[end : end + 1]
    if before[-1:] in _CURRENCY and before:
        return False
    if before[-1:] in ("#", "№") or (len(digits) > 1 and digits.startswith("0")):
        return True
    if re.search(r"\d[x×]$", before) or re.match(r"[x×]\d", text[end:]):  # 1920x1080
        return False
    if re.match(r"[^\W\d_]+\d", text[end:]):  # 237K07
        return True
    hyphen = (before[-1:] in _HYPHENS and before) or (after in _HYPHENS and after)
    if hyphen and any(letter.isalpha() for letter in text):
        return True
    return before.rstrip(_HYPHENS + ".: ")[-1:].isalpha()


_WORDS = {
    "lead": re.compile(r"^[^\W_]+(?=[\W_])"),  # up to the first mark between: FRZ, 00 of 00:1a:2b, 4012 of 4012-881
    "letters": re.compile(r"^[^\W\d_]+"),
    "tail": re.compile(r"[^\W\d_]+$"),
}
"""Parts of a cell that may be a category."""


def _word(what: str, value: str) -> str:
    match = _WORDS[what].search(value)
    return match[0] if match else ""


@dataclass
class CodeEncoder:
    """A column of codes that all differ: categories of the words in them, and numbers.

    `words` are (what of a cell is its word, the categories of it); `numbers` are (place of the number in the cell, its
    scale). Cells of another form have NaN in place of the numbers.
    """

    decimal: str
    words: list[tuple[str, CategoryEncoder]]
    numbers: list[tuple[int, RobustScale]]
    has_quantity: bool

    @property
    def names(self) -> list[str]:
        said = [name for _, categories in self.words for name in categories.names]
        return said + [f"number {j + 1}" for j, _ in self.numbers]

    @classmethod
    def fit(cls, cells: Distinct, decimal: str) -> tuple[CodeEncoder, np.ndarray] | None:
        """Fit on distinct cells, each of which occurs about once; None if nothing in them repeats."""
        hexadecimal = is_hexadecimal(cells.values)
        step = -(-len(cells.values) // _READ)
        if step > 1:
            some = cells.values.take(pa.array(range(0, len(cells.values), step)))
            sample = Distinct(some, np.arange(len(some), dtype=np.int32), np.ones(len(some), np.int64))
            if cls._fit(sample, decimal, hexadecimal) is None:
                return None
        encoder = cls._fit(cells, decimal, hexadecimal)
        return None if encoder is None else (encoder, encoder._of_cells(cells))

    @classmethod
    def _fit(cls, cells: Distinct, decimal: str, hexadecimal: bool) -> CodeEncoder | None:
        values = cells.values.to_pylist()
        parts = split(values, decimal)
        words: list[tuple[str, CategoryEncoder]] = []
        if hexadecimal:  # a letter and then digits may be the beginning of a hash; two letters everywhere are not
            if np.mean([len(_word("letters", value)) > 1 for value in values]) >= NEARLY_ALL:
                words = _repeated(cells, "letters", parts.forms, values)
            return cls(decimal, words, [], False) if words else None
        words = _repeated(cells, "form", parts.forms, values)
        same_form = _is_one_form(parts.forms) or bool(words)
        if not same_form:
            leading = (_repeated(cells, what, parts.forms, values) for what in ("lead", "letters"))
            words = next(filter(None, leading), []) + _repeated(cells, "tail", parts.forms, values)
        numbers: list[tuple[int, RobustScale]] = []
        has_quantity = False
        width = _width(parts, cells)
        for j in range(width):
            here = ~np.isnan(parts.numbers[:, j])
            x = np.repeat(parts.numbers[here, j], cells.counts[here])
            quantity = bool(parts.decimals[here, j].any()) or parts.attached[here, j].mean() < 0.5
            if len(np.unique(x)) < 2 or (
                id_reason_of_numbers("number", x) is not None and not parts.decimals[:, j].any()
            ):
                continue
            if quantity or (same_form and 2 * len(np.unique(x)) <= len(x)):
                numbers.append((j, RobustScale.fit(x)))
                has_quantity |= quantity
        return cls(decimal, words, numbers, has_quantity) if words or numbers else None

    def encode(self, column: pa.Array) -> np.ndarray:
        return self._of_cells(distinct_cells(spelled(column)))

    def _of_cells(self, cells: Distinct) -> np.ndarray:
        values = cells.values.to_pylist()
        parts = split(values, self.decimal)
        columns = [categories.of_cells(_as_words(cells, what, parts.forms, values)) for what, categories in self.words]
        columns += [cells.take(scale.apply(parts.numbers[:, j])[:, None]) for j, scale in self.numbers]
        return np.concatenate(columns, axis=1)


def _width(parts: Parts, cells: Distinct) -> int:
    """How many numbers the cells hold, if nearly all of them hold equally many; else 0."""
    shares = np.bincount(parts.held, weights=cells.counts) / cells.n_observed
    usual = int(shares.argmax())
    return min(usual, MAX_NUMBERS) if shares[usual] >= SAME_FORM else 0


def _repeated(cells: Distinct, what: str, forms: list[str], values: list[str]) -> list[tuple[str, CategoryEncoder]]:
    """The categories of a part of the cells, if it varies and repeats; else nothing."""
    words = _as_words(cells, what, forms, values)
    k, n = len(words.counts), words.n_observed
    if k < 2 or 3 * k > n or words.counts[words.counts > 1].sum() < REPEATED * n:
        return []
    empty = words.counts[pc.equal(words.values, _GAP).to_numpy(zero_copy_only=False)].sum()
    if what != "form" and empty > (1 - SAME_FORM) * n:
        return []
    encoder = CategoryEncoder.fit(words)
    return [] if encoder is None else [(what, encoder)]


def _as_words(cells: Distinct, what: str, forms: list[str], values: list[str]) -> Distinct:
    """One part of every cell; a cell without it has a gap there, which is a category."""
    words = forms if what == "form" else [_word(what, value.casefold()) for value in values]
    return cells.merged(pa.array([word or _GAP for word in words], pa.large_string()))


def _is_one_form(forms: list[str]) -> bool:
    return max(Counter(forms).values()) >= NEARLY_ALL * len(forms)


def repeats(values: pa.Array) -> bool:
    """Whether most of the values share stretches of three characters with others, as words and prefixes do.

    Values that differ in their numbers alone do not: a stretch of digits is in many of them by chance.
    """
    step = -(-len(values) // _READ)
    texts = [v[:_MAX_LENGTH].casefold() for v in values.take(pa.array(range(0, len(values), step))).to_pylist()]
    n = len(texts)
    if n < MIN_SEQUENCE or is_hexadecimal(values) or _is_one_form([_DIGITS.sub(_GAP, text) for text in texts]):
        return False
    ends = [{f"^{text[:3]}", f"{text[-3:]}$"} for text in texts]
    inner = [{text[i : i + 3] for i in range(len(text) - 2)} for text in texts]
    return any(
        _covered(grams, max(3.0, share * n), most * n) >= 0.5 * n
        for grams, share, most in ((ends, 0.02, 0.95), (inner, 0.1, 0.9))
    )


def _covered(grams: list[set[str]], fewest: float, most: float) -> int:
    """How many of the texts hold a stretch that stands in neither too few nor nearly all of them."""
    counts = Counter(gram for held in grams for gram in held)
    telling = {gram for gram, count in counts.items() if fewest <= count <= most}
    return sum(not telling.isdisjoint(held) for held in grams)
