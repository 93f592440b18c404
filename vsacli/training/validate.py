"""Meta-validation: fixed episodes of validation tables, the same at every call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from vsacli.kinds import TaskKind
from vsacli.nn.answers import ClassOutput
from vsacli.nn.network import Network
from vsacli.tasks.collate import collate
from vsacli.tasks.draw import draw_balanced, draw_rows
from vsacli.tasks.episode import Episode
from vsacli.tasks.sampler import BatchPlan, DrawnRows, class_episode, episode_structure, number_episode
from vsacli.tasks.store import EncodedTable, TableStore
from vsacli.training.loss import damped


class Stopped(Exception):
    """The validation was asked to stop before its end."""


@dataclass(frozen=True)
class ValidationPlan:
    """Which episodes validation draws from each table."""

    shots: tuple[int, ...] = (1, 3, 5, 10)  # labeled rows per class
    unlabeled: int = 20  # unlabeled rows per class
    labeled_rows: tuple[int, ...] = (10, 15, 20)  # labeled rows, regression
    unlabeled_rows: int = 60  # unlabeled rows, regression
    repeats: int = 2  # episodes of a table and a number of labels
    pool_rows: int = 0  # rows of a table that its structure is computed from, in an episode as users have it; 0: none
    pool_read: int = 256  # of those, unlabeled rows that are read and scored
    class_space: bool = True  # in the structure: the space of the classes
    max_attributes: int = 100  # wider tables are left out: they cost as much as all others together
    seed: int = 12345


def validation_episodes(store: TableStore, kind: TaskKind, plan: ValidationPlan) -> dict[int, list[Episode]]:
    """Episodes by number of labels (per class, or in all for regression), seeded by table name order."""
    out: dict[int, list[Episode]] = {}
    tables = sorted((t for t in store if t.kind == kind), key=lambda t: t.name)
    for labels in plan.shots if kind == "classification" else plan.labeled_rows:
        rng = np.random.default_rng([plan.seed, labels])
        episodes = []
        for table in tables:
            if table.x.shape[1] > plan.max_attributes:
                continue
            for _ in range(plan.repeats):
                episode = table_episode(rng, table, labels, plan)
                if episode is not None:
                    episodes.append(episode)
            if plan.pool_rows:
                episode = pool_episode(rng, table, labels, plan)
                if episode is not None:
                    episodes.append(episode)
        out[labels] = episodes
    return out


def table_episode(rng: np.random.Generator, table: EncodedTable, labels: int, plan: ValidationPlan) -> Episode | None:
    """One plain episode (all attributes, all classes) of a table, or None if it has too few rows."""
    if table.kind == "classification":
        rows = draw_balanced(rng, table.y, labels, plan.unlabeled)
        if rows is None:
            return None
        order = np.concatenate(rows)
        shown, y = np.unique(table.y[order], return_inverse=True)
        n_classes = len(shown)
    else:
        rows = draw_rows(rng, table.labeled, labels, plan.unlabeled_rows)
        if rows is None:
            return None
        order = np.concatenate(rows)
        known = table.y[table.labeled].astype(np.float64)
        spread = known.std()
        if not spread > 0:
            return None
        y, n_classes = ((table.y[order] - known.mean()) / spread).astype(np.float32), 1
    scored = table.labeled[rows[1]]
    structure = None
    if plan.pool_rows:  # of the episode's own rows
        shown = n_classes if table.kind == "classification" else 0
        given = y[: len(rows[0])]
        structure = episode_structure(rng, table.x[order], len(order), given, shown, class_space=plan.class_space)
    return Episode(table.x[order], len(rows[0]), y, table.kind, n_classes, scored, table.name, table.family, structure)


def pool_episode(rng: np.random.Generator, table: EncodedTable, labels: int, plan: ValidationPlan) -> Episode | None:
    """An episode as users have it: so many labels per class (or in all), all other rows unlabeled, as they come."""
    if table.kind == "classification":
        rows = draw_balanced(rng, table.y, labels, 0)
    else:
        rows = draw_rows(rng, table.labeled, labels, 0)
    if rows is None:
        return None
    left = np.ones(len(table.y), bool)
    left[rows[0]] = False
    others = rng.permutation(np.flatnonzero(left))[: plan.pool_rows]
    sizes = BatchPlan(1, table.x.shape[1], labels, plan.pool_read, 1, plan.pool_rows, plan.class_space)
    x = table.x[np.concatenate([rows[0], others])]
    made = class_episode if table.kind == "classification" else number_episode
    return made(rng, DrawnRows(x, table.y, rows[0], others, table.name, table.family), sizes)


def validate(
    model: Network[Any],
    episodes: dict[int, list[Episode]],
    device: torch.device,
    precision: torch.dtype | None,
    cells: int = 60_000,
    stop: Callable[[], bool] | None = None,
) -> dict[str, float]:
    """Mean over families of accuracy (or squared error) and of the loss, by number of labels.

    Returns
    -------
    dict
        ``accuracy@k`` / ``mse@k`` and ``loss@k`` for each number of labels k, and their means
        ``accuracy`` / ``mse`` and ``loss``.

    Raises
    ------
    Stopped
        If ``stop``, asked between batches, says so.
    """
    was_training = model.training
    model.eval()
    kind = model.config.kind
    metric = "accuracy" if kind == "classification" else "mse"
    out: dict[str, float] = {}
    for labels, group in episodes.items():
        by_family: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for batch in batches_by_size(group, cells):
            if stop is not None and stop():
                model.train(was_training)
                raise Stopped
            for e, score, loss in zip(batch, *score_batch(model, batch, device, precision), strict=True):
                by_family[e.family].append((score, loss))
        means = np.array([np.mean(v, 0) for v in by_family.values()])
        out[f"{metric}@{labels}"], out[f"loss@{labels}"] = (float(v) for v in means.mean(0))
    for name in (metric, "loss"):
        values = [v for k, v in out.items() if k.startswith(f"{name}@")]
        out[name] = float(np.mean(values))
    model.train(was_training)
    return out


def batches_by_size(episodes: Sequence[Episode], cells: int) -> list[list[Episode]]:
    """Episodes of similar size together, each batch at most about ``cells`` rows x slots."""
    ordered = sorted(episodes, key=lambda e: (e.x.shape[1] + e.n_classes, len(e.x)))
    out: list[list[Episode]] = []
    batch: list[Episode] = []
    for e in ordered:
        grown = [*batch, e]
        rows = max(x.n_labeled for x in grown) + max(x.n_unlabeled for x in grown)
        slots = max(x.x.shape[1] for x in grown) + max(x.n_classes for x in grown)
        if batch and len(grown) * rows * slots > cells:
            out.append(batch)
            grown = [e]
        batch = grown
    return [*out, batch] if batch else out


@torch.no_grad()
def score_batch(
    model: Network[Any], episodes: list[Episode], device: torch.device, precision: torch.dtype | None
) -> tuple[list[float], list[float]]:
    """Accuracy (or squared error) and mean negative log likelihood of each episode, damped for regression."""
    batch = collate(episodes).to(device)
    with torch.autocast(device.type, precision or torch.bfloat16, enabled=precision is not None):
        output = model(batch.tasks)
    if isinstance(output, ClassOutput):
        score = (output.log_probs.argmax(-1) == batch.answer).float()
        loss = -output.log_probs.gather(2, batch.answer.unsqueeze(-1)).squeeze(-1)
    else:
        mean, var = output.mean[..., 0].float(), output.var[..., 0].float().clamp(min=1e-6)
        score = (mean - batch.answer).square()
        loss = 0.5 * (score / var + var.log() + float(np.log(2 * np.pi)))
    count = batch.scored.sum(1).clamp(min=1)
    means = [torch.where(batch.scored, v, torch.zeros_like(v)).sum(1) / count for v in (score, loss)]
    if not isinstance(output, ClassOutput):
        means[1] = damped(means[1])  # as in training: else one table in a hundred decides which weights are best
    return means[0].tolist(), means[1].tolist()
