"""Embeddings of rows: where the network places each row of a table before its head compares them.

    labeled rows (one context) + rows asked for, in chunks  --network-->  one vector of M * H^(B) numbers per row

The network reads rows together, so a row's embedding depends on the rows beside it. Those of different chunks
can be compared because every chunk holds the same labeled rows and a random share of the others, and because
each chunk is moved so that its labeled rows have the mean they have in all chunks. Attributes of a wide table are
read in the groups that answers are averaged of. Of many classes those that resemble each other are taken as one, so
that there are no more than the network reads together. On the sample tables a row
moves by half the distance to its nearest neighbour when it is read in another chunk (a fourth of the distance
of two random rows at most), so clusters are to be trusted and single distances across chunks are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vsacli.errors import CheckpointError, DataError
from vsacli.inference.config import InferenceConfig
from vsacli.inference.order import row_order
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
    rows are embedded with their labels (their mean over the chunks is returned); every other row is read
    without one, labeled rows that the context has no room for included.

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
    context, target, least = reading.support[c], reading.target[c], reading.config.least_chunk
    read = np.setdiff1d(np.arange(len(x)), context)
    read = read[row_order(x, reading.signatures, reading.config.seed, rows=read)]
    n_chunks = max(1, -(-len(read) // reading.chunk_rows))
    chunks = [read[i * len(read) // n_chunks : (i + 1) * len(read) // n_chunks] for i in range(n_chunks)]
    position = np.full(len(x), -1, np.int64)
    position[reading.support] = np.arange(len(reading.support))
    channels = reading.runner.config.channels
    out = np.zeros((len(x), x.shape[1], channels), np.float32)
    with numpy_on_one_thread():
        given, *asked = (reading.structure_of(rows, position[rows]) for rows in (context, *chunks))
        for group in reading.groups:
            shown = PassRows(reading.attributes(context, group), given)
            parts: list[np.ndarray] = []
            for rows, structure in zip(chunks, asked, strict=True):
                parts += reading.runner.embed(
                    shown, target, PassRows(reading.attributes(rows, group), structure), least
                )
            mean = np.mean([part[: len(context)] for part in parts], axis=0)
            moved = [part[len(context) :] + (mean - part[: len(context)]).mean(0) for part in parts]
            stacked = np.concatenate([mean, *moved]).reshape(len(x), len(group), channels)
            out[np.ix_(np.concatenate([context, read]), group)] = stacked
    return out.reshape(len(x), -1)


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
