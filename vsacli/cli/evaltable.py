"""`vsa eval TABLE`: known labels are hidden and predicted again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from vsacli.cli.console import progress_shown, say
from vsacli.cli.evalasked import Asked, Compared, Results
from vsacli.cli.sections import show
from vsacli.cli.tablereport import brief_sections, closing_lines, full_sections
from vsacli.errors import DataError, UsageError, VsaError
from vsacli.evaluation.expected import Expected, read_expected
from vsacli.evaluation.file import EncodedFile, encode_file
from vsacli.evaluation.methods import (
    TABLE_METHODS,
    THOROUGH_METHODS,
    absent_methods,
    asked_methods,
    choose_methods,
    load_checkpoints,
    picture,
)
from vsacli.evaluation.results import write_records
from vsacli.evaluation.table import evaluate_table
from vsacli.evaluation.table_answer import TableQuestion
from vsacli.evaluation.verdict import known_before

if TYPE_CHECKING:
    from vsacli.evaluation.run import MethodSpec
    from vsacli.kinds import TaskKind
    from vsacli.prepare import ReadOptions
    from vsacli.tables.table import Table, WritableTable
    from vsacli.target.proportions import KnownProportions


def eval_table(
    asked: Asked,
    read: Callable[[], tuple[WritableTable, list[Table]]],
    options: ReadOptions,
    compared: Compared,
    results: Results,
    known: KnownProportions | None = None,
) -> None:
    """Evaluate methods on one table and print the report.

    Parameters
    ----------
    asked
        Which table.
    read
        Reads it, and others that give labels.
    options, compared, results, known
        As the command was given them.
    """
    with progress_shown(results.quiet) as progress:
        file, sources = read()
        encoded = encode_file(file, options, progress, labeled=sources)
        kind = encoded.table.kind
        usual = (THOROUGH_METHODS if asked.thorough else TABLE_METHODS)[kind]
        specs = choose_methods(compared.methods, usual, kind, compared.checkpoints, compared.device)
        load_checkpoints(specs, kind)
        expected = _expected(specs[0], kind)
        question = TableQuestion(tuple(specs), options.seed, asked.thorough, shares=_shares(encoded, known))

        def estimated(rounds: int, seconds: float) -> None:
            work = f"{len(specs)} method{'' if len(specs) == 1 else 's'}, {rounds} rounds each"
            say(f"vsa: {work}: about {max(1, round(seconds))} s")

        told = None if results.quiet else estimated
        try:
            answer = evaluate_table(encoded.table, encoded.classes, question, progress, estimated=told)
        except DataError as error:  # no label can be hidden: what other tables say is all that is known
            n_labels, n_classes = int(encoded.table.labeled.sum()), len(encoded.classes)
            known_before_it = None if expected is None else known_before(expected, n_labels, n_classes)
            raise DataError(f"{error}. {known_before_it}" if known_before_it else str(error)) from None
    if compared.methods is not None and not results.quiet:
        for method, why in absent_methods(asked_methods(compared.methods), kind):
            say(f"vsa: absent: {method}: {why}")
    if results.json is not None:
        write_records(results.json, answer.records)
    if results.plot is not None:
        from vsacli.evaluation.plots import plot_table

        plot_table(results.plot, answer, [picture(answer.example.episode, specs)])
    main = answer.methods[0]
    sections = (full_sections if asked.full else brief_sections)(encoded, answer, question.shares)
    show(sections, closing_lines(asked, options.target, encoded, answer, expected))
    if main.error is not None:
        raise VsaError(f"{main.label} failed: {main.error}")


def _expected(spec: MethodSpec, kind: TaskKind) -> Expected | None:
    """What the network of the first method got on other tables, if that is recorded."""
    if spec.method != "vsa":
        return None
    from vsacli.baselines.trained import load

    return read_expected(load(dict(spec.settings).get("checkpoint"), kind).path)


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
