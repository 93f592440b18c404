"""`--proportions` and `--proportions-from`: the shares of the classes, if they are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from vsacli.cli.values import parse_proportions, restored
from vsacli.errors import UsageError

if TYPE_CHECKING:
    from vsacli.prepare import ReadOptions
    from vsacli.tables.table import Table
    from vsacli.target.proportions import KnownProportions

ProportionsOption = Annotated[
    str | None,
    typer.Option(
        "--proportions",
        metavar="A=P,B=P,...",
        show_default=False,
        help="The shares of the classes among all rows, if you know them, such as sick=2%,healthy=98%: shares, "
        "percentages or counts; one class may be left out. Or `labels`: the labels were drawn at random.",
        callback=restored,
    ),
]
ProportionsFrom = Annotated[
    str | None,
    typer.Option(
        "--proportions-from",
        metavar="FILE",
        show_default=False,
        help="The shares are those of the labels in the column --target of this table.",
    ),
]


def known_proportions(
    text: str | None, path: str | None, options: ReadOptions, read: Callable[[str], Table]
) -> KnownProportions | None:
    """The shares of the classes from the two options.

    Raises
    ------
    UsageError
        Both are given, or one that cannot be understood.
    DataError
        The other table has no labels.
    """
    if text is not None and path is not None:
        raise UsageError("--proportions and --proportions-from both give the shares of the classes; leave out one")
    if text is not None:
        return parse_proportions("--proportions", text)
    if path is None:
        return None
    import numpy as np

    from vsacli.prepare import read_label_column
    from vsacli.target.proportions import CountedLabels

    table = read(path)
    target = read_label_column(table, table.find(options.target), replace(options, task="classification"))
    counts = np.bincount(target.codes[target.given], minlength=len(target.classes))
    return CountedLabels(dict(zip(target.classes, counts.tolist(), strict=True)), table.name)
