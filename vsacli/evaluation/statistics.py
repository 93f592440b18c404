"""From records to what a table of results says: means over families, errors, tests, ranks, wins.

A table's value is the mean over its episodes, a family's the mean over its tables, a method's the mean over
families: near relatives of one data set must not count several times. Methods are compared on the episodes
on which all of them gave an answer; failures are counted beside.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from vsacli.evaluation.metrics import LOWER_IS_BETTER
from vsacli.evaluation.run import Record


@dataclass(frozen=True)
class Summary:
    """One method at one shot.

    Attributes
    ----------
    method, shot : which
    mean, stderr : over families; the error is NaN when there is one family
    n_families, n_tables, n_episodes : what the mean is over
    failed : episodes on which the method gave no answer
    bold : not different at the 5% level from the best by a paired t-test over families (the paper's bold)
    p_value : of that test against the best; 1 for the best itself, NaN when it cannot be made
    rank : mean rank over families, 1 the best, ties sharing
    seconds : mean time an episode
    """

    method: str
    shot: int
    mean: float
    stderr: float
    n_families: int
    n_tables: int
    n_episodes: int
    failed: int
    bold: bool
    p_value: float
    rank: float
    seconds: float


@dataclass(frozen=True)
class WinTieLoss:
    """How often `method` beats, equals or loses to `rival`, counted over families."""

    method: str
    rival: str
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True)
class Lead:
    """How far a method is ahead of the best other one.

    Attributes
    ----------
    method, rival : which; the rival has the best mean over families
    mean, stderr : of the differences over families, positive where `method` is better; the error is NaN for one family
    """

    method: str
    rival: str
    mean: float
    stderr: float


@dataclass(frozen=True)
class PooledConfidence:
    """What a method's confidence is worth, over the rows of all episodes; families weigh the same.

    A calibration error of one small episode is mostly chance, and its mean over episodes stays far from 0
    however honest the confidences are: pooled, chance averages out.

    Attributes
    ----------
    method : which
    confidence, accuracy : means over rows
    calibration_error : |accuracy - confidence| in ten bins of confidence, weighted by their rows
    surest_half : accuracy on the half of all rows with the highest confidence; of the bin at the edge, all
        rows count in part
    """

    method: str
    confidence: float
    accuracy: float
    calibration_error: float
    surest_half: float


def pooled_confidence(records: Iterable[Record]) -> list[PooledConfidence]:
    """A line for each method whose records have bins of confidence, in the order met."""
    per_method: dict[str, dict[str, np.ndarray]] = {}
    for r in records:
        if r.bins and r.error is None:
            families = per_method.setdefault(r.method, {})
            families[r.family] = families.get(r.family, 0.0) + np.array(r.bins, dtype=np.float64)
    lines = []
    for method, families in per_method.items():
        shares = [bins / bins[:, 0].sum() for bins in families.values()]
        rows, right, total = np.mean(shares, axis=0).T  # (bins,) each; rows add up to 1
        above = np.cumsum(rows[::-1])[::-1] - rows  # share of the rows in surer bins
        taken = np.clip(0.5 - above, 0.0, rows)
        part = np.divide(taken, rows, out=np.zeros_like(rows), where=rows > 0)
        lines.append(
            PooledConfidence(
                method,
                confidence=float(total.sum()),
                accuracy=float(right.sum()),
                calibration_error=float(np.abs(right - total).sum()),
                surest_half=float(2 * (right * part).sum()),
            )
        )
    return lines


def family_values(records: Iterable[Record], metric: str, shot: int) -> tuple[list[str], list[str], np.ndarray]:
    """Values of a metric, methods x families, over the episodes that all methods answered.

    Methods that answered nothing at all are left out, as they would leave no common episode.

    Returns
    -------
    methods, families : lists of names, in the order met
    values : float64 (methods, families)
    """
    cells: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)
    family_of: dict[str, str] = {}
    methods: dict[str, None] = {}
    for r in records:
        if r.shot != shot:
            continue
        value = r.metrics.get(metric, float("nan"))
        family_of[r.table] = r.family
        if np.isfinite(value):
            methods[r.method] = None
            cells[r.table, r.episode][r.method] = value
    names = list(methods)
    per_table: dict[str, list[list[float]]] = defaultdict(list)
    for (table, _), found in cells.items():
        if len(found) == len(names):
            per_table[table].append([found[m] for m in names])
    per_family: dict[str, list[np.ndarray]] = defaultdict(list)
    for table, rows in per_table.items():
        per_family[family_of[table]].append(np.mean(rows, axis=0))
    families = list(per_family)
    values = np.array([np.mean(per_family[f], axis=0) for f in families]).reshape(len(families), len(names)).T
    return names, families, values


def summarize(records: Sequence[Record], metric: str) -> list[Summary]:
    """A line for each shot and method, shots ascending, methods in the order met."""
    lines = []
    for shot in sorted({r.shot for r in records}):
        here = [r for r in records if r.shot == shot]
        names, families, values = family_values(here, metric, shot)
        ranks = mean_ranks(values, metric)
        means = values.mean(axis=1) if len(families) else np.full(len(names), np.nan)
        sign = -1.0 if metric in LOWER_IS_BETTER else 1.0
        best = int(np.argmax(sign * means)) if len(families) else -1
        for method in dict.fromkeys(r.method for r in here):
            own = [r for r in here if r.method == method]
            failed = sum(r.error is not None for r in own)
            seconds = float(np.mean([r.seconds for r in own]))
            counts = (len(families), len({r.table for r in own}), len(own), failed)
            if method not in names or best < 0:
                lines.append(Summary(method, shot, np.nan, np.nan, *counts, False, np.nan, np.nan, seconds))
                continue
            i = names.index(method)
            p = 1.0 if i == best else paired_t_test(values[best], values[i])
            bold = i == best or not p < 0.05
            error = standard_error(values[i])
            lines.append(Summary(method, shot, float(means[i]), error, *counts, bold, p, float(ranks[i]), seconds))
    return lines


def standard_error(values: np.ndarray) -> float:
    """Standard error of the mean; NaN for fewer than two values."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def paired_t_test(a: np.ndarray, b: np.ndarray) -> float:
    """Two-sided p-value of a paired t-test; 1 where all differences are zero, NaN for fewer than two pairs."""
    from scipy.stats import t as student

    difference = np.asarray(a) - np.asarray(b)
    n = len(difference)
    if n < 2:
        return float("nan")
    error = np.std(difference, ddof=1) / np.sqrt(n)
    if error == 0:
        return 1.0 if difference[0] == 0 else 0.0
    return float(2 * student.sf(abs(difference.mean() / error), n - 1))


def mean_ranks(values: np.ndarray, metric: str) -> np.ndarray:
    """Mean rank of each method over families, 1 the best, ties sharing; values (methods, families)."""
    better = values if metric in LOWER_IS_BETTER else -values
    above = (better[None, :, :] < better[:, None, :]).sum(axis=1)
    equal = (better[None, :, :] == better[:, None, :]).sum(axis=1)
    ranks = above + (equal + 1) / 2.0
    return ranks.mean(axis=1) if values.shape[1] else np.full(len(values), np.nan)


def lead(records: Iterable[Record], metric: str, shot: int, method: str) -> Lead | None:
    """`method` against the best other one, paired over families; None if there is nothing to compare."""
    names, families, values = family_values(records, metric, shot)
    if method not in names or len(names) < 2 or not families:
        return None
    better = -values if metric in LOWER_IS_BETTER else values
    own = names.index(method)
    means = better.mean(axis=1)
    means[own] = -np.inf
    rival = int(np.argmax(means))
    difference = better[own] - better[rival]
    return Lead(method, names[rival], float(difference.mean()), standard_error(difference))


def win_tie_loss(records: Iterable[Record], metric: str, shot: int, method: str) -> list[WinTieLoss]:
    """`method` against each other one, counted over families."""
    names, _, values = family_values(records, metric, shot)
    if method not in names:
        return []
    sign = -1.0 if metric in LOWER_IS_BETTER else 1.0
    own = sign * values[names.index(method)]
    lines = []
    for rival, theirs in zip(names, sign * values, strict=True):
        if rival != method:
            # Means of the same counts may differ in the last bit.
            tie = np.isclose(own, theirs, rtol=0, atol=1e-12)
            wins = int(np.sum((own > theirs) & ~tie))
            lines.append(WinTieLoss(method, rival, wins, int(tie.sum()), len(own) - wins - int(tie.sum())))
    return lines
