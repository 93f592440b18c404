"""`--labeled` of `vsa label` and `vsa eval`: tables that give labels, and the answers that `--ask` kept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vsacli.errors import DataError, UsageError, VsaError

if TYPE_CHECKING:
    from vsacli.tables.table import Table, WritableTable


@dataclass
class LabelSources:
    """The tables that give labels besides the one on the line.

    Attributes
    ----------
    paths : list of str
        Where they lie; a later one counts more.
    kept : str, optional
        The one among them that holds answers to `--ask`, if nobody named it.
    notes : list of str
        What to tell about them; complete when they are read.
    """

    paths: list[str]
    kept: str | None = None
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        file: str,
        output: str | None,
        target: str,
        labeled: Sequence[str] | None,
        *,
        delimiter: str | None = None,
        encoding: str | None = None,
    ) -> LabelSources:
        """The tables that were named, after the answers that `--ask` kept for this table and output, if there are any.

        Labels that a person gave once must not be lost because the next command does not name them.
        """
        from vsacli.asking.answers_file import answers_kept

        paths = list(labeled or ())
        nowhere = file == "-" and output in (None, "-")
        kept = None
        if not nowhere and not os.path.isdir(file):
            kept = answers_kept(file, output, target, delimiter=delimiter, encoding=encoding)
        if kept is None or any(os.path.exists(path) and os.path.samefile(path, kept) for path in paths):
            return cls(paths)
        note = f"your answers to --ask in {kept} are read, as with --labeled; move that file away to leave them out"
        return cls([kept, *paths], kept, [note])

    def named_for(self, file: str) -> list[str]:
        """The tables that another command on FILE must be told of: it finds answers beside FILE by itself."""
        from vsacli.asking.answers_file import answers_path

        found = self.kept is not None and os.path.realpath(self.kept) == os.path.realpath(answers_path(file, None))
        return [path for path in self.paths if not (found and path == self.kept)]

    def read(self, target: str, delimiter: str | None, encoding: str | None) -> list[Table]:
        """Read them, without labels that an earlier run filled in.

        Raises
        ------
        VsaError
            One of them cannot be read, or has no label column.
        """
        from vsacli.labeling.filled_record import without_filled

        tables = []
        for path in self.paths:
            table = read_labeled(path, target, delimiter, encoding)
            tables.append(table if path == "-" else without_filled(table, path, target, self.notes))
        return tables


def read_labeled(path: str, target: str, delimiter: str | None, encoding: str | None) -> WritableTable:
    """A table with labels, read as FILE is, or as detected if a spreadsheet has saved it in another format."""
    from vsacli.tables.read import read_table

    def with_target(delimiter: str | None = None, encoding: str | None = None) -> WritableTable:
        table = read_table(path, delimiter=delimiter, encoding=encoding)
        table.find(target)
        return table

    try:
        return with_target(delimiter, encoding)
    except (DataError, UsageError):
        if path == "-" or (delimiter is None and encoding is None):
            raise
        try:
            return with_target()
        except VsaError:
            pass
        raise
