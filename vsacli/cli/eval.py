"""`vsa eval`: how good are the labels, on one table or over many."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vsacli.cli.completers import complete_methods, complete_suites
from vsacli.cli.evalasked import Asked, Compared, Results, SuiteOptions
from vsacli.cli.options import (
    Checkpoints,
    Delimiter,
    Device,
    DeviceChoice,
    Encoding,
    Exclude,
    HeaderLine,
    Include,
    Labeled,
    NaTokens,
    NoDefaultNa,
    OptionalTarget,
    Seed,
    Task,
    TaskChoice,
    checkpoints_given,
)
from vsacli.cli.proportions import ProportionsFrom, ProportionsOption, known_proportions
from vsacli.cli.values import reading_again
from vsacli.errors import UsageError

if TYPE_CHECKING:
    from vsacli.tables.table import Table, WritableTable

EPILOG = """\b
Examples:
  vsa eval data.csv -t class
  vsa eval data.csv -t class --full --thorough
  vsa eval data.csv -t class --methods vsa,forest --json results.jsonl
  vsa eval --suite tables/ --shots 1,3,5 --json results.jsonl --plot results.png
  vsa eval --suite tables/ --pool --shots 1,3,5,10 --json pool.jsonl
"""


def evaluate(
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="[TABLE]",
            show_default=False,
            help="A table with some known labels: CSV, TSV or Parquet; `-` reads standard input.",
        ),
    ] = None,
    target: OptionalTarget = None,
    labeled: Labeled = None,
    suite: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|NAME",
            show_default=False,
            help="Compare methods over many tables: a folder of them, circle-spiral, openml or openml:NUMBER.",
            autocompletion=complete_suites,
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Methods to compare, or `all`. Default: vsa and strong simple methods.",
            autocompletion=complete_methods,
        ),
    ] = None,
    checkpoint: Checkpoints = None,
    shots: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,...", help="Suite: labels per class (regression: in all). Default: 1,3,5 (10,15,20)."
        ),
    ] = None,
    unlabeled: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Suite: unlabeled rows per class (regression: in all). Default: 20 (100)."
        ),
    ] = None,
    pool: Annotated[
        bool,
        typer.Option(
            "--pool",
            help="Suite: the setting of users: all other rows of a table (up to 1,200) are unlabeled and scored.",
        ),
    ] = False,
    natural: Annotated[
        bool,
        typer.Option(
            "--natural", help="Suite: labels in each table's own class proportions, and all its other rows unlabeled."
        ),
    ] = False,
    episodes: Annotated[int, typer.Option(metavar="N", min=1, help="Suite: draws per table and number of labels.")] = 5,
    split: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Suite: train, valid, test or all. Default: valid with a manifest, test with OpenML, else all.",
        ),
    ] = None,
    task: Task = TaskChoice.auto,
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Suite: figure in the main table. Default: accuracy or mse."),
    ] = None,
    na: NaTokens = None,
    no_default_na: NoDefaultNa = False,
    exclude: Exclude = None,
    include: Include = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    header_line: HeaderLine = None,
    proportions: ProportionsOption = None,
    proportions_from: ProportionsFrom = None,
    full: Annotated[
        bool, typer.Option("--full", help="TABLE: print all figures, each class, and labels that may be mistakes.")
    ] = False,
    thorough: Annotated[
        bool,
        typer.Option(
            "--thorough", help="TABLE: more methods, each label hidden more often, and fewer labels for comparison."
        ),
    ] = False,
    json: Annotated[
        Path | None,
        typer.Option(
            "--json",
            metavar="PATH",
            help="Write one JSON record per table x method x shot x episode, one a line. Resumes an interrupted suite.",
        ),
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="PATH", help="Draw the results: .png, .svg or .pdf.")] = None,
    device: Device = DeviceChoice.auto,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Suite: number of processes. Default: one per core.")
    ] = None,
    seed: Seed = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the results, no progress.")] = False,
) -> None:
    """Find out how good the labels are.

    Give a TABLE and its --target: known labels are hidden, predicted by the network and by simple methods, and
    compared; the last lines say whether the labels can be trusted, and what to do next. Or give --suite to compare
    methods over many tables.

    A TABLE is read as by `vsa label`: --na, --no-default-na, --exclude, --include, --delimiter and --encoding
    apply to it.
    """
    if (table is None) == (suite is None):
        raise UsageError("give either a TABLE with --target, or --suite")
    if table is not None and target is None:
        raise UsageError("TABLE needs --target: the column with the labels")
    table_only = {"--na": na, "--no-default-na": no_default_na, "--exclude": exclude, "--delimiter": delimiter}
    suite_only = {"--shots": shots, "--unlabeled": unlabeled, "--split": split, "--metric": metric, "--jobs": jobs}
    suite_only |= {"--natural": natural, "--pool": pool}
    table_only |= {"--proportions": proportions, "--proportions-from": proportions_from}
    table_only |= {"--include": include, "--encoding": encoding, "--header-line": header_line}
    table_only |= {"--full": full, "--thorough": thorough, "--labeled": labeled}
    wrong = table_only if suite is not None else suite_only
    for option, value in wrong.items():
        if value:
            raise UsageError(f"{option} does not go with {'--suite' if suite is not None else 'a TABLE'}")
    if natural and pool:
        raise UsageError("--natural and --pool are two settings; give one of them")
    if natural and unlabeled is not None:
        raise UsageError("--natural takes all rows without a label; leave out --unlabeled")
    if plot is not None:
        from vsacli.evaluation.plots import check_plot_path

        check_plot_path(plot)
    for path in (json, plot):
        if path is not None and not path.absolute().parent.is_dir():
            raise UsageError(f"{path}: its folder does not exist; make it first")
    compared = Compared(methods, tuple(checkpoints_given(checkpoint)), device.value)
    results = Results(json, plot, quiet)
    if suite is not None:
        from vsacli.cli.evalsuite import eval_suite
        from vsacli.evaluation.episodes import Setting
        from vsacli.evaluation.results import sole_user

        with sole_user(json):
            drawn = SuiteOptions(
                target=target or "target",
                shots=_numbers("--shots", shots),
                setting=Setting.natural if natural else Setting.pool if pool else Setting.balanced,
                unlabeled=unlabeled,
                episodes=episodes,
                split=split,
                task=task,
                metric=metric,
                jobs=jobs,
                seed=seed,
            )
            eval_suite(suite, drawn, compared, results)
        return
    assert table is not None
    assert target is not None
    if [table, *(labeled or ()), proportions_from].count("-") > 1:
        raise UsageError("two inputs are both standard input; give one of them as a path")
    from vsacli.cli.evaltable import eval_table
    from vsacli.cli.labeled import LabelSources
    from vsacli.labeling.filled_record import without_filled
    from vsacli.prepare import ReadOptions
    from vsacli.tables.read import read_table

    options = ReadOptions(
        target=target,
        task=task.value,
        na=tuple(na or ()),
        default_na=not no_default_na,
        exclude=tuple(exclude or ()),
        include=tuple(include or ()),
        seed=seed,
    )

    given = LabelSources.of(table, None, target, labeled, delimiter=delimiter, encoding=encoding)

    def read() -> tuple[WritableTable, list[Table]]:
        found = read_table(table, delimiter=delimiter, encoding=encoding, header_line=header_line)
        if table != "-":
            found = without_filled(found, table, target, found.notes)
        sources = given.read(target, delimiter, encoding)
        found.notes.extend(given.notes)
        return found, sources

    other = partial(read_table, delimiter=delimiter, encoding=encoding)
    known = known_proportions(proportions, proportions_from, options, other)
    reading = reading_again(
        options,
        {
            "--delimiter": delimiter,
            "--encoding": encoding,
            "--header-line": header_line,
            "--checkpoint": (checkpoint or [None])[0],
            "--proportions": proportions,
            "--proportions-from": proportions_from,
        },
    )
    asked = Asked(table, given.named_for(table), given.kept, reading, full, thorough)
    eval_table(asked, read, options, compared, results, known)


def _numbers(option: str, text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    try:
        numbers = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        raise UsageError(f"{option} {text}: give whole numbers with commas between, such as 1,3,5") from None
    if numbers[0] < 1:
        raise UsageError(f"{option} {text}: the smallest number of labels is 1")
    return numbers
