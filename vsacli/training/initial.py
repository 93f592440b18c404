"""Starting from the weights of another checkpoint instead of random ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from vsacli.checkpoints.resolve import load_checkpoint
from vsacli.errors import UsageError
from vsacli.nn.config import VSAConfig
from vsacli.nn.model import VSAModel, input_channels
from vsacli.nn.network import Network

INPUT = "embed_in.0.weight"  # what reads the input tensor of a pre-norm VSA network
FOLLOW = ("follow.weight", "follow.bias")  # how far it follows each kernel
OF_A_KIND = ("head.", "readout.", "follow_graph.", "follow_space.")  # weights that are of no use to the other kind
READINGS = ("kernel_ridge", "structure", "class_space", "more_kernels")  # what it may read besides


def start_from(model: Network[Any], ref: str) -> None:
    """Give a model the weights of a checkpoint, in place.

    A checkpoint for the other kind of tasks serves as well: the layers that embed a table are the same, and the head
    and the readout keep their fresh weights, and what only the other network reads is left out. A pre-norm network
    may have more layers (:func:`grown`) or read more (`READINGS`): it starts with about the answers of the checkpoint.

    Parameters
    ----------
    model : Network
    ref : str
        As :func:`vsacli.checkpoints.resolve.load_checkpoint` takes it.

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
    layers, more = theirs.get("layers", 0), ours.get("layers", 0)
    prenorm = ours.get("residual") == theirs.get("residual") == "prenorm"
    deeper = prenorm and more > layers
    reads = [k for k in READINGS if prenorm and (ours[k] > theirs[k] or (ours[k] < theirs[k] and not same_kind))]
    if deeper:
        theirs |= {"layers": more}
    theirs |= {name: ours[name] for name in reads}
    if theirs != ours:
        differing = ", ".join(f"{k}={theirs[k]}" for k in ours if ours[k] != theirs[k])
        raise UsageError(f"--init {ref}: its network differs ({differing}); set the same with --model")
    weights = other.state_dict()
    if not same_kind:
        weights = {k: v for k, v in weights.items() if not k.startswith(OF_A_KIND)}
    if deeper:
        weights = grown(weights, layers, more)
    if isinstance(model, VSAModel) and isinstance(other, VSAModel) and prenorm:
        fresh = model.state_dict()
        wider = {INPUT: _widened(weights[INPUT], other.config, model.config)}
        wider |= {
            k: torch.cat([weights[k], fresh[k][len(weights[k]) :]]) for k in FOLLOW if k in weights and k in fresh
        }
        weights = {**fresh, **weights, **wider}
        weights = {k: v for k, v in weights.items() if k in fresh}
    model.load_state_dict(weights, strict=same_kind)


def _widened(weight: Tensor, theirs: VSAConfig, ours: VSAConfig) -> Tensor:
    """What reads the input (H, D); columns are 0 for what only our network reads, or reads otherwise for its kind."""
    before, after = input_channels(theirs), input_channels(ours)
    parts = dict(zip(before, weight.split_with_sizes(list(before.values()), 1), strict=True))
    if theirs.kind != ours.kind:
        parts["structure"] = parts["class_space"] = weight[:, :0]
    return torch.cat([F.pad(parts[k], (0, width - parts[k].shape[1])) for k, width in after.items() if width], 1)


def grown(weights: Mapping[str, Tensor], layers: int, more: int) -> dict[str, Tensor]:
    """Weights of a deeper pre-norm VSA network that answers as a shallower one does.

    Each layer (two blocks) of the shallower network is followed by copies of itself of which the last maps, of
    the attention and of the feed-forward network, are 0: they add nothing to the residual stream until
    training moves them (the block expansion of Wu et al. 2024, "LLaMA Pro").

    Parameters
    ----------
    weights : mapping of str to Tensor
        The shallower network's.
    layers, more : int
        Its layers, and those of the deeper one.

    Returns
    -------
    dict of str to Tensor
    """
    source = [i * layers // more for i in range(more)]  # of each new layer; copies follow their original
    out = {name: value for name, value in weights.items() if not name.startswith("blocks.")}
    last = max(int(name.split(".")[3]) for name in weights if name.startswith("blocks.0.ff."))  # the index in FF
    silent = ("attention.out.weight", f"ff.{last}.weight", f"ff.{last}.bias")
    for name, value in weights.items():
        if not name.startswith("blocks."):
            continue
        _, number, rest = name.split(".", 2)
        layer, block = divmod(int(number), 2)
        copies = [i for i, s in enumerate(source) if s == layer]
        for i in copies:
            added = i != copies[0] and rest in silent
            out[f"blocks.{2 * i + block}.{rest}"] = torch.zeros_like(value) if added else value.clone()
    return out
