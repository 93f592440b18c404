"""The weights of two checkpoints, averaged: models/recipes/average.py FIRST SECOND SHARE OUT

SECOND was trained from FIRST (`--init`), and may read more than it does: where FIRST has no weights, those count that
such a training starts with.

OUT becomes a copy of SECOND with (1 - SHARE) times the weights of FIRST and SHARE times its own. The validation figures
and the confidence in its config are still those of SECOND.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from safetensors import safe_open
from safetensors.torch import load_file, save_file

from vsacli.checkpoints.resolve import load_checkpoint
from vsacli.methods.registry import build_network
from vsacli.training.initial import start_from


def main() -> None:
    """Write OUT."""
    first, second, share, out = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4])
    theirs = load_file(second / "model.safetensors")
    start = build_network(load_checkpoint(str(second)).model.config)
    start_from(start, str(first))
    ours = start.state_dict()
    with safe_open(second / "model.safetensors", "pt") as file:
        facts = file.metadata()
    out.mkdir(parents=True, exist_ok=True)
    for name in ("config.json", "README.md"):
        shutil.copy(second / name, out / name)
    mean = {name: (1 - share) * ours[name] + share * theirs[name] for name in theirs}
    save_file(mean, out / "model.safetensors", metadata=facts)


if __name__ == "__main__":
    main()
