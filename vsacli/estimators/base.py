"""What both estimators share: columns to attributes, and passes of the network over labeled, unlabeled and new rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from vsacli.attributes.encoder import columns_of
from vsacli.attributes.words import Words, rows_of, side_by_side, stacked
from vsacli.errors import DataError
from vsacli.inference.answers import Answers
from vsacli.inference.order import attribute_signatures, distinct_rows, row_order
from vsacli.inference.proportions import Proportions, left_over
from vsacli.prepare import encode

if TYPE_CHECKING:
    import pyarrow as pa

    from vsacli.checkpoints.folder import Checkpoint
    from vsacli.inference.config import InferenceConfig
    from vsacli.inference.reading import Known
    from vsacli.inference.target_scale import TargetScale
    from vsacli.kinds import TaskKind


class VSAEstimator(BaseEstimator):
    """What both share: columns to attributes, and a pass of the network over labeled, unlabeled and new rows."""

    _kind: TaskKind

    def __init__(
        self,
        checkpoint: str | os.PathLike[str] | None = None,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.checkpoint = checkpoint
        self.device = device
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Read a table with labels in some of its rows, and answer the others.

        Parameters
        ----------
        X : DataFrame, array-like or Arrow table, shape (n, columns)
        y : array-like, shape (n,)
            Classes for `VSAClassifier`, finite numbers for `VSARegressor`; missing if the row is unlabeled.

        Returns
        -------
        self

        Raises
        ------
        DataError
            No label, labels of another kind, or no column to learn from. Also a ValueError.
        UsageError
            `proportions` that do not fit the classes. Also a ValueError.
        CheckpointError
            No usable checkpoint.
        """
        self._read(self._table(X, reset=True, y=y), y)
        return self

    def _read(self, X: Any, y: Any) -> None:
        """Read the labels, answer the rows without one, and set the attributes that hold both."""
        raise NotImplementedError

    def _answer(
        self, X: Any, labels: np.ndarray, missing: np.ndarray, n_classes: int, shares: np.ndarray | None = None
    ) -> Answers:
        """Encode the rows, remember the labeled ones and answer the unlabeled ones.

        Parameters
        ----------
        X
            As `_table` gives it, (n, columns).
        labels : ndarray, shape (L,)
            Codes or numbers of the labeled rows, in row order.
        missing : ndarray of bool, shape (n,)
        n_classes : int
            0 for regression.
        shares : ndarray, shape (n_classes,), optional
            Of the classes among all rows.
        """
        check_consistent_length(X, missing)
        if len(labels) == 0:
            raise DataError(f"y has no label in any of its {len(missing)} rows; give at least one")
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(2**31 - 1)
        self._seed = int(seed)
        attributes = encode(self._columns(X), seed=self._seed, words=n_classes != 1)
        x, encoder = attributes.x, attributes.encoder
        needs_network = n_classes > 1 or (n_classes == 0 and labels.min() < labels.max())
        if needs_network:
            attributes.check("X has no column to learn from")
            self._load()  # now, since it may not be there
        self._encoder = encoder
        self._table_of_fit: Any = X
        self._missing = missing
        self._labels = labels
        self._n_classes = n_classes
        self._labeled = x[~missing]
        self._unlabeled = x[missing]
        self._labeled_words = rows_of(attributes.words, ~missing)
        self._proportions = None if shares is None else left_proportions(shares, labels, len(x))
        self._known: Known | None = None  # of the rows of fit, if new ones can be asked about beside them
        self._scale: TargetScale | None = None  # of numbers, once it is chosen
        answer = self._ask(self._unlabeled, self._unlabeled[:0], rows_of(attributes.words, missing), remember=True)
        if len(self._unlabeled) > _chunk_rows():
            kept = row_order(self._unlabeled, attribute_signatures(x), self._seed)[: _chunk_rows()]
            self._unlabeled = self._unlabeled[kept]
        return answer

    def _predict(self, X: Any) -> Answers:
        words: list[Words] = []
        x = self._attributes(X, words)
        return self._ask(x, x[:0] if self._known is not None else self._others(x), side_by_side(words))

    def _attributes(self, X: Any, words: list[Words] | None = None) -> np.ndarray:
        """Attributes of new rows, (n, M); a list is given their words."""
        check_is_fitted(self)
        return self._encoder.transform(self._columns(self._table(X, reset=False)), words)

    def _others(self, x: np.ndarray) -> np.ndarray:
        """Attributes of the unlabeled rows of `fit` to read together with new rows ``x``."""
        # Unlabeled rows of fit fill the chunk up; those that are asked for again must not count twice.
        room = max(0, _chunk_rows() - len(x))
        _, group = distinct_rows(np.concatenate([x, self._unlabeled]))
        return self._unlabeled[~np.isin(group[len(x) :], group[: len(x)])][:room]

    def embed(self, X: Any) -> np.ndarray:
        """Where the network places rows before its head compares them with the labeled ones.

        The rows are read as unlabeled rows (including labeled ones of `fit`), beside the labeled rows of `fit` and, up
        to a chunk of 256 rows in all, its unlabeled ones. Rows of one call can be compared, as told in
        :mod:`vsacli.inference.embed`.

        Parameters
        ----------
        X : DataFrame, array-like or Arrow table, shape (n, columns)

        Returns
        -------
        ndarray of float32, shape (n, M * H)
            H numbers (8 with the bundled networks) for each of the M attributes that `fit` made of the columns, named
            by `get_embedding_names_out`. An array whatever X is, since this is no `transform`.

        Raises
        ------
        DataError
            X has no column to learn from. Also a ValueError.
        """
        from vsacli.inference.embed import embed

        x = self._attributes(X)
        others = self._others(x)
        table = np.concatenate([self._labeled, x, others])
        labeled = np.arange(len(table)) < len(self._labeled)
        found = embed(self._load(), table, labeled, self._labels, self._n_classes, config=self._config())
        return found[len(self._labeled) :][: len(x)]

    def get_embedding_names_out(self) -> np.ndarray:
        """Names of the columns of `embed`, (M * H,) of str: `attribute_0`, `attribute_1`, ..."""
        check_is_fitted(self)
        from vsacli.inference.embed import check_embeds

        checkpoint = self._load()
        check_embeds(checkpoint)
        channels = checkpoint.model.config.channels
        names = [f"{a}_{c}" for a in self._encoder.attribute_names for c in range(channels)]
        return np.array(names, dtype=object)

    def _ask(self, x: np.ndarray, others: np.ndarray, words: Words | None, *, remember: bool = False) -> Answers:
        """Answer the rows of `x`, with `others` among the unlabeled rows, and remember what was read for new ones."""
        from vsacli.inference.predict import answer
        from vsacli.inference.reading import Known, Reading

        if not len(x):
            return Answers(np.zeros((0, self._n_classes), np.float32), np.zeros(0), np.zeros(0))
        if self._n_classes == 1:
            return Answers(np.ones((len(x), 1), np.float32))
        if self._n_classes == 0 and self._labels.min() == self._labels.max():
            return Answers(mean=np.full(len(x), self._labels[0]), std=np.zeros(len(x)))
        table = np.concatenate([self._labeled, x, others])
        reading = Reading(
            self._load(),
            table,
            np.arange(len(table)) < len(self._labeled),
            self._labels,
            self._n_classes,
            self._config(),
            replace(
                self._known or Known(),
                proportions=self._proportions,
                further=self._encoder.further,
                scale=self._scale,
                words=stacked(self._labeled_words, words, len(others)),
            ),
        )
        found = answer(reading)
        if remember:
            self._known, self._scale = reading.of_other_rows(), reading.scale
        return found.only(slice(len(x)))

    def _config(self) -> InferenceConfig:
        from vsacli.inference.config import InferenceConfig

        return InferenceConfig(device=self.device, seed=self._seed)

    def _table(self, X: Any, *, reset: bool, y: Any = "no_validation") -> Any:
        """X as a data frame or a 2-D array, checked against what `fit` saw (or remembered, with `reset`)."""
        import pandas as pd

        one_column = isinstance(X, pd.Series) or len(getattr(X, "shape", (0, 0))) == 1 or _is_arrow_column(X)
        if hasattr(X, "__arrow_c_stream__") and not one_column and not isinstance(X, pd.DataFrame):
            import pyarrow as pa

            X = pa.table(X).to_pandas(types_mapper=pd.ArrowDtype)
        if isinstance(X, pd.DataFrame):
            X = X.set_axis(_told_apart(X.columns), axis=1)
        else:
            # None keeps the dtype; the stub knows "numeric" alone
            X = check_array(X, dtype=cast(Any, None), ensure_all_finite=False, estimator=self, input_name="X")
        for size, what in zip(X.shape, ("sample(s)", "feature(s)"), strict=True):
            if size < 1:
                raise DataError(f"Found array with {size} {what} (shape={X.shape}) while a minimum of 1 is required.")
        validate_data(self, cast(Any, X), y, reset=reset, skip_check_array=True)
        return X

    def _columns(self, X: Any) -> list[tuple[str, pa.Array]]:
        """Named columns; the names are those of `fit`, since columns are matched by place."""
        names = getattr(self, "feature_names_in_", None)
        columns = columns_of(X)
        return columns if names is None else [(n, c) for n, (_, c) in zip(names, columns, strict=True)]

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write an HTML page about the rows of `fit`, as `vsa label --report` does.

        It shows how many rows of each class were given and filled, how certain the answers are, a map of the rows, the
        rows to label next, and the columns that the answers depend on. It contains cells of the table.

        Parameters
        ----------
        path : str or path
            An existing file is replaced when the page is complete.

        Raises
        ------
        DataError
            The estimator was pickled since `fit`: a pickle does not hold the table. Also a ValueError.
        OutputError
            The file cannot be written.
        """
        check_is_fitted(self)
        from vsacli.estimators.page import report_of
        from vsacli.tables.output import check_output, open_output

        table = getattr(self, "_table_of_fit", None)
        if table is None:
            raise DataError("a report needs the table of fit, which a pickle does not hold; call fit again")
        place = os.fspath(path)
        check_output(place)
        proportions = getattr(self, "proportions", None)
        if isinstance(proportions, Mapping):
            proportions = {str(name): share for name, share in proportions.items()}
        page = report_of(
            self._columns(table),
            self._label_cells(),
            checkpoint=None if self.checkpoint is None else os.fspath(self.checkpoint),
            device=self.device,
            seed=self._seed,
            proportions=proportions,
        )
        with open_output(place) as sink:
            sink.write(page)

    def _label_cells(self) -> pa.Array:
        """The labels of the rows of `fit`, null where they are missing: text or numbers."""
        raise NotImplementedError

    def _summary_html(self) -> str:
        """What a notebook shows of the fitted estimator."""
        raise NotImplementedError

    def _repr_html_inner(self) -> str:
        inner = super()._repr_html_inner()
        return f"{self._summary_html()}{inner}" if hasattr(self, "transduction_") else inner

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    def __getstate__(self) -> dict[str, Any]:
        state = cast(dict[str, Any], super().__getstate__()).copy()
        state.pop("_table_of_fit", None)  # a pickle is no larger than the attributes
        return state

    def _load(self) -> Checkpoint:
        return _load(None if self.checkpoint is None else os.fspath(self.checkpoint), self._kind)


def left_proportions(shares: np.ndarray, labels: np.ndarray, rows: int) -> Proportions:
    """What the labels leave; factors that ask for no unlabeled row, where there is none."""
    counts = np.bincount(labels, minlength=len(shares))
    return Proportions(left_over(shares, counts, rows), shares / counts if rows == len(labels) else None)


def _is_arrow_column(X: Any) -> bool:
    """Whether X is a single column of Arrow's."""
    import pyarrow as pa

    return isinstance(X, (pa.Array, pa.ChunkedArray))


def _told_apart(names: Iterable[Any]) -> list[Any]:
    """Names of columns with the second "a" called "a (2)", since scikit-learn wants them unique."""
    seen: set[Any] = set()
    out: list[Any] = []
    for name in names:
        unique, number = name, 2
        while unique in seen:
            unique, number = f"{name} ({number})", number + 1
        seen.add(unique)
        out.append(unique)
    return out


def _chunk_rows() -> int:
    from vsacli.inference.config import InferenceConfig

    return InferenceConfig().chunk_rows


def _load(ref: str | None, kind: TaskKind) -> Checkpoint:
    """The checkpoint, kept in memory for the next estimator of this process until its files change."""
    from vsacli.checkpoints.folder import WEIGHTS_FILE

    stamp = None
    if ref is not None:
        try:
            stat = os.stat(os.path.join(ref, WEIGHTS_FILE))
            stamp = (stat.st_mtime_ns, stat.st_size)
        except OSError:
            pass
    return _load_once(ref, kind, stamp)


@lru_cache(maxsize=4)
def _load_once(ref: str | None, kind: TaskKind, stamp: tuple[int, int] | None) -> Checkpoint:
    from vsacli.checkpoints.resolve import load_checkpoint

    return load_checkpoint(ref, kind=kind)
