"""From latent scores to what a table's last column holds: classes of given counts, or numbers of some distribution."""

from __future__ import annotations

import torch
from torch import Tensor

from vsacli.tasks.synthetic.draws import Draws, class_counts, standardise
from vsacli.tasks.synthetic.latents import Latents, TaskShape

MAX_BINS_A_CLASS = 2
SINKHORN_STEPS = 4


def make_classes(draws: Draws, latents: Latents, shape: TaskShape) -> Tensor:
    """Labels (b, N) long in 0…C-1; every class occurs at least `min_per_class` times.

    Families that draw labels keep them. Otherwise a task is *ordered* (45 %: one score cut at random quantiles),
    *hashed* (10 %: cut into up to twice as many bins of random classes), or *competing* (45 %: one score per class, the
    largest wins, with a handicap that brings about the class proportions). Scores carry noise (none in 60 % of the
    tasks, else 0.02 to 0.5 of their standard deviation); in 15 % of the tasks a random share of rows (up to 20 %)
    exchange their labels. Class numbers are then permuted. Random choices: six a task, one share a bin or class.
    """
    b, n, c = shape.n_tasks, shape.n_rows, shape.n_classes
    if latents.labels is not None:
        labels = latents.labels
    else:
        noise = draws.noise_level(b, 1, 1, none=0.6, low=0.02, high=0.5)
        scores = standardise(latents.scores) + noise * draws.normal(b, n, shape.n_scores)
        kind = draws.choice((0.45, 0.1, 0.45), b, 1)
        # Nodes of trees have few values: the next score decides among rows where the first is equal.
        one_dimensional = cut_into_bins(draws, scores[..., 0] + 1e-3 * scores[..., 1], shape, hashed=kind == 1)
        labels = torch.where(kind == 2, compete(draws, scores, shape), one_dimensional)

    # Exchanging labels among rows is label noise that keeps the class counts.
    share = draws.sparse_level(b, 1, none=0.85, high=0.2)
    labels = exchange(draws, labels, share)
    return draws.permutations(b, c).gather(1, labels)


def cut_into_bins(draws: Draws, score: Tensor, shape: TaskShape, hashed: Tensor) -> Tensor:
    """Classes by rank of one score (b, N): C bins in order, or where `hashed` (b, 1) more bins of random classes."""
    b, c = shape.n_tasks, shape.n_classes
    n_bins = c * MAX_BINS_A_CLASS
    used = torch.where(hashed, draws.integers(b, 1, low=c, high=n_bins), c)
    in_use = torch.arange(n_bins, device=draws.device) < used
    weights = draws.proportions(b, n_bins) * in_use
    weights = weights / weights.sum(1, keepdim=True)
    # The first C bins have all the classes between them, so the floor is theirs.
    floor = min(shape.min_per_class, shape.n_rows // c)
    counts = class_counts(weights, shape.n_rows - floor * c, 0)
    counts[:, :c] += floor
    rank = score.argsort(1).argsort(1)
    bins = torch.searchsorted(counts.cumsum(1), rank, right=True)
    first = torch.arange(c, device=draws.device).expand(b, c)
    others = draws.integers(b, n_bins - c, low=0, high=c - 1)
    class_of_bin = torch.cat([first, others], 1)
    # Shuffle the bins in use (the unused ones are empty) so that later ones are not always the extremes.
    order = draws.uniform(b, n_bins) + (~in_use) * 2.0
    bins_shuffled = order.argsort(1)
    counts_shuffled = counts.gather(1, bins_shuffled)
    shuffled = torch.searchsorted(counts_shuffled.cumsum(1), rank, right=True)
    hashed_classes = class_of_bin.gather(1, bins_shuffled).gather(1, shuffled)
    return torch.where(hashed, hashed_classes, bins)


def compete(draws: Draws, scores: Tensor, shape: TaskShape) -> Tensor:
    """Classes by the largest of C scores, adjusted to random class counts exactly.

    A few Sinkhorn steps find handicaps that bring the proportions about; then each class in turn takes the free rows
    that it wins by most, as many as its count says.
    """
    b, n, c = shape.n_tasks, shape.n_rows, shape.n_classes
    proportions = draws.proportions(b, c)
    counts = class_counts(proportions, n, shape.min_per_class)
    target = (counts / n).unsqueeze(1).clamp(min=1e-6).log()
    logits = 4.0 * scores
    for _ in range(SINKHORN_STEPS):
        logits = logits.log_softmax(2)
        logits = logits + target - (logits.logsumexp(1, keepdim=True) - torch.log(torch.tensor(float(n))))
    best, second = logits.topk(2, dim=2).values.unbind(2)
    rival = torch.where(logits == best.unsqueeze(2), second.unsqueeze(2), best.unsqueeze(2))
    margin = logits - rival
    labels = torch.full((b, n), c - 1, device=draws.device)
    free = torch.ones(b, n, dtype=torch.bool, device=draws.device)
    for number in range(c - 1):
        rank = margin[..., number].masked_fill(~free, -torch.inf).argsort(1, descending=True).argsort(1)
        taken = rank < counts[:, number : number + 1]
        labels = torch.where(taken, number, labels)
        free = free & ~taken
    return labels


def exchange(draws: Draws, values: Tensor, share: Tensor) -> Tensor:
    """Permute the values (b, N) of a random share (b, 1) of each task's rows among themselves."""
    b, n = values.shape
    chosen = draws.chance(b, n, p=share)
    order = draws.uniform(b, n)
    # Chosen rows in row order receive the values of the chosen rows in a random order.
    place = (order + 2.0 * ~chosen).argsort(1)
    home = (torch.arange(n, device=draws.device) / n + 2.0 * ~chosen).argsort(1)
    moved = values.scatter(1, home, values.gather(1, place))
    return torch.where(chosen, moved, values)


def make_numbers(draws: Draws, latents: Latents) -> Tensor:
    """Regression targets (b, N), standardised over rows and softly bounded.

    The score gets noise (none in half of the tasks, else 0.02 to 0.7 standard deviations) and a shape: as it is (half
    of the tasks), skewed (exponential), heavy-tailed (hyperbolic sine), whole numbers (counts), or piled up at zero. In
    half of the tasks noise comes after the shape, as an error of measurement. Random choices: six a task.
    """
    score = standardise(latents.scores[..., :1]).squeeze(2)
    b, n = score.shape
    level = draws.noise_level(b, 1, none=0.5, low=0.02, high=0.7)
    noise = level * draws.normal(b, n)
    before = draws.chance(b, 1, p=0.5)
    score = torch.where(before, score + noise, score)
    strength = draws.uniform(b, 1, low=0.3, high=1.0)
    shape = draws.choice((5.0, 2.0, 1.0, 1.5, 0.5), b, 1)
    bounded = score.clamp(-6.0, 6.0)
    levels = draws.log_uniform(b, 1, low=1.0, high=20.0)
    out = torch.where(shape == 1, (strength * bounded).exp(), score)
    out = torch.where(shape == 2, (strength * bounded).sinh(), out)
    out = torch.where(shape == 3, (levels * (0.7 * strength * bounded).exp()).round(), out)
    out = torch.where(shape == 4, (bounded - draws.normal(b, 1)).clamp(min=0.0), out)
    out = standardise(out.unsqueeze(2)).squeeze(2)
    out = standardise(torch.where(before, out, out + noise).unsqueeze(2)).squeeze(2)
    return out / (1 + (out / 8).square()).sqrt()
