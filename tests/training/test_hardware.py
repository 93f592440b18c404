"""What training takes of the machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from vsacli.training.hardware import leave_cores_to


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("workers", "left"), [(0, 4), (1, 3), (3, 1), (9, 1)])
def test_each_worker_has_a_core_and_the_steps_one_at_least(workers: int, left: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    leave_cores_to(workers)
    assert torch.get_num_threads() == left


def test_threads_that_somebody_asked_for_are_left_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    leave_cores_to(3)
    assert torch.get_num_threads() == 4
