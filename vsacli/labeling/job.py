"""What the steps of one labeling run share: the table, the options, and the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from vsacli.prepare import Attributes, Columns, ReadOptions, excluded_columns
from vsacli.support.privacy import quoted
from vsacli.support.progress import Progress, silent

if TYPE_CHECKING:
    import numpy as np

    from vsacli.labeling.copies import Copies
    from vsacli.labeling.labeled_table import LabeledContext
    from vsacli.tables.table import Table
    from vsacli.target.column import Target
    from vsacli.target.proportions import KnownProportions


@dataclass(frozen=True)
class LabelOptions(ReadOptions):
    """The options of one labeling run; the defaults are the command's."""

    checkpoint: str | None = None  # None: the bundled one
    device: str = "auto"
    confidence: bool = False  # add <target>_confidence, or <target>_std
    proba: bool = False  # add <target>_proba_<class>
    min_confidence: float | None = None  # leave less certain cells as they are
    exact: bool = False  # no student of the network answers for it, however many rows there are
    proportions: KnownProportions | None = None  # shares of the classes among all rows of the table


@dataclass
class LabelReport:
    """What was done and why, for the person who asked."""

    table: str
    rows: int
    columns: int
    target: str
    kind: str
    reason: str
    given: dict[str, int]  # labels per class; for regression {"": count}
    missing: int  # cells without a label
    missing_tokens: dict[str, int]  # how they are written -> cells
    used: dict[str, int] = field(default_factory=dict)  # column -> attributes made of it
    left_out: list[tuple[str, str]] = field(default_factory=list)  # (column, reason)
    checkpoint: str | None = None  # None: no network was needed
    device: str | None = None
    graph_rows: int = 0  # rows of the graph that the network read; 0: it read none
    student_rows: int = 0  # rows answered by a student of the network
    logarithms: bool = False  # whether the network answered logarithms of the numbers
    answered: dict[str, int] = field(default_factory=dict)  # answers per class, those below min_confidence too
    filled: dict[str, int] = field(default_factory=dict)  # cells filled per class; for regression {"": count}
    left_empty: int = 0  # missing cells below min_confidence
    assumed: dict[str, float] = field(default_factory=dict)  # share of each class among all rows, where it is known
    mean_confidence: float | None = None  # over all missing cells
    mean_std: float | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Job:
    """One labeling run.

    Attributes
    ----------
    table, context
        The table to fill, and the labeled rows of another one that are stacked above its own.
    column
        The place of the target in the table; None if it has none.
    options
    report
        Completed step by step.
    progress
    """

    table: Table
    context: LabeledContext | None
    column: int | None
    options: LabelOptions
    report: LabelReport
    progress: Progress = silent

    @property
    def n_above(self) -> int:
        """Rows of the other table, which come first."""
        return self.context.n_rows if self.context else 0

    @property
    def stacked(self) -> Table:
        """The rows of both tables."""
        return self.table if self.context is None else self.context.stacked_table()

    def columns(self, useless: Mapping[int, str] | None = None) -> Columns:
        """The columns that may become attributes, of the rows of both tables."""
        among = None if self.context is None else self.context.matched()
        return Columns(self.stacked, self.options, self.column, useless=useless, among=among, progress=self.progress)

    def note(self, attributes: Attributes[Any]) -> None:
        """Record in the report which columns are used and which are not."""
        self.report.used = attributes.used
        self.report.left_out += attributes.left_out

    @property
    def copied_rows(self) -> np.ndarray | None:
        """Which labeled rows of the other table are rows of this one, bool; None if there is no other."""
        return None if self.copies is None else self.copies.any_row

    @cached_property
    def copies(self) -> Copies | None:
        """Which labeled rows of the other table are also rows of this one; None if there is no other."""
        from vsacli.labeling.copies import find_copies

        if self.context is None:
            return None
        skip = {self.column, *excluded_columns(self.table, self.options), *self.table.nested}
        return find_copies(self.context, skip)


def is_foregone(target: Target, report: LabelReport) -> bool:
    """Whether no network is needed, since no label is missing or all are of one class; a note then says so."""
    if not report.missing:
        report.notes.append("no label is missing: nothing to fill")
    elif target.kind == "classification" and len(target.classes) == 1:
        one = quoted(target.classes[0], "that one")
        report.notes.append(
            f"all given labels are of one class, so every missing label becomes {one}; "
            "if there are other classes, label a row of each"
        )
    else:
        return False
    return True
