"""Whether another method is better on a table than the network, by the same hidden labels and beyond chance."""

from __future__ import annotations

import numpy as np

from vsacli.baselines.base import Floats
from vsacli.evaluation.table_answer import MethodAnswers, TableAnswer

CHANCE = 0.05  # of naming a method although none is better
AT_ONCE = 1000  # random signs of all rows
LEAST_LEAD = 0.001  # that is worth a sentence


def better_rival(answer: TableAnswer, method: MethodAnswers) -> str | None:
    """A sentence on the best other method, if it is of use and better than this one beyond chance; else None.

    The test is paired, by rows: if both methods are equally good, the difference of their scores in a row (how often
    its label came out right, or the squared error) is as likely to have the other sign. The chance of a lead as large
    is multiplied by the number of other methods, since the best of them is compared.
    """
    if method.error is not None:
        return None
    name = "accuracy" if method.probs is not None else "r2"
    others = [m for m in answer.methods if m is not method and m.error is None]
    best = max(others, key=lambda m: m.figures[name].value, default=None)
    if best is None or not best.figures[name].value > 0:  # it explains nothing either
        return None
    if best.figures[name].value - method.figures[name].value < LEAST_LEAD:
        return None
    if chance_of_lead(answer, best, method) * len(others) > CHANCE:
        return None
    what = "of the hidden labels right" if name == "accuracy" else "of the variance explained"
    return f"{best.label} is better on this table: {best.figures[name].value:.0%} {what}."


def chance_of_lead(answer: TableAnswer, ahead: MethodAnswers, behind: MethodAnswers) -> float:
    """How often random signs of the rows' differences give a lead as large; 1 for a single row."""
    from scipy.stats import permutation_test

    if len(answer.rows) < 2:
        return 1.0
    weight = np.bincount(answer.counted, minlength=len(answer.rows))
    lead = weight * (_scores(answer, ahead) - _scores(answer, behind))  # (n,)
    tested = permutation_test(
        (lead,), np.sum, permutation_type="samples", alternative="greater", batch=AT_ONCE, rng=np.random.default_rng(0)
    )
    return float(tested.pvalue)


def _scores(answer: TableAnswer, method: MethodAnswers) -> Floats:
    """What each row contributes to the figure, over all repeats, (n,): more is better."""
    if method.probs is not None:
        return (method.probs.argmax(axis=2) == answer.answer).mean(axis=0)
    assert method.mean is not None
    return -np.square(method.mean - answer.answer).mean(axis=0)
