"""Pictures of an evaluation, as PNG or SVG: curves, calibration, differences, and tasks in two dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vsacli.errors import OutputError, UsageError
from vsacli.evaluation.metrics import LOWER_IS_BETTER
from vsacli.evaluation.run import Record
from vsacli.evaluation.statistics import family_values, summarize
from vsacli.support.threads import one_thread
from vsacli.tasks.episode import Episode

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from vsacli.evaluation.table_answer import TableAnswer

FORMATS = (".png", ".svg", ".pdf")
MARKS = "ov^sDPX*<>"
Embedding = tuple[str, np.ndarray]  # what the points are, and the points (N, E), labeled rows first
Picture = tuple[Episode, Sequence[Embedding]]


def check_plot_path(path: Path) -> None:
    """Refuse, before the work, a picture that could not be written after it.

    Raises
    ------
    UsageError
        Not a known kind of picture, or matplotlib is not installed.
    """
    from importlib.util import find_spec

    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"--plot {path}: the name of a picture ends in {', '.join(FORMATS)}")
    if find_spec("matplotlib") is None:
        raise UsageError("--plot needs matplotlib: pip install 'vsacli[eval]'")


def plot_suite(path: Path, records: Sequence[Record], metric: str, pictures: Sequence[Picture] = ()) -> None:
    """The picture of a suite: figure by shots, calibration, differences by family, tasks in two dimensions."""
    reliability = any(any(n for n, _, _ in r.bins) for r in records)
    rows = [["curve"] + ["bins"] * reliability + ["differences"]]
    figure, axes = _grid(rows, pictures)
    _curves(axes[0][0], records, metric)
    if reliability:
        _reliability(axes[0][1], records)
    _differences(axes[0][-1], records, metric)
    _draw_pictures(axes[1:], pictures)
    _save(figure, path)


def plot_table(path: Path, answer: TableAnswer, pictures: Sequence[Picture] = ()) -> None:
    """The picture of one table: figure by number of labels, calibration (or errors), the table in two dimensions."""
    figure, axes = _grid([["curve", "bins"]], pictures)
    _label_curves(axes[0][0], answer)
    if answer.table.kind == "classification":
        _reliability(axes[0][1], [r for r in answer.records if r.shot == 0])
    else:
        _predicted(axes[0][1], answer)
    _draw_pictures(axes[1:], pictures)
    _save(figure, path)


def _grid(rows: list[list[str]], pictures: Sequence[Picture]) -> tuple[Any, list[list[Axes]]]:
    """A figure with a row of panels for the results and one for each task in two dimensions."""
    from matplotlib.figure import Figure

    counts = [len(row) for row in rows] + [len(embeddings) for _, embeddings in pictures]
    figure = Figure(figsize=(5.0 * max(counts), 4.0 * len(counts)), layout="constrained")
    parts = figure.subfigures(len(counts), 1, squeeze=False)
    axes = [list(part.subplots(1, n, squeeze=False)[0]) for part, n in zip(parts[:, 0], counts, strict=True)]
    return figure, axes


def _save(figure: Any, path: Path) -> None:
    try:
        figure.savefig(path, dpi=120, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror}); give another --plot") from None


def _curves(axes: Axes, records: Sequence[Record], metric: str) -> None:
    lines = summarize(records, metric)
    for i, method in enumerate(dict.fromkeys(s.method for s in lines)):
        own = [s for s in lines if s.method == method and np.isfinite(s.mean)]
        shots, mean = np.array([s.shot for s in own]), np.array([s.mean for s in own])
        error = np.nan_to_num([s.stderr for s in own])
        axes.plot(shots, mean, marker=MARKS[i % len(MARKS)], label=method, color=_color(i))
        axes.fill_between(shots, mean - error, mean + error, alpha=0.15, color=_color(i), linewidth=0)
    axes.set(
        xlabel=_label_axis(records[0].kind), ylabel=_name(metric), title="mean over families, band: standard error"
    )
    axes.set_xticks(sorted({s.shot for s in lines}))
    axes.legend(fontsize="small")


def _label_curves(axes: Axes, answer: TableAnswer) -> None:
    for i, method in enumerate(m for m in answer.methods if m.curve):
        x = [p.n_labels for p in method.curve]
        axes.plot(
            x, [p.result.value for p in method.curve], marker=MARKS[i % len(MARKS)], label=method.label, color=_color(i)
        )
        if i == 0:
            low, high = [p.result.low for p in method.curve], [p.result.high for p in method.curve]
            axes.fill_between(x, low, high, alpha=0.15, color=_color(i), linewidth=0)
    name = "accuracy" if answer.table.kind == "classification" else "mse"
    axes.set_xscale("log")
    ticks = sorted({round(p.n_labels) for method in answer.methods for p in method.curve})
    axes.set_xticks(ticks, [str(t) for t in ticks])
    axes.set_xticks([], minor=True)
    axes.set(xlabel="labels in all", ylabel=_name(name), title="band: 95% interval")
    axes.legend(fontsize="small")


def _reliability(axes: Axes, records: Sequence[Record]) -> None:
    axes.plot([0, 1], [0, 1], color="0.7", linestyle="--")
    for i, method in enumerate(dict.fromkeys(r.method for r in records)):
        bins = [np.array(r.bins) for r in records if r.method == method and r.bins]
        if not bins:
            continue
        n, right, total = np.sum(bins, axis=0).T
        seen = n > 0
        axes.plot(
            total[seen] / n[seen], right[seen] / n[seen], marker=MARKS[i % len(MARKS)], label=method, color=_color(i)
        )
    axes.set(xlabel="confidence", ylabel="share of right answers", title="calibration", xlim=(0, 1), ylim=(0, 1.02))
    axes.legend(fontsize="small")


def _predicted(axes: Axes, answer: TableAnswer) -> None:
    for i, method in enumerate(m for m in answer.methods if m.mean is not None and m.error is None):
        assert method.mean is not None
        axes.plot(answer.answer, method.mean.mean(axis=0), ".", alpha=0.6, label=method.label, color=_color(i))
    ends = [float(answer.answer.min()), float(answer.answer.max())]
    axes.plot(ends, ends, color="0.7", linestyle="--")
    axes.set(xlabel="known number", ylabel="answer", title="hidden labels")
    axes.legend(fontsize="small")


def _differences(axes: Axes, records: Sequence[Record], metric: str) -> None:
    """The first method against the best other one, a bar a family, at the smallest shot."""
    shot = min(r.shot for r in records)
    names, _, values = family_values(records, metric, shot)
    if len(names) < 2 or not values.size:
        axes.set_axis_off()
        return
    sign = -1.0 if metric in LOWER_IS_BETTER else 1.0
    rival = 1 + int(np.argmax(sign * values[1:].mean(axis=1)))
    difference = np.sort(sign * (values[0] - values[rival]))
    axes.bar(np.arange(len(difference)), difference, color=[_color(0) if d >= 0 else _color(1) for d in difference])
    axes.axhline(0, color="0.3", linewidth=0.8)
    better = int((difference > 0).sum())
    axes.set(
        xlabel="families",
        ylabel=f"{_name(metric)}: {names[0]} better by",
        xticks=[],
        title=f"{names[0]} against {names[rival]} at {shot}: better in {better} of {len(difference)}",
    )


def _draw_pictures(rows: list[list[Axes]], pictures: Sequence[Picture]) -> None:
    for axes_row, (episode, embeddings) in zip(rows, pictures, strict=True):
        for axes, (title, points) in zip(axes_row, embeddings, strict=True):
            _scatter(axes, episode, in_two_dimensions(points))
            axes.set(title=f"{Path(episode.name).name}: {title}", xticks=[], yticks=[])


def _scatter(axes: Axes, episode: Episode, points: np.ndarray) -> None:
    """Labeled rows as o, unlabeled ones as x, colored by class (or by number), as in the paper's Figure 1."""
    known = np.concatenate([np.ones(episode.n_labeled, bool), episode.scored])
    labeled = np.arange(len(points)) < episode.n_labeled
    axes.scatter(*points[~known].T, marker=".", s=8, color="0.85")
    colors = {"cmap": "tab10", "vmin": -0.5, "vmax": 9.5} if episode.kind == "classification" else {"cmap": "viridis"}
    shade = episode.y % 10 if episode.kind == "classification" else episode.y
    axes.scatter(*points[known & ~labeled].T, c=shade[known & ~labeled], marker="x", s=18, **colors)
    axes.scatter(*points[labeled].T, c=shade[labeled], marker="o", s=50, edgecolors="black", **colors)


def in_two_dimensions(points: np.ndarray) -> np.ndarray:
    """t-SNE of points (N, E), as in the paper's Figure 5; two-dimensional points stay, few are projected."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    points = np.asarray(points, dtype=np.float64)
    if points.shape[1] <= 2:
        return np.pad(points, ((0, 0), (0, 2 - points.shape[1])))
    if len(points) < 6:
        return PCA(2).fit_transform(points)
    perplexity = min(30.0, (len(points) - 1) / 4)
    with one_thread():
        return TSNE(perplexity=perplexity, init="pca", random_state=0, n_jobs=1).fit_transform(points)


def _color(i: int) -> str:
    return f"C{i % 10}"


def _name(metric: str) -> str:
    return "squared error on normalised targets" if metric == "mse" else metric.replace("_", " ")


def _label_axis(kind: str) -> str:
    return "labels per class" if kind == "classification" else "labels"
