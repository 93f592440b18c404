"""The format of a text file, for other rows to be written in."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from vsacli.tables.text.encoding import Encoding, not_in_encoding


@dataclass(frozen=True)
class TextFormat:
    """How rows are written as text.

    What is written is read again with the options that the file was read with, and without them if it was read so.

    Attributes
    ----------
    delimiter : str
    encoding : Encoding
    decimal : "." or ","
        Decimal mark of the numbers that are written.
    sep_line : bool
        Whether a first line `sep=;` names the delimiter.
    """

    delimiter: str = ","
    encoding: Encoding = field(default_factory=Encoding)
    decimal: Literal[".", ","] = "."
    sep_line: bool = False

    def number(self, written: str) -> str:
        """A number that is written with a point, in this format."""
        return written.replace(".", self.decimal)

    def text(self, rows: Iterable[Sequence[object]], name: str) -> bytes:
        """Rows as bytes: cells are quoted where they have to be, lines end with LF.

        Parameters
        ----------
        rows
            The header first.
        name : str
            Of the file that has this format, for messages.

        Raises
        ------
        DataError
            A character that the encoding does not have.
        """
        sep_line = f"sep={self.delimiter}\n".encode(self.encoding.codec) if self.sep_line else b""
        return self.encoding.mark + sep_line + self.rows(rows, name)

    def rows(self, rows: Iterable[Sequence[object]], name: str) -> bytes:
        """Rows alone, as `text` writes them: to be added to what it wrote."""
        out = io.StringIO()
        csv.writer(out, delimiter=self.delimiter, lineterminator="\n").writerows(rows)
        try:
            return out.getvalue().encode(self.encoding.codec)
        except UnicodeEncodeError as error:
            raise not_in_encoding(error, self.encoding, name) from None
