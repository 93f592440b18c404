"""Pictures of an evaluation: tasks in two dimensions, and files that can be written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vsacli.errors import OutputError, UsageError
from vsacli.evaluation.episodes import make_episode
from vsacli.evaluation.plots import check_plot_path, in_two_dimensions, plot_suite
from vsacli.evaluation.run import Record


def test_groups_stay_groups_in_two_dimensions():
    rng = np.random.default_rng(0)
    group = np.arange(60) % 3
    points = 20 * rng.normal(size=(3, 12))[group] + rng.normal(size=(60, 12))
    flat = in_two_dimensions(points)
    assert flat.shape == (60, 2)
    distance = np.linalg.norm(flat[:, None] - flat[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    assert (group[distance.argmin(axis=1)] == group).all()
    np.testing.assert_array_equal(flat, in_two_dimensions(points))


@pytest.mark.parametrize(("n", "e"), [(5, 1), (5, 2), (3, 4), (6, 3)])
def test_few_points_and_few_dimensions(n: int, e: int):
    points = np.random.default_rng(0).normal(size=(n, e))
    flat = in_two_dimensions(points)
    assert flat.shape == (n, 2)
    assert np.isfinite(flat).all()
    if e <= 2:
        np.testing.assert_array_equal(flat[:, :e], points)


def records() -> list[Record]:
    """Two methods on two families."""
    bins = [(10, 6, 7.0)] * 10
    return [
        Record(table, table, "classification", method, shot, 0, 3 * shot, 10, 4, 3, 0.1, {"accuracy": value}, bins=bins)
        for method, value in (("vsa", 0.8), ("prior", 0.4))
        for table in ("a", "b")
        for shot in (1, 3)
    ]


def test_original_data_and_embeddings_side_by_side(class_table, tmp_path: Path):
    episode = make_episode(class_table(), np.arange(9), np.arange(9, 40)).episode
    rng = np.random.default_rng(0)
    views = [("original data", episode.x), ("embeddings, vsa", rng.normal(size=(40, 8)))]
    path = tmp_path / "plot.svg"
    plot_suite(path, records(), "accuracy", [(episode, views)])
    text = path.read_text(encoding="utf-8")
    assert text.count("<!-- blobs: original data -->") == 1
    assert text.count("<!-- blobs: embeddings, vsa -->") == 1
    with pytest.raises(OutputError, match="cannot be written"):
        plot_suite(tmp_path / "none" / "plot.png", records(), "accuracy")


def test_kinds_of_pictures():
    check_plot_path(Path("a.PNG"))
    with pytest.raises(UsageError, match=r"the name of a picture ends in \.png"):
        check_plot_path(Path("a.gif"))
