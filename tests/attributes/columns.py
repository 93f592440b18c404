"""Columns as the readers give them, fitted one by one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from vsacli.attributes.encoder import AttributeEncoder

NAN = float("nan")


def text(*cells: str) -> pa.Array:
    return pa.array(cells, pa.large_string())


def encode(column: pa.Array, name: str = "c", decimal: str = ".") -> tuple[np.ndarray, AttributeEncoder]:
    """Fit one column, beside another so that nothing is kept for want of anything better."""
    other = pa.array([0.5, 1.25] + [3.75] * (len(column) - 2))
    encoder = AttributeEncoder()
    x = encoder.fit_transform([("other", other), (name, column)], decimal)
    assert encoder.attribute_names[0] == "other"
    assert x.dtype == np.float32
    assert x.shape == (len(column), len(encoder.attribute_names))
    np.testing.assert_array_equal(encoder.transform([("other", other), (name, column)]), x)
    return x[:, 1:], encoder


def reason(column: pa.Array, name: str = "c") -> str:
    x, encoder = encode(column, name)
    assert x.shape[1] == 0
    assert name not in encoder.used
    assert [left for left, _ in encoder.left_out] == [name]
    return encoder.left_out[0][1]


def sentences(n: int) -> list[str]:
    rng = np.random.default_rng(3)
    topics = [["crash", "error", "fails", "broken"], ["please", "add", "wish", "nice"]]
    return [" ".join(rng.choice(topics[i % 2], size=6)) + f" number{i}" for i in range(n)]
