"""The synthetic prior as the batch sampler takes it: NumPy in, NumPy out, seeded by the step's generator."""

from __future__ import annotations

import numpy as np

from vsacli.kinds import TaskKind


def random_tasks(
    rng: np.random.Generator, kind: TaskKind, tasks: int, rows: int, attributes: int, classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Random tables from the prior of :mod:`vsacli.tasks.synthetic.prior`.

    Returns
    -------
    x : ndarray of float32, shape (tasks, rows, attributes), NaN where not observed
    y : ndarray, shape (tasks, rows), classes or targets
    """
    import torch

    from vsacli.tasks.synthetic.prior import sample_prior

    generator = torch.Generator().manual_seed(int(rng.integers(1 << 62)))
    batch = sample_prior(tasks, rows, attributes, kind=kind, n_classes=max(2, classes), generator=generator)
    x = batch.x.numpy()
    x[~batch.observed.numpy()] = np.nan
    return x, batch.y.numpy()
