"""A data frame with columns of every kind, and labels for some of its rows."""

from __future__ import annotations

import numpy as np
import pandas as pd

from vsacli.inference.config import InferenceConfig

CHUNK = InferenceConfig().chunk_rows


def make_frame(n: int = 60, seed: int = 0) -> pd.DataFrame:
    """Columns of every kind, with missing cells."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "shop": rng.choice(["north", "south", "east"], n),
            "day": pd.date_range("2024-01-01", periods=n, freq="37h"),
            "kind": pd.Categorical(rng.choice(["u", "v"], n)),
            "count": pd.array(rng.integers(0, 9, n), dtype="Int64"),
            "open": rng.random(n) < 0.5,
        }
    )
    for row, column in ((3, "size"), (5, "count"), (7, "shop")):
        if row < n:
            frame.loc[row, column] = None
    return frame


FRAME = make_frame()
HIDDEN = np.random.default_rng(1).random(60) < 0.6
TRUTH = np.where(FRAME["size"].fillna(0) > 0, "pos", "neg").astype(object)
WITH_NONE = np.where(HIDDEN, None, TRUTH)
