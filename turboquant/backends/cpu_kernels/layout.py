"""What the loops and those who call them agree on, whoever compiled them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TOKENS = 64  # tokens whose scores are held at once; a multiple of the four that are unpacked together
LOWEST = np.float32(-1e30)  # stands for minus infinity, which fast arithmetic may not meet


def table(values: NDArray[np.float32], fill: float | None = None, size: int = 16) -> NDArray[np.float32]:
    """`size` entries: `values` over and over, so that bits above a code don't matter, or up to `fill`."""
    if values.size >= size:
        return values
    if fill is None:
        return np.tile(values, size // values.size)
    return np.concatenate([values, np.full(size - values.size, fill, np.float32)])
