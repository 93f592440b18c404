"""The input tensor, slice by slice."""

from __future__ import annotations

import numpy as np
import torch
from scipy.stats import rankdata

from tests.nn.tasks import batch_of, episode
from vsacli.nn.config import preset
from vsacli.nn.inputs import input_tensor
from vsacli.nn.scales import Ranks, standardized


def test_the_four_slices_of_equation_5() -> None:
    rng = np.random.default_rng(0)
    e = episode(rng, labeled=3, unlabeled=2, attributes=2, classes=2, missing=0.0)
    e.x[1, 0] = np.nan
    z = input_tensor(batch_of(e), preset("paper"))[0].numpy()
    x = np.nan_to_num(e.x.astype(np.float64))
    np.testing.assert_array_equal(z[:, :2, 0], x)
    np.testing.assert_array_equal(z[:3, 2:, 0], np.eye(2)[e.y[:3]])
    np.testing.assert_array_equal(z[3:, 2:, 0], 0)
    observed = np.array([[1, 1, 1, 1], [0, 1, 1, 1], [1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 0, 0]])
    np.testing.assert_array_equal(z[..., 1], observed)
    np.testing.assert_array_equal(z[..., 2], np.tile([1, 1, 0, 0], (5, 1)))
    np.testing.assert_array_equal(z[..., 3], np.tile([0, 0, 1, 1], (5, 1)))


def test_ranks_and_z_scores_look_only_at_observed_rows() -> None:
    values = np.array([3.0, 1.0, 1.0, np.nan, 7.0])
    seen = np.isfinite(values)
    x = torch.from_numpy(np.where(seen, values, 0.0))[None, :, None]
    mask = torch.from_numpy(seen)[None, :, None]
    ranks = Ranks.of(x, mask)(x, mask)[0, :, 0].numpy()
    # mid-ranks r of n values, scaled to (-1, 1): (2 r - 1) / n - 1
    np.testing.assert_allclose(ranks[seen], (2 * rankdata(values[seen]) - 1) / 4 - 1)
    assert ranks[3] == 0
    z = (values - np.nanmean(values)) / np.nanstd(values)
    got = standardized(x, mask)[0, :, 0].numpy()
    np.testing.assert_allclose(got[seen], (z / np.sqrt(1 + (z / 5) ** 2))[seen])
    assert got[3] == 0


def test_a_constant_attribute_has_no_spread_to_divide_by() -> None:
    x = torch.full((1, 4, 1), 3.0)
    assert standardized(x, torch.ones(1, 4, 1, dtype=torch.bool)).abs().max() == 0
