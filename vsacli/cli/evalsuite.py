"""`vsa eval --suite`: methods compared over many tables."""

from __future__ import annotations

import os
from collections.abc import Sequence

from vsacli.cli.console import progress_shown, say
from vsacli.cli.evalasked import Compared, Results, SuiteOptions
from vsacli.cli.evalreport import comparison_sections, detail_sections, metrics_of
from vsacli.cli.options import TaskChoice
from vsacli.cli.sections import show
from vsacli.errors import UsageError
from vsacli.evaluation.episodes import POOL_ROWS, EpisodeKey, EpisodePlan, Setting, usable
from vsacli.evaluation.methods import absent_methods, asked_methods, choose_methods, load_checkpoints, picture
from vsacli.evaluation.results import ResultsFile
from vsacli.evaluation.run import MethodSpec, Record, run_suite
from vsacli.evaluation.suites import load_suite
from vsacli.kinds import TaskKind
from vsacli.tasks.store import EncodedTable, TableStore

SHOTS = {"classification": (1, 3, 5), "regression": (10, 15, 20)}
UNLABELED = {"classification": 20, "regression": 100}


def eval_suite(name: str, drawn: SuiteOptions, compared: Compared, results: Results) -> None:
    """Run a comparison (or the rest of it) and print the report."""
    quiet = results.quiet
    with progress_shown(quiet) as progress:
        store = load_suite(
            name,
            kind=_asked_kind(drawn.task),
            split=drawn.split,
            target=drawn.target,
            seed=drawn.seed,
            progress=progress,
        )
    for note in store.notes:
        _note(quiet, note)
    for table_name, why in store.skipped:
        _note(quiet, f"left out: {table_name}: {why}")
    kind = _kind_of_suite(store.tables, drawn.task, name, quiet)
    specs = choose_methods(compared.methods, None, kind, compared.checkpoints, compared.device)
    for method, why in absent_methods(asked_methods(compared.methods), kind):
        _note(quiet, f"absent: {method}: {why}")
    load_checkpoints(specs, kind)
    _check_metric(drawn.metric, kind)
    shots = drawn.shots or SHOTS[kind]
    unlabeled = _unlabeled(drawn.unlabeled, drawn.setting, kind)
    plan = EpisodePlan(shots, unlabeled, drawn.episodes, drawn.seed, drawn.setting)
    tables = _usable_tables(store, kind, shots, name, quiet)
    file = ResultsFile(results.json, plan) if results.json is not None else None
    wanted = {(t.name, s.label, k.shot, k.number) for t in tables for s in specs for k in plan.all_keys()}
    records = [r for r in file.resume(specs) if r.key in wanted] if file is not None else []
    if records:
        _note(quiet, f"{len(records):,} of {len(wanted):,} results are in {results.json} already")
    with progress_shown(quiet) as progress:
        done = {r.key for r in records}
        for new in run_suite(tables, plan, specs, jobs=drawn.jobs or os.cpu_count() or 1, done=done):
            records += new
            if file is not None:
                file.add(new)
            progress("episodes x methods", len(records), len(wanted))
    # Processes finish in any order; the report and the file's readers should not depend on it.
    order = {t.name: i for i, t in enumerate(tables)}
    place = {s.label: i for i, s in enumerate(specs)}
    records.sort(key=lambda r: (place[r.method], order[r.table], r.shot, r.episode))
    metrics = _main_metrics(kind, drawn.setting) if drawn.metric is None else (drawn.metric,)
    _show_suite(name, records, metrics, kind, specs)
    if results.plot is not None:
        from vsacli.evaluation.plots import plot_suite

        first = _one_of_each_shape(tables)
        number = EpisodeKey(shots[min(1, len(shots) - 1)], 0)
        pictures = [picture(plan.draw(t, number).episode, specs) for t in first]
        plot_suite(results.plot, records, metrics[0], pictures)


def _unlabeled(asked: int | None, setting: Setting, kind: TaskKind) -> int:
    if setting is Setting.natural:
        return 0
    usual = POOL_ROWS if setting is Setting.pool else UNLABELED[kind]
    return usual if asked is None else asked


def _main_metrics(kind: TaskKind, setting: Setting) -> tuple[str, ...]:
    """If classes are not equally frequent, balanced accuracy is shown beside accuracy."""
    if kind == "regression":
        return ("mse",)
    return ("accuracy", "balanced_accuracy") if setting is Setting.pool else ("accuracy",)


def _show_suite(
    name: str, records: list[Record], metrics: Sequence[str], kind: TaskKind, specs: Sequence[MethodSpec]
) -> None:
    main = specs[0].label
    title = f"{name}: {kind}, {len({r.table for r in records})} tables"
    sections = [*comparison_sections(title, records, metrics, main), *detail_sections(records, kind)]
    declared = [r for r in records if "declared" in r.tags]
    if declared and len(declared) < len(records):
        title = f"{name}: {kind}, {len({r.table for r in declared})} tables with a declared target"
        sections += comparison_sections(title, declared, metrics, main)
    show(sections)


def _usable_tables(
    store: TableStore, kind: TaskKind, shots: tuple[int, ...], name: str, quiet: bool
) -> list[EncodedTable]:
    tables = []
    for table in store.select(kind=kind):
        why = usable(table, shots)
        if why is None:
            tables.append(table)
        else:
            _note(quiet, f"left out: {table.name}: {why}")
    if not tables:
        raise UsageError(
            f"{name} has no table for {kind} with {', '.join(map(str, shots))} labels; see --task, --shots"
        )
    return tables


def _kind_of_suite(tables: Sequence[EncodedTable], task: TaskChoice, name: str, quiet: bool) -> TaskKind:
    if (asked := _asked_kind(task)) is not None:
        return asked
    kinds: set[TaskKind] = {t.kind for t in tables}
    if not kinds:
        raise UsageError(f"{name} has no usable table")
    if len(kinds) > 1:
        _note(quiet, "tables of both kinds: comparing classification; --task regression compares the others")
        return "classification"
    return kinds.pop()


def _asked_kind(task: TaskChoice) -> TaskKind | None:
    if task is TaskChoice.auto:
        return None
    return "classification" if task is TaskChoice.classification else "regression"


def _check_metric(metric: str | None, kind: TaskKind) -> None:
    if metric is not None and metric not in metrics_of(kind):
        raise UsageError(f"no figure '{metric}' for {kind}; known: {', '.join(metrics_of(kind))}")


def _one_of_each_shape(tables: Sequence) -> list:
    """Two tables for the pictures: the first ones with different numbers of classes."""
    found = {t.n_classes: t for t in reversed(tables)}
    return [found[c] for c in sorted(found)][:2]


def _note(quiet: bool, text: str) -> None:
    if not quiet:
        say(f"vsa: {text}")
