"""Learning curves of a run as a PNG, if matplotlib is installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from vsacli.support.atomic_files import replacing
from vsacli.training.folder import read_metrics

CURVES_FILE = "curves.png"


def write_curves(folder: Path) -> Path | None:
    """Draw ``metrics.jsonl`` of a run: loss of training and validation, and the validation's metric by labels.

    Returns
    -------
    Path or None
        The picture; None without matplotlib, or without two points to draw a line between.
    """
    records = read_metrics(folder / "metrics.jsonl")
    if len(records) < 2 or importlib.util.find_spec("matplotlib") is None:
        return None
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    for key, label in (("loss", "training"), ("valid_loss", "validation")):
        steps, values = _series(records, key)
        if steps:
            left.plot(steps, values, marker="." if len(steps) < 40 else "", label=label)
    left.set(xlabel="step", ylabel="loss", title="Loss")
    metrics = sorted(
        {k for r in records for k in r if k.startswith(("valid_accuracy@", "valid_mse@"))},
        key=lambda k: int(k.split("@")[1]),
    )
    for key in metrics:
        steps, values = _series(records, key)
        right.plot(steps, values, marker="." if len(steps) < 40 else "", label=f"{key.split('@')[1]} labels")
    name = metrics[0].split("@")[0].removeprefix("valid_") if metrics else "validation"
    right.set(xlabel="step", ylabel=name, title="Validation")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False)
    path = folder / CURVES_FILE
    try:
        with replacing(path) as fresh:
            figure.savefig(fresh, dpi=130, format="png")
    except OSError:
        return None
    return path


def _series(records: list[dict[str, Any]], key: str) -> tuple[list[int], list[float]]:
    points = [(r["step"], r[key]) for r in records if isinstance(r.get(key), (int, float))]
    return [s for s, _ in points], [v for _, v in points]
