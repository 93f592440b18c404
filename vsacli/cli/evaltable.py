"""`vsa eval TABLE`: known labels are hidden and asked for again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vsacli.cli.console import progress_shown, say
from vsacli.cli.evalreport import table_sections
from vsacli.cli.options import TaskChoice
from vsacli.cli.sections import show
from vsacli.errors import VsaError
from vsacli.evaluation.file import encode_file
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
from vsacli.prepare import ReadOptions
from vsacli.tables.read import read_table


def eval_table(
    source: str,
    target: str,
    *,
    methods: str | None,
    checkpoints: Sequence[str],
    task: TaskChoice,
    na: Sequence[str],
    default_na: bool,
    exclude: Sequence[str],
    include: Sequence[str],
    delimiter: str | None,
    encoding: str | None,
    header_line: int | None,
    json: Path | None,
    plot: Path | None,
    device: str,
    seed: int,
    quiet: bool,
) -> None:
    """Evaluate methods on one table and print the report."""
    with progress_shown(quiet) as progress:
        file = read_table(source, delimiter=delimiter, encoding=encoding, header_line=header_line)
        options = ReadOptions(target, task.value, tuple(na), default_na, tuple(exclude), tuple(include), seed)
        encoded = encode_file(file, options, progress)
        kind = encoded.table.kind
        specs = choose_methods(methods, TABLE_METHODS[kind], kind, checkpoints, device)
        load_checkpoints(specs, kind)
        question = TableQuestion(tuple(specs), seed=seed)
        answer = evaluate_table(encoded.table, encoded.classes, question, progress)
    if methods is not None and not quiet:
        for method, why in absent_methods(asked_methods(methods), kind):
            say(f"vsa: absent: {method}: {why}")
    if json is not None:
        write_records(json, answer.records)
    if plot is not None:
        from vsacli.evaluation.plots import plot_table

        plot_table(plot, answer, [picture(answer.example.episode, specs)])
    main = answer.methods[0]
    show(table_sections(file, encoded, answer), [verdict(answer, main)])
    if main.error is not None:
        raise VsaError(f"{main.label} failed: {main.error}")
