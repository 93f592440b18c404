"""The columns of a labeling run as attributes: which are read, in which order, and what is said of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vsacli.errors import DataError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from vsacli.attributes.encoder import AttributeEncoder
    from vsacli.attributes.packed import CompactAttributes
    from vsacli.labeling.job import Job
    from vsacli.tables.table import Table


@dataclass
class Encoded:
    """A table as attributes: `x` (n, M), those of the context first; and what was encoded, with its type then."""

    x: np.ndarray
    encoder: AttributeEncoder
    columns: list[tuple[int, pa.DataType]]

    def widths(self, names: Sequence[str]) -> list[tuple[int, int]]:
        """The columns in use, in the order of their attributes: place in the table, whose header is `names`; width."""
        by_key, seen = self.encoder.widths_by_key, Counter[str]()
        found = []
        for j, _ in self.columns:
            seen[names[j]] += 1
            key = names[j], seen[names[j]]
            if key in by_key:
                found.append((j, by_key[key]))
        return found


def encode_attributes(job: Job, *, useless: Mapping[int, str] | None = None) -> Encoded:
    """The attributes x float32 (n, M) of all rows, NaN where not observed; completes the report.

    `useless` names columns that are known to say nothing, with the reason.

    Raises
    ------
    UsageError
        A column to be excluded that is not there, or is the target.
    DataError
        No column becomes an attribute.
    """
    from vsacli.attributes.encoder import AttributeEncoder

    columns = _ColumnsToEncode(job, useless or {})
    encoder = AttributeEncoder(seed=job.options.seed)
    x = encoder.fit_transform(columns, decimal=job.table.decimal, copies=_copies(job))
    _note_attributes(encoder, job)
    return Encoded(x, encoder, columns.read)


def pack_attributes(job: Job) -> CompactAttributes:
    """The same attributes, of a large table in less room."""
    import pyarrow as pa

    from vsacli.attributes.encoder import AttributeEncoder
    from vsacli.attributes.packed import CompactAttributes
    from vsacli.support.malloc_trim import give_back_free_memory

    columns = _ColumnsToEncode(job, {})
    encoder = AttributeEncoder(seed=job.options.seed)
    x = encoder.fit_into(CompactAttributes, columns, decimal=job.table.decimal, copies=_copies(job))
    _note_attributes(encoder, job)
    assert x is not None  # else there was no attribute
    pa.default_memory_pool().release_unused()
    give_back_free_memory()  # a tenth of what the process holds by now, which the network can have
    return x


class _ColumnsToEncode:
    """The columns that may become attributes, read one after the other; completes what the report says is left out."""

    def __init__(self, job: Job, useless: Mapping[int, str]) -> None:
        table, options, report = job.table, job.options, job.report
        excluded = {j for name in options.exclude for j in _named(table, name)}
        if job.column in excluded:
            raise UsageError(f"--exclude {options.target}: the target is never an attribute; leave the option out")
        useless = {j: reason for j, reason in useless.items() if j not in excluded}
        self._skip = excluded | {job.column} | set(useless)
        report.left_out += [(table.columns[j], "--exclude") for j in sorted(excluded)]
        report.left_out += [(table.columns[j], reason) for j, reason in useless.items()]
        self._job = job
        self.read: list[tuple[int, pa.DataType]] = []

    def __iter__(self) -> Iterator[tuple[str, pa.Array]]:
        table, context = self._job.table, self._job.context
        for j in context.matched() if context else range(len(table.columns)):
            if j not in self._skip:
                self._job.progress("reading columns", j, len(table.columns))
                cells = context.stacked(j) if context else table.column(j)
                self.read.append((j, cells.type))
                yield table.columns[j], cells
                del cells


def _copies(job: Job) -> np.ndarray | None:
    return None if job.copies is None else job.copies.any_row


def _note_attributes(encoder: AttributeEncoder, job: Job) -> None:
    report = job.report
    report.used = dict(encoder.used)
    report.left_out += encoder.left_out
    if not encoder.attribute_names:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in report.left_out[:5])
        raise DataError(
            f"{job.table.name}: no column to learn from beside the target"
            f"{f' ({reasons})' if reasons else ''}; add columns that describe the rows"
        )


def _named(table: Table, name: str) -> list[int]:
    """All columns of that name; an unknown name is an error that suggests a known one."""
    return [j for j, other in enumerate(table.columns) if other == name] or [table.find(name)]
