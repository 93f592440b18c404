"""Starting from the weights of another checkpoint instead of random ones."""

from __future__ import annotations

from dataclasses import replace

from vsacli.checkpoints import load_checkpoint
from vsacli.errors import UsageError
from vsacli.nn.model import VSAModel


def start_from(model: VSAModel, ref: str) -> None:
    """Give a model the weights of a checkpoint, in place.

    A checkpoint for the other kind of tasks serves, too: what embeds a table is alike, and the head
    and the readout keep their fresh weights.

    Parameters
    ----------
    model : VSAModel
    ref : str
        As :func:`vsacli.checkpoints.load_checkpoint` takes it.

    Raises
    ------
    CheckpointError
        If the checkpoint cannot be read.
    UsageError
        If its network has other sizes.
    """
    other = load_checkpoint(ref).model
    same_kind = other.config.kind == model.config.kind
    alike = other.config if same_kind else replace(other.config, kind=model.config.kind, head=model.config.head)
    if alike != model.config:
        ours, theirs = model.config.to_dict(), alike.to_dict()
        differing = ", ".join(f"{k}={theirs[k]}" for k in ours if ours[k] != theirs[k])
        raise UsageError(f"--init {ref}: its network differs ({differing}); set the same with --model")
    weights = other.state_dict()
    if not same_kind:
        weights = {k: v for k, v in weights.items() if not k.startswith(("head.", "readout."))}
    model.load_state_dict(weights, strict=same_kind)
