"""Starting from the weights of another checkpoint instead of random ones."""

from __future__ import annotations

from typing import Any

from vsacli.checkpoints import load_checkpoint
from vsacli.errors import UsageError
from vsacli.nn.network import Network


def start_from(model: Network[Any], ref: str) -> None:
    """Give a model the weights of a checkpoint, in place.

    A checkpoint for the other kind of tasks serves, too: what embeds a table is alike, and the head
    and the readout keep their fresh weights.

    Parameters
    ----------
    model : Network
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
    ours, theirs = model.config.to_dict(), other.config.to_dict()
    if type(other) is not type(model):
        methods = f"{other.config.method}, not {model.config.method}"
        raise UsageError(f"--init {ref}: its network is that of the method {methods}; give one of the same method")
    same_kind = other.config.kind == model.config.kind
    if not same_kind:  # what follows from the kind
        theirs |= {k: ours[k] for k in ("kind", "head") if k in ours}
    if theirs != ours:
        differing = ", ".join(f"{k}={theirs[k]}" for k in ours if ours[k] != theirs[k])
        raise UsageError(f"--init {ref}: its network differs ({differing}); set the same with --model")
    weights = other.state_dict()
    if not same_kind:
        weights = {k: v for k, v in weights.items() if not k.startswith(("head.", "readout."))}
    model.load_state_dict(weights, strict=same_kind)
