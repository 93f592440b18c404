"""The report of a fitted estimator: the page that `vsa label --report` writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, cast

from vsacli.labeling.extra_columns import free_name
from vsacli.support.progress import silent
from vsacli.tables.held import HeldTable

if TYPE_CHECKING:
    import pyarrow as pa

    from vsacli.tables.table import WritableTable


def report_of(
    columns: Sequence[tuple[str, pa.Array]],
    labels: pa.Array,
    *,
    checkpoint: str | None,
    device: str,
    seed: int,
    proportions: Mapping[str, float] | Literal["labels"] | None,
) -> bytes:
    """The page of a table with labels in some of its rows.

    Parameters
    ----------
    columns : sequence of (str, pa.Array)
    labels : pa.Array
        Text (classes) or numbers; null where the label is missing.
    checkpoint, device, seed, proportions
        As of the estimator.

    Returns
    -------
    bytes
        HTML, UTF-8.
    """
    import pyarrow as pa

    from vsacli.insight.report import report_page
    from vsacli.insight.study import StudyConfig, study
    from vsacli.labeling.job import LabelOptions
    from vsacli.labeling.run import label_table

    names = [name for name, _ in columns]
    target = free_name("label", set(names))
    cells = {j: column for j, (_, column) in enumerate(columns)} | {len(names): labels}
    table = HeldTable("the table of fit", [*names, target], len(labels), cells)
    classes = pa.types.is_large_string(labels.type)
    options = LabelOptions(
        target=target,
        task="classification" if classes else "regression",
        default_na=False,
        checkpoint=checkpoint,
        device=device,
        seed=seed,
        proportions=proportions,
    )
    run = label_table(cast("WritableTable", table), options, keep=True)  # nothing is written back
    found = study(run, StudyConfig(columns=True), silent)
    report = run.report
    summary = [
        ("table", f"{report.rows:,} rows, {len(names):,} columns"),
        ("labels", f"{sum(report.given.values()):,} given, {sum(report.filled.values()):,} filled"),
        ("columns", f"{len(report.used):,} used: {', '.join(report.used)}"),
    ]
    if report.left_out:
        summary.append(("left out", ", ".join(f"{name} ({reason})" for name, reason in report.left_out)))
    if report.checkpoint is not None:
        summary.append(("network", f"{report.checkpoint} on {report.device}"))
    return report_page(found, summary)
