"""Lloyd-Max codebooks for one coordinate of a random unit vector (TurboQuant, section 3.1).

After a random rotation a coordinate of a unit vector in R^d has the density f(x) ~ (1 - x^2)^((d-3)/2) on [-1, 1].
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

VERSION = 1  # a change of any centroid is a new version: stored caches name the one they were made with

_GRID = 1 << 16


@cache
def lloyd_max(dim: int, bits: int) -> NDArray[np.float64]:
    """The 2^bits ascending centroids, symmetric about 0, that minimise the mean squared error.

    Lloyd's iteration on the positive half: cell masses from a fine grid of the angle (x = sin a keeps the tails
    well resolved), first moments in closed form: the integral of x f(x) is -(1 - x^2)^((d-1)/2) / (d-1).
    """
    angle = np.linspace(0.0, np.pi / 2, _GRID + 1)
    density = np.cos(angle) ** (dim - 2)  # f(x) dx with x = sin a
    cdf = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    cdf *= angle[1]
    levels = 1 << (bits - 1)

    def mass(x: NDArray[np.float64]) -> NDArray[np.float64]:
        position = np.arcsin(np.minimum(x, 1.0)) / angle[1]
        low = np.minimum(position.astype(np.int64), _GRID - 1)
        part = position - low
        # trapezoid within the cell, so that the error is of the grid's third order
        inner = part * angle[1] * (density[low] + part / 2 * (density[low + 1] - density[low]))
        return np.asarray(cdf[low] + inner)

    def moment(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(-(np.maximum(1.0 - x * x, 0.0) ** ((dim - 1) / 2)) / (dim - 1))

    # start from the optimal point density for squared error, f^(1/3) (Panter and Dite)
    third = np.concatenate([[0.0], np.cumsum(density ** (1 / 3) * np.cos(angle) ** (2 / 3))])[:-1]
    centroids = np.sin(np.interp((np.arange(levels) + 0.5) / levels, third / third[-1], angle))
    for _ in range(20_000):
        edges = np.concatenate([[0.0], (centroids[1:] + centroids[:-1]) / 2, [1.0]])
        updated = np.diff(moment(edges)) / np.maximum(np.diff(mass(edges)), 1e-300)
        change = np.abs(updated - centroids).max()
        centroids = updated
        if change < 1e-10:
            break
    return np.concatenate([-centroids[::-1], centroids])


def boundaries(centroids: NDArray[np.float64]) -> NDArray[np.float64]:
    """The 2^bits - 1 midpoints: a coordinate's code is the number of boundaries below it."""
    return (centroids[1:] + centroids[:-1]) / 2


def mean_squared_error(dim: int, bits: int) -> float:
    """Expected ||u - c[code]||^2 of a unit vector u, from the codebook itself (no sampling)."""
    c = lloyd_max(dim, bits)
    x = np.sin(np.linspace(-np.pi / 2, np.pi / 2, 400_001))
    weight = np.sqrt(np.maximum(1 - x * x, 0.0)) ** (dim - 2)
    error = (x - c[np.searchsorted(boundaries(c), x)]) ** 2
    return float(dim * (weight * error).sum() / weight.sum())
