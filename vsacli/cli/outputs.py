"""What a run of `vsa label` writes: the table and files on it, all of them or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import BinaryIO

from vsacli.errors import OutputError
from vsacli.support.locks import lock_beside, locked
from vsacli.tables.output import is_stream, open_output


def sole_writer_of(output: str | None) -> AbstractContextManager[None]:
    """The lock of the file that a table is written to: of two runs in place, one would undo the work of the other.

    Raises
    ------
    UsageError
        When it is entered, if another run holds it.
    """
    if output is None or is_stream(output):
        return nullcontext()
    busy = f"{output}: another run is writing there ({{holder}}); wait for its end or stop it, or give another --output"
    return locked(lock_beside(Path(output)), busy)


def write_all(
    table: Callable[[BinaryIO], None] | None,
    output: str | None,
    inputs: Sequence[str],
    more: Sequence[tuple[str, bytes]],
    *,
    done: bool = False,
) -> None:
    """Write the table and what there is to say of it.

    All files take their places at the end, the table last, so that one that cannot be written leaves the others as they
    were. What goes to a pipe or a device cannot be taken back, so it follows when all files are in their places.

    Parameters
    ----------
    table : callable
        Writes it to a sink; None if there is nothing to write.
    output, inputs
        As of `open_output`.
    more : sequence of (str, bytes)
        Other files: paths and contents.
    done : bool
        The labels are written already.

    Raises
    ------
    OutputError
        The message says so if the labels are written all the same.
    """
    try:
        with ExitStack() as files:
            sink = None if table is None else files.enter_context(open_output(output, inputs=inputs))
            for path, data in more:
                if not is_stream(path):
                    files.enter_context(open_output(path)).write(data)
            if table is not None and sink is not None:
                table(sink)
        done = done or table is not None
        for path, data in more:
            if is_stream(path):
                with open_output(path) as sink:
                    sink.write(data)
    except OutputError as error:
        if not done:
            raise
        raise OutputError(f"{error}; the labels are written to {output or 'standard output'}") from None
