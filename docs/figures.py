"""Draw the pictures of docs/how-it-works.md: the network, and its attention on two sample tables."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.patches import FancyBboxPatch

from vsacli.attributes.encoder import AttributeEncoder
from vsacli.checkpoints.resolve import load_checkpoint
from vsacli.nn import TaskBatch
from vsacli.nn.model import VSAModel
from vsacli.tables.read import read_table
from vsacli.target.column import read_target

IMAGES = Path(__file__).resolve().parent / "img"
SAMPLES = Path(__file__).resolve().parent.parent / "sample_data"
COLORS = ["#0072b2", "#d55e00", "#009e73"]
plt.rcParams.update({"svg.hashsalt": "vsa", "font.size": 9, "svg.fonttype": "none", "figure.facecolor": "white"})


def task(name: str, target: str) -> tuple[TaskBatch, np.ndarray, list[str], np.ndarray]:
    """A sample table as one task: labeled rows first; its attributes (n, M), their names, the classes' codes."""
    table = read_table(SAMPLES / name)
    j = table.find(target)
    labels = read_target(table.column(j), name=target)
    encoder = AttributeEncoder()
    x = encoder.fit_transform((table.columns[k], table.column(k)) for k in range(len(table.columns)) if k != j)
    order = np.argsort(labels.missing, kind="stable")
    x, codes = x[order], labels.codes[order]
    n_labeled = int((~labels.missing).sum())
    observed = ~np.isnan(x)
    batch = TaskBatch(
        x=torch.tensor(np.nan_to_num(x))[None],
        observed=torch.tensor(observed)[None],
        n_labeled=n_labeled,
        y=torch.tensor(codes[:n_labeled])[None],
        row_mask=torch.ones(1, len(x), dtype=torch.bool),
        attr_mask=torch.ones(1, x.shape[1], dtype=torch.bool),
        class_mask=torch.ones(1, len(labels.classes), dtype=torch.bool),
    )
    return batch, x, [*encoder.attribute_names, *labels.classes], codes


def attention_of(model: VSAModel, batch: TaskBatch) -> list[tuple[int, np.ndarray]]:
    """Each block's axis and attention matrix (D_1, D_1), mean over heads, computed again from its input."""
    found: list[tuple[int, np.ndarray]] = []
    hooks = []
    for block in model.blocks:

        def note(layer: torch.nn.Module, inputs: tuple, axis: int = block.axis) -> None:  # type: ignore[assignment]
            z = inputs[0] if axis == 1 else inputs[0].transpose(1, 2)  # (1, D_1, D_2, width)
            heads, width = layer.heads, layer.head_width  # type: ignore[attr-defined]
            q, k = (
                part(z)[0].unflatten(-1, (heads, width)).permute(2, 0, 1, 3).flatten(2)  # type: ignore[operator]
                for part in (layer.query, layer.key)  # type: ignore[attr-defined]
            )
            scores = q @ k.transpose(1, 2) / (z.shape[2] * width) ** 0.5
            found.append((axis, scores.softmax(-1).mean(0).numpy()))

        hooks.append(block.attention.register_forward_pre_hook(note))  # type: ignore[union-attr, arg-type]
    with torch.no_grad():
        model(batch)
    for hook in hooks:
        hook.remove()
    return found


def draw_examples(model: VSAModel) -> None:
    """How much one unlabeled row of moons.csv looks at each other row, layer by layer."""
    batch, x, _, codes = task("moons.csv", "moon")
    maps = [a for axis, a in attention_of(model, batch) if axis == 1]
    asked = int(np.argmin(np.abs(x[:, 0] - np.quantile(x[:, 0], 0.8)) + (x[:, 1] > np.median(x[:, 1])) * 9))
    figure, panels = plt.subplots(1, len(maps), figsize=(9, 2.5), sharex=True, sharey=True, layout="constrained")
    for i, (panel, weights) in enumerate(zip(panels, maps, strict=True)):
        share = weights[asked] * len(x)  # 1: as much as every other row
        order = np.argsort(share)
        shown = panel.scatter(*x[order].T, c=share[order], s=14, cmap="viridis", vmin=0, vmax=3, linewidths=0)
        for c in range(2):
            given = np.flatnonzero(codes[: batch.n_labeled] == c)
            panel.scatter(*x[given].T, marker="s", s=60, facecolors="none", edgecolors=COLORS[c], linewidths=2)
        panel.scatter(*x[asked], marker="*", s=130, color="#cc0033", linewidths=0)
        panel.set(title=f"pair {i + 1}", xticks=[], yticks=[])
    figure.colorbar(shown, ax=panels, label="attention (1: even)", shrink=0.9)
    save(figure, "attention-examples")


def draw_attributes(model: VSAModel) -> None:
    """How much the attributes and labels of wine.csv look at each other in the last pair."""
    batch, _, names, _ = task("wine.csv", "cultivar")
    weights = [a for axis, a in attention_of(model, batch) if axis == 2][-1]
    figure, panel = plt.subplots(figsize=(6.4, 5.4), layout="constrained")
    shown = panel.imshow(weights * len(weights), cmap="viridis", vmin=0)
    panel.set_xticks(range(len(names)), names, rotation=90)
    panel.set_yticks(range(len(names)), names)
    edge = len(names) - int(batch.class_mask.sum()) - 0.5
    panel.axhline(edge, color="white")
    panel.axvline(edge, color="white")
    figure.colorbar(shown, label="attention (1: even)", shrink=0.8)
    save(figure, "attention-attributes")


def draw_network() -> None:
    """The way of a table through the network."""
    figure, panel = plt.subplots(figsize=(9, 2.2), layout="constrained")
    panel.set(xlim=(0, 9), ylim=(0, 2))
    panel.axis("off")
    boxes = [
        (0.1, "your table\nn rows x M attributes,\nsome labels"),
        (1.9, "a cell: value,\nobserved?\nattribute or label?"),
        (3.7, "attention\nbetween rows\n(labeled and not)"),
        (5.5, "attention between\nattributes\nand labels"),
        (7.3, "head: distance to\nthe labeled rows\nof each class"),
    ]
    for i, (left, text) in enumerate(boxes):
        color = "#dbeafe" if i in (2, 3) else "#f1f5f9"
        panel.add_patch(FancyBboxPatch((left, 0.5), 1.5, 1.0, boxstyle="round,pad=0.05", fc=color, ec="#334155"))
        panel.text(left + 0.75, 1.0, text, ha="center", va="center", fontsize=8)
        if i:
            panel.annotate("", (left - 0.05, 1), (left - 0.25, 1), arrowprops={"arrowstyle": "->", "color": "#334155"})
    panel.annotate(
        "",
        (3.9, 0.42),
        (6.8, 0.42),
        arrowprops={"arrowstyle": "->", "connectionstyle": "arc3,rad=-0.2", "color": "#334155"},
    )
    panel.text(5.35, 0.03, "4 pairs of layers", ha="center", fontsize=8)
    save(figure, "network")


def save(figure: plt.Figure, name: str) -> None:  # type: ignore[name-defined]
    figure.savefig(IMAGES / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    model = load_checkpoint(kind="classification").model
    assert isinstance(model, VSAModel)
    draw_network()
    draw_examples(model)
    draw_attributes(model)


if __name__ == "__main__":
    main()
