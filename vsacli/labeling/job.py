"""What the steps of one labeling run share: the table, what was asked of it, and the account of what is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from vsacli.labeling.copies import Copies
    from vsacli.labeling.labeled_table import LabeledContext
    from vsacli.tables.table import Table

ProgressCallback = Callable[[str, int, int], None]  # step, rows done, rows in all


def silent(step: str, done: int, total: int) -> None:
    """The progress that tells nobody."""


@dataclass(frozen=True)
class LabelOptions:
    """What may be asked of one labeling run; the defaults are the command's."""

    target: str
    task: Literal["auto", "classification", "regression"] = "auto"
    na: tuple[str, ...] = ()  # further cell contents that mean "no label"
    default_na: bool = True  # the tokens that pandas reads as missing count, too
    exclude: tuple[str, ...] = ()  # columns that must not become attributes
    checkpoint: str | None = None  # None: the bundled one
    device: str = "auto"
    seed: int = 0
    confidence: bool = False  # add <target>_confidence, or <target>_std
    proba: bool = False  # add <target>_proba_<class>
    min_confidence: float | None = None  # leave less certain cells as they are


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
    filled: dict[str, int] = field(default_factory=dict)  # cells filled per class; for regression {"": count}
    left_empty: int = 0  # missing cells below min_confidence
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
    progress: ProgressCallback = silent

    @property
    def n_above(self) -> int:
        """Rows of the other table, which come first."""
        return self.context.n_rows if self.context else 0

    @cached_property
    def copies(self) -> Copies | None:
        """Which labeled rows of the other table are rows of this one, too; None if there is no other."""
        from vsacli.labeling.copies import find_copies

        if self.context is None:
            return None
        excluded = (j for j, name in enumerate(self.table.columns) if name in self.options.exclude)
        return find_copies(self.context, {self.column, *excluded})
