"""`vsa eval TABLE`: known labels are hidden and predicted again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from vsacli.cli.console import progress_shown, say
from vsacli.cli.evalasked import Compared, Results
from vsacli.cli.evalreport import table_sections
from vsacli.cli.sections import show
from vsacli.errors import UsageError, VsaError
from vsacli.evaluation.file import EncodedFile, encode_file
from vsacli.evaluation.methods import (
    TABLE_METHODS,
    absent_methods,
    asked_methods,
    choose_methods,
    load_checkpoints,
    picture,
)
from vsacli.evaluation.results import write_records
from vsacli.evaluation.table import TableQuestion, evaluate_table
from vsacli.evaluation.verdict import verdict

if TYPE_CHECKING:
    from vsacli.prepare import ReadOptions
    from vsacli.tables.table import Table
    from vsacli.target.proportions import KnownProportions


def eval_table(
    read: Callable[[], Table],
    options: ReadOptions,
    compared: Compared,
    results: Results,
    known: KnownProportions | None = None,
) -> None:
    """Evaluate methods on one table and print the report."""
    with progress_shown(results.quiet) as progress:
        file = read()
        encoded = encode_file(file, options, progress)
        kind = encoded.table.kind
        specs = choose_methods(compared.methods, TABLE_METHODS[kind], kind, compared.checkpoints, compared.device)
        load_checkpoints(specs, kind)
        question = TableQuestion(tuple(specs), seed=options.seed, shares=_shares(encoded, known))
        answer = evaluate_table(encoded.table, encoded.classes, question, progress)
    if compared.methods is not None and not results.quiet:
        for method, why in absent_methods(asked_methods(compared.methods), kind):
            say(f"vsa: absent: {method}: {why}")
    if results.json is not None:
        write_records(results.json, answer.records)
    if results.plot is not None:
        from vsacli.evaluation.plots import plot_table

        plot_table(results.plot, answer, [picture(answer.example.episode, specs)])
    main = answer.methods[0]
    show(table_sections(file, encoded, answer, question.shares), [verdict(answer, main)])
    if main.error is not None:
        raise VsaError(f"{main.label} failed: {main.error}")


def _shares(encoded: EncodedFile, known: KnownProportions | None) -> np.ndarray | None:
    """The share of each class among all rows, if it is known; further remarks are added to the notes."""
    from vsacli.target.proportions import OPTION, shares_of

    if known is None:
        return None
    table = encoded.table
    if table.kind == "regression":
        raise UsageError(f"{OPTION} needs classes and the task is regression ({encoded.reason}); leave it out")
    given = np.bincount(table.y[table.labeled], minlength=table.n_classes)
    shares, notes = shares_of(known, encoded.classes, given)
    encoded.notes += notes
    return shares
