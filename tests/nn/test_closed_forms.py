"""Classes in closed form beside the network: how far each form is followed, and what that is worth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from tests.nn.tasks import batch_of, episode
from vsacli import VSAClassifier
from vsacli.nn.closed_forms import EXPECTED, FEW_ROWS, MORE_THAN, MOST, TEMPER, ClosedForms
from vsacli.nn.kernel_ridge import ALL, kernel_ridge_answers
from vsacli.tasks.episode import Episode

LABELED, UNLABELED, CLASSES = 30, 40, 3


def linear(scale: float = 10.0) -> Episode:
    """Classes on either side of straight boundaries; with a small `scale`, by chance."""
    e = episode(np.random.default_rng(0), labeled=LABELED, unlabeled=UNLABELED, missing=0.1)
    scores = np.nan_to_num(e.x) @ np.random.default_rng(1).normal(size=(e.x.shape[1], CLASSES))
    noise = np.random.default_rng(2).gumbel(size=scores.shape)
    return replace(e, y=(scale * scores + noise).argmax(1))


def both(e: Episode, sure: float) -> tuple[ClosedForms, torch.Tensor]:
    """The forms beside a network that gives every class the same, and one class the more the surer it is; pooled."""
    batch = batch_of(e)
    ridge = kernel_ridge_answers(batch, more=True)[..., ALL]
    network = torch.tensor([sure, *[(1 - sure) / (CLASSES - 1)] * (CLASSES - 1)], dtype=torch.float64)
    probabilities = network.repeat(UNLABELED, 1)
    forms = ClosedForms.of(batch, ridge[:, :LABELED], probabilities)
    assert forms is not None
    return forms, forms.pooled(probabilities, batch, ridge[:, LABELED:])


def test_weights_follow_the_formula() -> None:
    e, sure = linear(1.0), 0.6
    forms, _ = both(e, sure)
    y = e.y[:LABELED]
    left_out = forms.logistic.left_out.numpy()
    logistic = -np.log(left_out[np.arange(LABELED), y])
    ridge = kernel_ridge_answers(batch_of(e), more=True)[0, :LABELED, :, ALL].numpy()
    scores = forms.sharpness * (ridge + np.bincount(y) / LABELED)
    kernel = np.log(np.exp(scores).sum(1)) - scores[np.arange(LABELED), y]
    p = np.array([sure, *[(1 - sure) / (CLASSES - 1)] * (CLASSES - 1)])
    entropy = -(p * np.log(p)).sum()
    expected = (UNLABELED * entropy + FEW_ROWS * EXPECTED * logistic.mean()) / (UNLABELED + FEW_ROWS)
    better = [
        LABELED * (expected - losses.mean()) - nats / LABELED
        for losses, nats in zip((logistic, kernel), MORE_THAN, strict=True)
    ]
    shares = np.exp(np.array([0, *better]) / TEMPER)
    np.testing.assert_allclose(forms.weights, MOST * shares[1:] / shares.sum(), rtol=1e-6)


def test_forms_are_followed_where_labels_speak_for_them_and_not_beside_a_sure_network() -> None:
    e = linear()
    truth = e.y[LABELED:]
    unsure, pooled = both(e, 1 / CLASSES)
    assert unsure.weights.sum() > 0.6
    assert (pooled.argmax(1).numpy() == truth).mean() > 0.75
    sure, pooled = both(e, 0.9)
    assert sure.weights.sum() < 0.05
    assert (pooled.argmax(1) == 0).all()


def test_classes_by_chance_are_left_to_the_network() -> None:
    forms, pooled = both(linear(0.0), 0.9)
    assert forms.weights.sum() < 0.01
    assert (pooled.argmax(1) == 0).all()


def test_one_label_per_class_says_nothing_of_forms() -> None:
    e = linear()
    e = replace(e, y=np.where(np.arange(len(e.y)) < 2, [0, 1] * (len(e.y) // 2), 2))
    batch = batch_of(e)
    ridge = kernel_ridge_answers(batch, more=True)[..., ALL]
    network = torch.full((UNLABELED, CLASSES), 1 / CLASSES, dtype=torch.float64)
    assert ClosedForms.of(batch, ridge[:, :LABELED], network) is None


def test_copies_of_labeled_rows_are_no_evidence() -> None:
    e = linear(1.0)
    forms, _ = both(e, 0.4)
    copies = [*np.repeat(np.arange(LABELED), 3), *range(LABELED, len(e.y))]
    batch = batch_of(replace(e, x=e.x[copies], y=e.y[copies], n_labeled=3 * LABELED))
    ridge = kernel_ridge_answers(batch, more=True)[..., ALL]
    network = torch.tensor([[0.4, 0.3, 0.3]], dtype=torch.float64).repeat(UNLABELED, 1)
    of_copies = ClosedForms.of(batch, ridge[:, : 3 * LABELED], network)
    assert of_copies is not None
    assert of_copies.weights[1] < 0.01  # each label stands in the twin of its row
    assert of_copies.weights.sum() < forms.weights.sum() + 0.1


def test_classes_of_one_label_leave_more_to_the_network() -> None:
    """Forms that are judged by two classes do not decide about the third."""
    e = linear()
    others = np.flatnonzero(e.y[:LABELED] == 2)[1:]
    kept = np.setdiff1d(np.arange(len(e.y)), others)
    batch = batch_of(replace(e, x=e.x[kept], y=e.y[kept], n_labeled=LABELED - len(others)))
    ridge = kernel_ridge_answers(batch, more=True)[..., ALL]
    network = torch.full((UNLABELED, CLASSES), 1 / CLASSES, dtype=torch.float64)
    forms = ClosedForms.of(batch, ridge[:, : batch.n_labeled], network)
    assert forms is not None
    assert forms.weights.sum() <= MOST * (2 / 3) ** 2


@pytest.mark.parametrize("rows", [1, 7])
def test_other_rows_are_pooled_as_those_that_were_read(rows: int) -> None:
    e = linear()
    batch = batch_of(e)
    ridge = kernel_ridge_answers(batch, more=True)[..., ALL]
    network = torch.full((UNLABELED, CLASSES), 1 / CLASSES, dtype=torch.float64)
    forms = ClosedForms.of(batch, ridge[:, :LABELED], network)
    assert forms is not None
    pooled = forms.pooled(network, batch, ridge[:, LABELED:])
    some = batch_of(replace(e, x=e.x[LABELED : LABELED + rows], y=e.y[:rows], n_labeled=0, scored=np.ones(rows, bool)))
    found = forms.pooled(network[:rows], some, ridge[:, LABELED : LABELED + rows])
    np.testing.assert_allclose(found, pooled[:rows], atol=1e-12)


def test_straight_boundaries_are_found() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(460, 8))
    y = (x @ rng.normal(size=(8, 3))).argmax(1)
    given = pd.Series(y, dtype=object).where(np.arange(460) < 60, None)
    frame = pd.DataFrame(x.round(3), columns=list("abcdefgh"))
    assert (VSAClassifier().fit(frame, given).predict(frame[60:]) == y[60:]).mean() > 0.87
