"""A fitted estimator in a notebook: its classes and their labels, and how certain the answers are, as HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

MOST_CLASSES = 20
BINS = 20
_CELL = 'style="text-align:right;padding:0 .6em"'


def classes_html(title: str, classes: Sequence[object], proba: np.ndarray, missing: np.ndarray) -> str:
    """Classes with the labels given and filled of each, and a histogram of the confidences.

    Parameters
    ----------
    title : str
    classes : sequence
        C.
    proba : ndarray, shape (n, C)
        Of all rows.
    missing : ndarray of bool, shape (n,)
        Rows whose label was filled in.
    """
    codes, n_classes = proba.argmax(1), len(classes)
    given, filled = (np.bincount(codes[rows], minlength=n_classes) for rows in (~missing, missing))
    lines = [(_shown(name), f"{given[i]:,}", f"{filled[i]:,}") for i, name in enumerate(classes)]
    if len(lines) > MOST_CLASSES:
        rest = slice(MOST_CLASSES - 1, None)
        more = (f"{n_classes - MOST_CLASSES + 1} more", f"{given[rest].sum():,}", f"{filled[rest].sum():,}")
        lines = [*lines[: MOST_CLASSES - 1], more]
    confidence = proba.max(1)[missing]
    told = f", mean confidence {confidence.mean():.2f}" if len(confidence) else ""
    return _block(
        title,
        f"{_counts(missing)}{told}",
        _table(("class", "given", "filled"), lines),
        _histogram(confidence, 0.0, 1.0, "confidence") if len(confidence) else "",
    )


def numbers_html(title: str, numbers: np.ndarray, std: np.ndarray, missing: np.ndarray) -> str:
    """The given and the filled numbers, and a histogram of the filled ones' standard deviations.

    Parameters
    ----------
    title : str
    numbers, std : ndarray, shape (n,)
        Of all rows.
    missing : ndarray of bool, shape (n,)
    """
    lines = [
        (name, f"{values.min():.4g}", f"{values.mean():.4g}", f"{values.max():.4g}")
        for name, values in (("given", numbers[~missing]), ("filled", numbers[missing]))
        if len(values)
    ]
    filled = std[missing]
    told = f", mean standard deviation {filled.mean():.3g}" if len(filled) else ""
    return _block(
        title,
        f"{_counts(missing)}{told}",
        _table(("", "least", "mean", "largest"), lines),
        _histogram(filled, 0.0, float(filled.max()) or 1.0, "standard deviation") if len(filled) else "",
    )


def _counts(missing: np.ndarray) -> str:
    return f"{len(missing):,} rows, {int((~missing).sum()):,} labels given, {int(missing.sum()):,} filled"


def _block(title: str, told: str, *parts: str) -> str:
    return f"<div><p><b>{_shown(title)}</b>: {html.escape(told)}</p>{''.join(parts)}</div>"


def _table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th {_CELL}>{name}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td {_CELL}>{cell}</td>" for cell in line) + "</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _histogram(values: np.ndarray, low: float, high: float, name: str) -> str:
    counts = np.histogram(values, bins=BINS, range=(low, high))[0]
    step, height, most = 12, 60, max(int(counts.max()), 1)
    bars = "".join(
        f'<rect x="{i * step + 1}" y="{height - height * count / most:.1f}" width="{step - 2}" '
        f'height="{height * count / most:.1f}" fill="currentColor" opacity=".6"><title>{count:,}</title></rect>'
        for i, count in enumerate(counts.tolist())
    )
    marks = ((0, "start", f"{low:.3g}"), (BINS * step // 2, "middle", name), (BINS * step, "end", f"{high:.3g}"))
    ends = "".join(
        f'<text x="{x}" y="{height + 14}" font-size="11" fill="currentColor" text-anchor="{anchor}">{text}</text>'
        for x, anchor, text in marks
    )
    size = f'width="{BINS * step}" height="{height + 18}"'
    return f'<svg role="img" aria-label="histogram: {name}" {size}>{bars}{ends}</svg>'


def _shown(value: object) -> str:
    text = str(value)
    return html.escape(text if len(text) <= 60 else text[:59] + "…")
