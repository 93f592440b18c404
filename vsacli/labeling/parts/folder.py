"""Which files of a folder are parts of the table, whether they fit together, and where labeled parts may be written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from vsacli.errors import DataError, InputError, OutputError, UsageError
from vsacli.support.wording import some

if TYPE_CHECKING:
    import pyarrow as pa

    from vsacli.tables.parquet.table import ParquetTable

ENDINGS = (".parquet", ".pq", ".parq")
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Part:
    """A Parquet file of the folder.

    Attributes
    ----------
    name : str
        Its path below the folder, with `/`.
    path : str
        Where it lies, for opening it and for messages.
    keys : tuple of (str, str or None)
        What the names of its folders say, Hive style: `year=2024/` is ("year", "2024").
    n_rows : int
        -1 before `check_parts`.
    numbers : tuple of (int, str)
        Columns whose numbers are read in another type ("int64" or "double"), because other parts hold them otherwise.
    """

    name: str
    path: str
    keys: tuple[tuple[str, str | None], ...] = ()
    n_rows: int = -1
    numbers: tuple[tuple[int, str], ...] = ()

    def open(self) -> ParquetTable:
        """Its table; InputError or DataError if it cannot be read."""
        from vsacli.tables.parquet.table import ParquetTable

        return ParquetTable(self.path)


def find_parts(folder: str) -> tuple[list[Part], list[str]]:
    """The parts of a folder and its subfolders (also behind links), sorted by name; and the names of other files.

    Names that begin with `_` or `.` are neither: Spark, Hive and Arrow keep notes and unfinished files in them.

    Raises
    ------
    DataError
        There is no part, or links form a circle.
    """
    names: list[str] = []
    others: list[str] = []

    above = {folder: frozenset([os.path.realpath(folder)])}  # the folders that a folder lies in

    def unreadable(error: OSError) -> None:
        raise InputError(f"{error.filename} cannot be read: {error.strerror}") from None

    for at, folders, files in os.walk(folder, onerror=unreadable, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith(("_", "."))]
        for path in (os.path.join(at, name) for name in folders):
            real = os.path.realpath(path)
            if real in above[at]:
                raise DataError(f"{path} is a link to a folder that it lies in; remove the link")
            above[path] = above[at] | {real}
        below = os.path.relpath(at, folder).replace(os.sep, "/")
        for file in files:
            if not file.startswith(("_", ".")):
                name = file if below == "." else f"{below}/{file}"
                (names if file.lower().endswith(ENDINGS) else others).append(name)
    if not names:
        what = (
            f"; {some(sorted(others), 1)} is not Parquet: name one file, or save the parts as Parquet" if others else ""
        )
        raise DataError(f"{folder} is a folder without Parquet parts (*.parquet, *.pq){what}")
    names.sort()
    return [Part(name, os.path.join(folder, *name.split("/")), _keys(name)) for name in names], sorted(others)


def check_parts(parts: Sequence[Part]) -> tuple[list[str], list[Part]]:
    """Open each part once: the columns that all have, those of folder names last, and the parts with their rows.

    Raises
    ------
    DataError
        A part has other columns than the first one, or a column has a type that is not compatible with those of
        the parts before; names the part and the column.
    """
    import dataclasses

    first: list[_Column] = []
    checked: list[Part] = []
    for part in parts:
        table = part.open()
        fields = list(zip(table.columns, _types(part), strict=True))
        if not checked:
            first = [_Column(name, kind, part) for name, kind in fields]
        _compare(first, fields, parts[0], part)
        if [key for key, _ in part.keys] != [key for key, _ in parts[0].keys]:
            raise DataError(
                f"{part.path}: its folders are named {_named(part)}, those of {parts[0].path} {_named(parts[0])}; "
                f"label them separately"
            )
        checked.append(dataclasses.replace(part, n_rows=table.n_rows))
    columns = [column.name for column in first]
    numbers = tuple((j, column.wider) for j, column in enumerate(first) if column.wider)
    checked = [dataclasses.replace(part, numbers=numbers) for part in checked]
    return columns + [key for key, _ in parts[0].keys if key not in columns], checked


def check_folders(folder: str, output: str | None, parts: Sequence[Part], labeled: Sequence[str] = ()) -> None:
    """Find out, before any work is done, whether the labeled parts can go to `output`.

    Raises
    ------
    UsageError
        No folder is named, one of the two lies in the other, or a part would replace an input.
    OutputError
        It cannot be written, or holds Parquet files that are not parts of this table.
    """
    if output is None or output == "-":
        raise UsageError(f"{folder} is a folder: name the folder for its labeled parts with --output")
    source, sink = os.path.realpath(folder), os.path.realpath(output)
    if os.path.commonpath([source, sink]) in (source, sink):
        raise UsageError(
            f"--output {output}: a folder cannot be labeled in place, nor into a folder inside it or around it; "
            f"name another one"
        )
    if os.path.lexists(sink) and not os.path.isdir(sink):
        raise OutputError(f"cannot write {output}: it is a file, and {folder} is a folder; name another folder")
    at = sink
    while not os.path.lexists(at):
        at = os.path.dirname(at)
    if not os.path.isdir(at):
        raise OutputError(f"cannot write {output}: {at} is a file, not a directory")
    if not os.access(at, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write {output}: the directory is read-only")
    if not os.path.isdir(sink):
        return
    expected = {part.name for part in parts}
    inputs = {os.path.realpath(path): path for path in (*(part.path for part in parts), *labeled)}
    for name in expected:  # links may lead anywhere
        if (replaced := inputs.get(os.path.realpath(os.path.join(sink, name)))) is not None:
            raise UsageError(f"--output {output} would replace {replaced}, which is an input; name another folder")
    try:
        found, _ = find_parts(output)
    except DataError:
        return
    strangers = [part.name for part in found if part.name not in expected]
    if strangers:
        raise OutputError(
            f"cannot write {output}: it holds {some(strangers, 1)}, which {folder} does not, and readers would take "
            f"all for one table; remove old files, or name another folder"
        )


def agree(one: pa.DataType, other: pa.DataType) -> bool:
    """Whether cells of these types can be one column.

    Null is compatible with all types, numbers with numbers, text with text; the width of dictionary codes makes no
    difference. All other types are compatible only with themselves.
    """
    import pyarrow as pa

    from vsacli.tables.arrow_types import is_number, is_text

    if pa.types.is_null(one) or pa.types.is_null(other):
        return True
    if pa.types.is_dictionary(one) and pa.types.is_dictionary(other):
        one, other = one.value_type, other.value_type
        return one == other or (is_text(one) and is_text(other))
    return one == other or (is_text(one) and is_text(other)) or (is_number(one) and is_number(other))


@dataclass
class _Column:
    """A column of all parts: its type in the first part that has one (not null), and which part that is."""

    name: str
    kind: pa.DataType
    part: Part
    wider: str = ""  # for its numbers, if parts hold them in several types

    def meet(self, kind: pa.DataType, part: Part) -> bool:
        """Add its type in another part; returns whether it is compatible with those of the others."""
        import pyarrow as pa

        from vsacli.tables.arrow_types import is_number

        if not agree(self.kind, kind):
            return False
        if pa.types.is_null(self.kind):
            self.kind, self.part = kind, part
        elif is_number(kind) and kind != self.kind:
            whole = all(pa.types.is_integer(k) and k != pa.uint64() for k in (kind, self.kind))
            self.wider = "int64" if whole and self.wider != "double" else "double"
        return True


def _types(part: Part) -> list[pa.DataType]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return [field.type for field in pq.read_schema(part.path)]
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{part.path}: the Parquet file is damaged ({error})") from None


def _compare(first: list[_Column], fields: list[tuple[str, pa.DataType]], first_part: Part, part: Part) -> None:
    names, expected = [name for name, _ in fields], [column.name for column in first]
    if names != expected:
        for what, these, those in (("lacks", expected, names), ("has", names, expected)):
            odd = [name for name in these if name not in those]
            if odd:
                not_so = "has" if what == "lacks" else "has not"
                raise DataError(f"{part.path} {what} the column {odd[0]!r}, which {first_part.path} {not_so}")
        place = next((j for j, (a, b) in enumerate(zip(expected, names, strict=False)) if a != b), len(expected))
        name = (names if place < len(names) else expected)[min(place, max(len(names), len(expected)) - 1)]
        raise DataError(
            f"{part.path} has the column {name!r} in another place or another number of times than {first_part.path}"
        )
    for (name, kind), column in zip(fields, first, strict=True):
        if not column.meet(kind, part):
            raise DataError(
                f"{part.path}: column {name!r} is {kind}, and in {column.part.path} {column.kind}; "
                f"write all parts with one schema"
            )


def _keys(name: str) -> tuple[tuple[str, str | None], ...]:
    pairs = [folder.split("=", 1) for folder in name.split("/")[:-1] if "=" in folder]
    return tuple((unquote(key), None if value == _NO_VALUE else unquote(value)) for key, value in pairs)


def _named(part: Part) -> str:
    return "/".join(f"{key}=…" for key, _ in part.keys) or "without keys"
