"""What was read for rows that are asked about: read once, by whoever wants it first."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from vsacli import VSAClassifier
from vsacli.inference.kept_contexts import KeptContexts, Key
from vsacli.nn.model import VSAModel

CPU: Any = SimpleNamespace(model=object(), device=torch.device("cpu"))


class Reads:
    """Reads by number, and remembers them."""

    def __init__(self) -> None:
        self.done: list[Key] = []

    def __call__(self, kept: KeptContexts, number: int, by: Any = CPU, most: int = 9) -> Any:
        def read() -> Any:
            self.done.append((number, 0, 0))
            return number, len(self.done)

        return kept.get((number, 0, 0), read, by=by, most=most)


def test_what_is_kept_is_read_once_and_the_oldest_is_forgotten() -> None:
    kept, reads = KeptContexts(), Reads()
    assert [reads(kept, n, most=2)[0] for n in (1, 2, 1, 3, 2, 1)] == [1, 2, 1, 3, 2, 1]
    assert [n for n, *_ in reads.done] == [1, 2, 3, 1]


def test_another_network_or_device_reads_again() -> None:
    kept, reads = KeptContexts(), Reads()
    others = [SimpleNamespace(model=object(), device=CPU.device), SimpleNamespace(model=CPU.model, device="meta")]
    for by in (CPU, CPU, *others, CPU):
        reads(kept, 1, by)
    assert len(reads.done) == 4


def test_a_failure_is_told_and_not_kept() -> None:
    kept, reads = KeptContexts(), Reads()

    def fail() -> Any:
        raise MemoryError

    with pytest.raises(MemoryError):
        kept.get((1, 0, 0), fail, by=CPU, most=9)
    assert reads(kept, 1) == (1, 1)


def test_threads_wait_for_the_one_that_reads() -> None:
    kept, reads, start = KeptContexts(), Reads(), Barrier(4)

    def ask(_: int) -> Any:
        start.wait()
        return reads(kept, 1)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(4))) == [(1, 1)] * 4


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda kept: pickle.loads(pickle.dumps(kept))])
def test_copies_are_empty(again) -> None:
    kept, reads = KeptContexts(), Reads()
    reads(kept, 1)
    reads(again(kept), 1)
    reads(kept, 1)
    assert len(reads.done) == 2


def test_new_rows_of_an_estimator_read_its_rows_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    read = VSAModel.read
    monkeypatch.setattr(VSAModel, "read", lambda *args: calls.append(1) or read(*args))
    rng = np.random.default_rng(0)
    x = rng.normal(size=(330, 3))
    y = np.where(x[:, 0] > 0, "a", "b").astype(object)
    y[20:] = None
    model = VSAClassifier(device="cpu").fit(x, y)
    new = rng.normal(size=(3, 3))
    calls.clear()
    one_by_one = np.concatenate([model.predict_proba(row[None]) for row in new])
    assert len(calls) == 1
    np.testing.assert_allclose(pickle.loads(pickle.dumps(model)).predict_proba(new), one_by_one, atol=1e-5)
    assert len(calls) == 2
