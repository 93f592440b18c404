"""The model card of a run: what the network is, what it learned from, and how to use it."""

from __future__ import annotations

from typing import Any

from vsacli.methods.registry import network_info
from vsacli.training.config import TrainConfig


def card_text(config: TrainConfig, meta: dict[str, Any]) -> str:
    """The card, Markdown.

    Parameters
    ----------
    config : TrainConfig
    meta : dict
        What is saved with the checkpoint: ``data``, ``command``, ``device``, ``steps``, ``tasks``,
        ``seconds`` and ``validation``.
    """
    m = config.model
    figures = "\n".join(f"| {k} | {v} |" for k, v in meta.get("validation", {}).items())
    per_class = " per class" if m.kind == "classification" else ""
    valid = "It was not validated.\n"
    if figures:
        valid = (
            "Validation (mean over families of the validation tables, the same episodes each time; a figure at k has k"
            f" labeled rows{per_class}):\n\n| figure | value |\n|---|---|\n{figures}\n"
        )
    fitted = ", ".join(f"{k} {v}" for k, v in meta.get("calibration", {}).items())
    if fitted:
        valid += f"\nConfidence is fitted on the same episodes: {fitted}.\n"
    title, what = "VSA", "A variable-feature self-attention network (Iwata & Kumagai, arXiv 2311.05088)"
    if m.method != "vsa":
        title = network_info(m.method).title
        what = f"The method {title} that Iwata & Kumagai (arXiv 2311.05088) compare their network with, as a network"
    return (
        f"# {title}, {m.kind}\n\n"
        f"{what} of `vsacli`, meta-trained for {m.kind} with a handful of labeled rows and the unlabeled rows beside"
        " them.\n\n"
        f"    vsa label table.csv --target COLUMN --checkpoint {meta.get('folder', 'THIS_FOLDER')}\n\n"
        f"- Network: {m.describe()}\n"
        f"- Data: {meta.get('data', 'see config.json')}\n"
        f"- Command: `{meta.get('command', 'see config.json')}`\n"
        f"- Training: {meta['steps']} steps, {meta['tasks']} tasks, {meta['seconds']} s"
        f" on {meta.get('device', 'an unrecorded device')}; {config.optimizer}, learning rate {config.learning_rate:g},"
        f" seed {config.seed}\n"
        f"- Configuration: config.json beside this file\n\n"
        f"{valid}\n"
        "Limits: it knows tables like those it was trained on. A class without a labeled row is never predicted, and"
        " probabilities for tables unlike any it has seen can be too sure.\n"
    )
