"""The random prior: what every batch promises, and that its tasks can be learned and differ."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.neighbors import KNeighborsClassifier

from vsacli.attributes.scaling import RobustScale
from vsacli.errors import UsageError
from vsacli.tasks.synthetic.draws import Draws, class_counts, exact_labels, standardise
from vsacli.tasks.synthetic.latents import TaskShape
from vsacli.tasks.synthetic.manifolds import rotations
from vsacli.tasks.synthetic.observe import add_outliers, make_gaps, quantiles, recode, scale_known
from vsacli.tasks.synthetic.prior import FAMILIES, PriorBatch, sample_prior
from vsacli.tasks.synthetic.targets import compete, cut_into_bins, exchange


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def draws(seed: int = 0) -> Draws:
    return Draws(generator(seed), torch.device("cpu"))


def sample(b: int, n: int, m: int, c: int = 0, *, seed: int = 0, **more) -> PriorBatch:
    kind = "classification" if c else "regression"
    return sample_prior(b, n, m, kind=kind, n_classes=c, generator=generator(seed), **more)


SIZES = [(64, 60, 8, 3), (32, 60, 8, 0), (8, 150, 30, 10), (3, 10, 1, 2), (2, 4, 2, 0), (1, 40, 90, 2), (4, 70, 5, 30)]


@pytest.mark.parametrize(("b", "n", "m", "c"), SIZES)
def test_every_batch_is_finite_and_of_the_promised_form(b: int, n: int, m: int, c: int) -> None:
    batch = sample(b, n, m, c)
    assert batch.x.shape == (b, n, m)
    assert batch.x.dtype == torch.float32
    assert batch.observed.shape == (b, n, m)
    assert batch.observed.dtype == torch.bool
    assert batch.y.shape == (b, n)
    assert torch.isfinite(batch.x).all()
    assert batch.x.abs().max() <= 4.0
    assert (batch.x[~batch.observed] == 0).all()
    assert (batch.observed.sum(1) >= 2).all()
    if c:
        assert batch.y.dtype == torch.long
        assert batch.y.min() == 0
        counts = torch.nn.functional.one_hot(batch.y, c).sum(1)
        assert counts.min() >= min(2, n // c)
    else:
        assert batch.y.dtype == torch.float32
        assert torch.isfinite(batch.y).all()
        assert batch.y.abs().max() < 8.0


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("c", [0, 2, 6])
def test_each_family_alone_gives_varied_finite_tasks(family: str, c: int) -> None:
    batch = sample(24, 50, 6, c, families={family: 1.0})
    assert torch.isfinite(batch.x).all()
    assert len({tuple(row) for row in batch.y.tolist()}) == 24
    assert len({tuple(row) for row in batch.x[:, :, 0].tolist()}) == 24
    if c == 0:
        # Targets vary: standardised unless a task's function came out constant.
        spread = batch.y.std(1)
        assert (spread > 0.5).float().mean() > 0.9


def test_same_generator_state_same_tasks_and_the_state_moves_on() -> None:
    first, again, other = sample(6, 30, 4, 3), sample(6, 30, 4, 3), sample(6, 30, 4, 3, seed=1)
    assert torch.equal(first.x, again.x)
    assert torch.equal(first.observed, again.observed)
    assert torch.equal(first.y, again.y)
    assert not torch.equal(first.x, other.x)
    g = generator()
    one = sample_prior(2, 30, 4, kind="classification", n_classes=2, generator=g)
    two = sample_prior(2, 30, 4, kind="classification", n_classes=2, generator=g)
    assert not torch.equal(one.x, two.x)


def test_min_per_class_is_kept_and_capped_by_an_equal_share() -> None:
    counts = torch.nn.functional.one_hot(sample(64, 60, 4, 3, min_per_class=12).y, 3).sum(1)
    assert counts.min() >= 12
    counts = torch.nn.functional.one_hot(sample(16, 60, 4, 3, min_per_class=500).y, 3).sum(1)
    assert (counts == 20).all()


def test_class_proportions_are_sometimes_equal_and_sometimes_extreme() -> None:
    counts = torch.nn.functional.one_hot(sample(400, 100, 4, 2).y, 2).sum(1)
    assert ((counts == 50).all(1).float().mean() > 0.15).item()
    assert ((counts.amin(1) < 15).float().mean() > 0.05).item()


def test_gaps_categories_and_indicators_occur_in_some_tasks_only() -> None:
    batch = sample(300, 60, 8, 3)
    gappy = (~batch.observed).flatten(1).any(1).float().mean()
    assert 0.2 < gappy < 0.5
    two_valued = ((batch.x == 0) | (batch.x == 1)).all(1)
    few = torch.tensor([[len(set(column)) for column in task] for task in batch.x.transpose(1, 2).tolist()]) <= 10
    assert 0.15 < two_valued.any(1).float().mean() < 0.9
    assert 0.1 < few.float().mean() < 0.6


@pytest.mark.parametrize(("family", "least"), [("manifolds", 0.35), ("clusters", 0.35), ("smooth", 0.1), ("mlp", 0.1)])
def test_neighbours_learn_something_on_average_but_not_everywhere(family: str, least: float) -> None:
    batch = sample(40, 120, 5, 2, families={family: 1.0}, min_per_class=10)
    skills = []
    for x, y in zip(batch.x.numpy(), batch.y.numpy(), strict=True):
        base = np.bincount(y[60:]).max() / 60
        accuracy = KNeighborsClassifier(5).fit(x[:60], y[:60]).score(x[60:], y[60:])
        skills.append((accuracy - base) / (1 - base) if base < 1 else 0.0)
    assert np.mean(skills) > least
    assert np.min(skills) < 0.2
    assert np.max(skills) > 0.6


def test_wrong_sizes_and_names_are_refused() -> None:
    with pytest.raises(UsageError, match="neither"):
        sample_prior(1, 9, 2, kind="ranking", generator=generator())  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match="a task and an attribute"):
        sample(1, 9, 0, 2)
    with pytest.raises(UsageError, match="9 rows are too few for a task of 10 classes"):
        sample(1, 9, 2, 10)
    with pytest.raises(UsageError, match="3 rows are too few"):
        sample(1, 3, 2)
    with pytest.raises(UsageError, match="no family 'fractal'"):
        sample(1, 9, 2, 2, families={"fractal": 1.0})


# The pieces.


def test_draws_follow_their_weights_and_bounds() -> None:
    d = draws()
    drawn = d.choice((1.0, 3.0, 0.0, 4.0), 20000)
    share = torch.bincount(drawn, minlength=4) / 20000
    assert torch.allclose(share, torch.tensor([0.125, 0.375, 0.0, 0.5]), atol=0.02)
    whole = d.integers(2000, 2, low=3, high=torch.tensor([3, 6]))
    assert (whole[:, 0] == 3).all()
    assert sorted(set(whole[:, 1].tolist())) == [3, 4, 5, 6]
    logs = d.log_uniform(20000, low=0.01, high=1.0).log10()
    assert logs.min() >= -2
    assert logs.max() <= 0
    assert abs(logs.mean() + 1) < 0.02
    level = d.noise_level(20000, none=0.4, low=0.1, high=1.0)
    assert abs((level == 0).float().mean() - 0.4) < 0.02


def test_class_counts_sum_to_the_rows_above_the_floor() -> None:
    proportions = torch.tensor([[0.7, 0.2, 0.1], [1.0, 0.0, 0.0]])
    assert class_counts(proportions, 103, 1).tolist() == [[71, 21, 11], [101, 1, 1]]
    assert class_counts(proportions, 5, 4).sum(1).tolist() == [5, 5]
    labels = exact_labels(draws(), proportions, 103, 1)
    assert torch.nn.functional.one_hot(labels, 3).sum(1).tolist() == [[71, 21, 11], [101, 1, 1]]
    assert labels[0].diff().ne(0).sum() > 20  # in random order


def test_competing_scores_give_the_row_to_the_larger_one() -> None:
    """With well separated scores of equal class sizes the winner is the arg max of the raw scores."""
    truth = torch.arange(40).remainder(2).unsqueeze(0)
    scores = torch.nn.functional.one_hot(truth, 2).float() * 3 + 0.1 * draws().normal(1, 40, 2)
    shape = TaskShape(1, 40, 2, 2, 20)  # a floor of 20 forces 20 and 20
    assert torch.equal(compete(draws(1), scores, shape), truth)


def test_ordered_bins_follow_the_score() -> None:
    score = draws().normal(8, 50)
    shape = TaskShape(8, 50, 3, 4, 3)
    bins = cut_into_bins(draws(1), score, shape, hashed=torch.zeros(8, 1, dtype=torch.bool))
    ordered = bins.gather(1, score.argsort(1))
    assert (ordered.diff(dim=1) >= 0).all()
    hashed = cut_into_bins(draws(1), score, shape, hashed=torch.ones(8, 1, dtype=torch.bool))
    ordered = hashed.gather(1, score.argsort(1))
    assert (ordered.diff(dim=1) < 0).any()
    assert torch.nn.functional.one_hot(hashed, 4).sum(1).min() >= 3
    assert (ordered.diff(dim=1) != 0).sum(1).max() <= 2 * 4 - 1  # at most eight bins


def test_exchange_keeps_the_counts_and_moves_only_the_share() -> None:
    values = draws().integers(5, 200, low=0, high=3)
    share = torch.tensor([[0.0], [0.1], [0.3], [0.3], [1.0]])
    moved = exchange(draws(1), values, share)
    assert torch.equal(moved.sort(1).values, values.sort(1).values)
    changed = (moved != values).float().mean(1)
    assert changed[0] == 0
    assert 0 < changed[1] < 0.15
    assert 0.1 < changed[2] < 0.3
    assert 0.6 < changed[4] < 0.9  # a random order of four equal values changes three of four


def test_quantiles_keep_equal_values_together() -> None:
    x = torch.tensor([[3.0, 1.0, 1.0, 2.0, 1.0]]).unsqueeze(2)
    assert quantiles(x).flatten().tolist() == pytest.approx([0.8, 0.0, 0.0, 0.6, 0.0])


def test_recoding_gives_codes_or_indicators_of_a_single_level() -> None:
    x = draws().normal(200, 60, 6)
    out = recode(draws(1), x)
    changed = (out != x).any(1)
    assert 0.1 < changed.float().mean() < 0.6
    codes = out.transpose(1, 2)[changed]
    assert torch.equal(codes, codes.round())
    assert codes.min() >= 0
    assert codes.max() <= 9


def test_outliers_are_rare_and_large() -> None:
    x = draws().normal(300, 60, 4)
    out = add_outliers(draws(1), x)
    hit = out != x
    assert 0.1 < hit.flatten(1).any(1).float().mean() < 0.3
    assert hit.float().mean() < 0.01
    assert (out.abs()[hit] >= 2.99 * x.abs()[hit]).all()


def test_gaps_leave_two_cells_and_can_depend_on_a_value() -> None:
    x = standardise(draws().normal(400, 80, 5))
    known = make_gaps(draws(1), x)
    assert (known.sum(1) >= 2).all()
    gappy = ~known.flatten(1).all(1)
    assert 0.2 < gappy.float().mean() < 0.45
    # Averaged over tasks, values that were lost are larger than those that were kept (some depend on themselves).
    assert x[~known].mean() > x[known].mean() + 0.02


@pytest.mark.parametrize("form", ["normal", "whole", "two-valued", "mostly zero", "constant", "outlier"])
def test_scaling_is_that_of_a_file_column(form: str) -> None:
    rng = np.random.default_rng(5)
    for n in (4, 7, 40):
        x = {
            "normal": rng.normal(size=n),
            "whole": rng.integers(0, 3, n).astype(float),
            "two-valued": rng.integers(0, 2, n) * 3.0 - 1,
            "mostly zero": np.where(rng.random(n) < 0.8, 0.0, rng.normal(size=n) * 100),
            "constant": np.full(n, 2.5),
            "outlier": np.append(rng.normal(size=n - 1), 1e6),
        }[form].astype(np.float32)
        known = rng.random(n) < 0.7
        known[:2] = True
        cells = x[known].astype(np.float64)
        expected = RobustScale.fit(cells).apply(cells)
        got = scale_known(torch.from_numpy(x)[None, :, None], torch.from_numpy(known)[None, :, None])[0, :, 0].numpy()
        np.testing.assert_allclose(got[known], expected, atol=2e-5)
        assert (got[~known] == 0).all()


def test_rotations_keep_lengths_and_orientation() -> None:
    turned = rotations(draws(), 50)
    assert torch.allclose(turned @ turned.transpose(1, 2), torch.eye(3).expand(50, 3, 3), atol=1e-5)
    assert torch.allclose(torch.linalg.det(turned), torch.ones(50), atol=1e-5)
    assert turned.mean(0).abs().max() < 0.3  # no preferred direction
