"""Embeddings of rows: where the network places each row of a table before its head compares them.

    labeled rows (one context) + all others  --network-->  one vector of M * H^(B) numbers per row

Of a table with more rows than a chunk some are read with the labeled ones, and the others asked about beside these
(:mod:`vsacli.inference.asked`), so where a row is placed depends on no other row that is asked about. Networks that
cannot be asked read such a table in chunks, whose rows can only roughly be compared. Attributes of a wide table are
read in the groups that answers are averaged of. Of many classes those that resemble each other are taken as one, so
that there are no more than the network reads together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from vsacli.errors import CheckpointError, DataError
from vsacli.inference.config import InferenceConfig
from vsacli.inference.order import reading_order
from vsacli.inference.passes import PassRows
from vsacli.inference.reading import Reading
from vsacli.support.threads import numpy_on_one_thread

if TYPE_CHECKING:
    from vsacli.checkpoints.folder import Checkpoint


def embed(
    checkpoint: Checkpoint,
    x: np.ndarray,
    labeled: np.ndarray,
    y: np.ndarray,
    n_classes: int = 0,
    *,
    config: InferenceConfig | None = None,
) -> np.ndarray:
    """Embed every row of a table.

    The context is the labeled rows, or a seeded choice of ``context_rows`` of them, every class among them. Its
    rows are embedded with their labels; every other row is without one, labeled rows that the context has no room
    for included.

    Parameters
    ----------
    checkpoint, x, labeled, y, n_classes, config
        As for :func:`vsacli.inference.predict.predict`.

    Returns
    -------
    ndarray of float32, shape (n, M * H^(B))
        In the order of the rows of ``x``; the H^(B) channels of the first attribute come first. The heads
        compare them by squared Euclidean distance over M.

    Raises
    ------
    CheckpointError
        If the network is of another method: only the VSA network embeds a row attribute by attribute.
    DataError
        If no row is labeled, or there is no attribute.
    ResourceError
        If even the smallest pass does not fit in memory.
    """
    check_embeds(checkpoint)
    reading = Reading(checkpoint, x, labeled, y, n_classes, config)
    if x.shape[1] and reading.class_groups is not None:
        y = reading.class_groups.merged(reading.config.classes_together)[reading.target]
        reading = Reading(checkpoint, x, labeled, y, int(y.max()) + 1, config)
    if not x.shape[1]:
        raise DataError("no attribute to embed rows by")
    c = reading.contexts[0]
    context = reading.support[c]
    rows = np.setdiff1d(np.arange(len(x)), context)
    order, first = reading_order(x, reading.signatures, reading.config.seed, rows)
    if len(rows) <= reading.chunk_rows:
        first[:] = True  # a table read at once is read as it is
    read = rows[order[first]]
    place = _asked if len(read) > reading.chunk_rows and reading.rows_read_beside else _in_chunks
    out = np.zeros((len(x), x.shape[1], reading.runner.config.channels), np.float32)
    with numpy_on_one_thread():
        for group, placed in zip(reading.groups, place(reading, c, read), strict=True):
            placed = placed.reshape(len(placed), len(group), -1)
            out[np.ix_(context, group)] = placed[: len(c)]
            out[np.ix_(rows[order], group)] = placed[len(c) :][np.cumsum(first) - 1]
    return out.reshape(len(x), -1)


def _asked(reading: Reading, c: np.ndarray, read: np.ndarray) -> Iterator[np.ndarray]:
    """Embeddings of labeled rows ``c`` and of rows ``read``, some read and the others asked about, by groups."""
    labeled, target, least = reading.pass_rows(reading.support[c], c), reading.target[c], reading.config.least_chunk
    others = _rows_of(reading, read)
    for group in reading.groups:
        given, rows = (PassRows(some.x[:, group], some.structure) for some in (labeled, others))
        _, left = reading.runner.read(given, target, rows.part(slice(reading.rows_read_beside)), least, pooled=False)
        placed = [left.context.embeddings[0, :, : len(group) * reading.runner.config.channels].float().cpu().numpy()]
        for start in range(len(placed[0]) - len(c), len(read), reading.piece_rows):
            piece = rows.part(slice(start, start + reading.piece_rows))
            placed.append(reading.runner.place(left, len(c), piece, least))
        yield np.concatenate(placed)


def _in_chunks(reading: Reading, c: np.ndarray, read: np.ndarray) -> Iterator[np.ndarray]:
    """Embeddings of labeled rows ``c`` and of rows ``read``, all read, in one chunk or several, by groups.

    Every chunk holds the same labeled rows and a random share of the others, and is moved so that its labeled rows have
    the mean that they have in all chunks.
    """
    labeled, target, least = reading.pass_rows(reading.support[c], c), reading.target[c], reading.config.least_chunk
    n_chunks = max(1, -(-len(read) // reading.chunk_rows))
    chunks = [_rows_of(reading, part) for part in np.array_split(read, n_chunks)]
    for group in reading.groups:
        shown = PassRows(labeled.x[:, group], labeled.structure)
        parts: list[np.ndarray] = []
        for chunk in chunks:
            parts += reading.runner.embed(shown, target, PassRows(chunk.x[:, group], chunk.structure), least)
        mean = np.mean([part[: len(c)] for part in parts], axis=0)
        yield np.concatenate([mean, *(part[len(c) :] + (mean - part[: len(c)]).mean(0) for part in parts)])


def _rows_of(reading: Reading, rows: np.ndarray) -> PassRows:
    """Rows of the table, the labeled ones among them known as such to its structure."""
    position = np.full(len(reading.x), -1, np.int64)
    position[reading.support] = np.arange(len(reading.support))
    return reading.pass_rows(rows, position[rows])


def check_embeds(checkpoint: Checkpoint) -> None:
    """Refuse networks whose embeddings do not belong to attributes.

    Raises
    ------
    CheckpointError
    """
    method = checkpoint.model.config.method
    if method != "vsa":
        raise CheckpointError(
            f"checkpoint {checkpoint.name} is of the method {method}, whose rows have no embedding by attributes; "
            "embeddings, reports and suggestions need a VSA network"
        )
