"""Many tables as attributes, kept together: what meta-training and evaluation draw episodes from."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vsacli.attributes.words import Words
from vsacli.errors import InputError, OutputError
from vsacli.kinds import TaskKind
from vsacli.support.atomic_files import replacing

_UNREADABLE = (ValueError, KeyError, TypeError, EOFError, RecursionError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True)
class EncodedTable:
    """One table, ready for sampling.

    Attributes
    ----------
    name, family : str
        The table, and the group of near relatives it belongs to.
    kind : {"classification", "regression"}
        What ``y`` holds.
    x : ndarray of float32, shape (n, M)
        Attributes; NaN where not observed.
    column : ndarray of int32, shape (M,)
        Source column of each attribute: one-hot siblings share it.
    y : ndarray, shape (n,)
        int64 class indices (-1: unlabeled) or float64 targets (NaN: unlabeled), not scaled.
    n_classes : int
        C for classification, 1 for regression.
    split : str
        "train", "valid" or "test".
    weight : float
        Relative chance of being drawn in training.
    tags : tuple of str
        Free marks for reports (for instance "declared").
    further : ndarray of bool, shape (M,), optional
        Attributes that the network reads a table without as well (:class:`vsacli.inference.reading.Known`).
    words : Words, shape (n, V), optional
        The words of the rows, of a table that is labeled or evaluated; a :class:`TableStore` does not keep them.
    """

    name: str
    family: str
    kind: TaskKind
    x: np.ndarray
    column: np.ndarray
    y: np.ndarray
    n_classes: int
    split: str = "train"
    weight: float = 1.0
    tags: tuple[str, ...] = ()
    further: np.ndarray | None = None
    words: Words | None = None

    @property
    def labeled(self) -> np.ndarray:
        """Rows whose label is known, bool (n,)."""
        return self.y >= 0 if self.kind == "classification" else np.isfinite(self.y)


@dataclass
class TableStore:
    """A list of encoded tables, with the ones that could not be used and why; notes are for the user, and not saved."""

    tables: list[EncodedTable]
    skipped: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.tables)

    def __iter__(self) -> Iterator[EncodedTable]:
        return iter(self.tables)

    def select(self, *, kind: TaskKind | None = None, split: str | Sequence[str] | None = None) -> TableStore:
        """The tables of a kind and of one or several splits."""
        splits = None if split is None else {split} if isinstance(split, str) else set(split)
        kept = [t for t in self.tables if (kind is None or t.kind == kind) and (splits is None or t.split in splits)]
        return TableStore(kept)

    def save(self, path: Path) -> None:
        """Write one compressed ``.npz`` (arrays end to end, and a JSON index), whole or not at all; never pickle.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        index = [
            {
                "name": t.name,
                "family": t.family,
                "kind": t.kind,
                "shape": t.x.shape,
                "n_classes": t.n_classes,
                "split": t.split,
                "weight": t.weight,
                "tags": list(t.tags),
                "further": [] if t.further is None else np.flatnonzero(t.further).tolist(),
            }
            for t in self.tables
        ]
        blob = json.dumps({"tables": index, "skipped": self.skipped}).encode()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as fresh, fresh.open("xb") as file:
                np.savez_compressed(
                    file,
                    index=np.frombuffer(blob, np.uint8),
                    x=np.concatenate(
                        [t.x.ravel().astype(np.float32) for t in self.tables] or [np.zeros(0, np.float32)]
                    ),
                    column=np.concatenate([t.column.astype(np.int32) for t in self.tables] or [np.zeros(0, np.int32)]),
                    y=np.concatenate([t.y.astype(np.float64) for t in self.tables] or [np.zeros(0)]),
                )
        except OSError as e:
            raise OutputError(f"{path}: cannot be written ({e.strerror or e})") from e

    @classmethod
    def load(cls, path: Path) -> TableStore:
        """The store that :meth:`save` wrote.

        Raises
        ------
        InputError
            If the file is absent or not such a store.
        """
        try:
            # np.load() keeps the file open if it is not an archive
            if not zipfile.is_zipfile(path):
                raise ValueError("not a complete archive")
            with np.load(path, allow_pickle=False) as z:
                meta = json.loads(z["index"].tobytes())
                x, column, y = z["x"], z["column"], z["y"]
            tables, ends = _cut(meta["tables"], x, column, y)
            if ends != (len(x), len(column), len(y)):
                raise ValueError("its arrays and its index disagree")
            return cls(tables, [(str(name), str(reason)) for name, reason in meta["skipped"]])
        except (OSError, *_UNREADABLE) as e:
            raise InputError(f"{path}: not a readable table store ({e}); delete it, and it will be rebuilt") from e


def _cut(
    index: list[dict[str, Any]], x: np.ndarray, column: np.ndarray, y: np.ndarray
) -> tuple[list[EncodedTable], tuple[int, int, int]]:
    """The tables of arrays that lie end to end, and where the last one ends."""
    tables, at_x, at_c, at_y = [], 0, 0, 0
    for t in index:
        n, m = t["shape"]
        classes = t["kind"] == "classification"
        tables.append(
            EncodedTable(
                name=t["name"],
                family=t["family"],
                kind=t["kind"],
                x=x[at_x : at_x + n * m].reshape(n, m),
                column=column[at_c : at_c + m],
                y=y[at_y : at_y + n].astype(np.int64) if classes else y[at_y : at_y + n],
                n_classes=t["n_classes"],
                split=t["split"],
                weight=t["weight"],
                tags=tuple(t["tags"]),
                further=np.isin(np.arange(m), t["further"]),
            )
        )
        at_x, at_c, at_y = at_x + n * m, at_c + m, at_y + n
    return tables, (at_x, at_c, at_y)
