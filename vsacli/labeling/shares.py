"""The shares of the classes: what the rows without a label are to have, and whether somebody should say them."""

from __future__ import annotations

import math

import numpy as np

from vsacli.inference.proportions import Proportions, left_over
from vsacli.labeling.answers import count_by_class
from vsacli.labeling.job import Job, LabelReport
from vsacli.target.column import Target
from vsacli.target.proportions import OPTION

NOTED = 0.15
"""Share of the answers that are of other classes than the labels would have them, beyond chance ..."""

FEWEST = 20
"""... of so many answers at least."""


def proportions_of(job: Job, target: Target) -> Proportions | None:
    """The proportions of the rows without a label: what the labels of the table leave of those of all rows.

    Labels of another table (`--labeled`) leave all as it is.
    """
    report = job.report
    if not report.assumed or len(target.classes) < 2:
        return None
    shares = np.array(list(report.assumed.values()))
    own = target.codes[job.n_above :][target.given[job.n_above :]]
    counts = np.array(list(count_by_class(own, target.classes).values()))
    rows = report.rows - (0 if target.unread is None else int(target.unread.sum()))
    if over := int((counts > shares * rows + 0.5).sum()):
        report.notes.append(
            f"more rows are labeled than {OPTION} leaves for {'one class' if over == 1 else f'{over} classes'}: "
            f"nothing is filled with {'it' if over == 1 else 'them'}"
        )
    return Proportions(left_over(shares, counts, rows))


def note_on_shares(report: LabelReport) -> None:
    """Name the option where the shares of the answers are far from those of the labels and nobody has said them."""
    if report.kind != "classification" or report.assumed or report.checkpoint is None:
        return
    given, answered = (np.array(list(counts.values()), float) for counts in (report.given, report.answered))
    if len(given) < 2 or len(given) != len(answered) or answered.sum() < FEWEST:
        return
    distance = np.abs(given / given.sum() - answered / answered.sum()).sum() / 2
    chance = math.sqrt((len(given) - 1) / (2 * math.pi * given.sum()))  # of labels drawn at random, about
    if distance > NOTED + chance:
        among = "answers" if report.left_empty else "filled labels"
        report.notes.append(
            f"the classes are not as frequent among the {among} as among the given labels; if you know their "
            f"shares among all rows, {OPTION} "
            f"makes the labels better ({OPTION} labels if they were drawn at random)"
        )
