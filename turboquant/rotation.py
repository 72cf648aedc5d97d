"""The random rotation R = (H_{2^k} (x) Q_m) diag(signs) for any dimension d = m 2^k, m odd (TurboQuant, Algorithm 1).

H is the orthonormal Walsh-Hadamard matrix, Q_m a fixed random orthogonal matrix (1 for a power of two), so that a
rotation costs O(d log d + d m). The transpose is the inverse; with m > 1 the matrix isn't symmetric.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from turboquant.errors import UnpackableHeadDim
from turboquant.reasons import Reason

MIN_DIM, MAX_DIM = 8, 1024


def check_dim(dim: int) -> None:
    """Raises UnpackableHeadDim where no codec is built for vectors of `dim` coordinates."""
    if not MIN_DIM <= dim <= MAX_DIM or dim % 2:
        raise UnpackableHeadDim(
            Reason("A head dimension of {0} can't be packed: even ones from {1} to {2} can.", dim, MIN_DIM, MAX_DIM)
        )


def factors(dim: int) -> tuple[int, int]:
    """(2^k, m) with dim = m 2^k and m odd."""
    power = dim & -dim
    return power, dim // power


@dataclass(frozen=True, eq=False)
class Rotation:
    """`signs` (d,) of +-1 and `mixer` (m, m), shared by every layer with the same dimension and seed."""

    dim: int
    seed: int
    signs: mx.array
    mixer: mx.array

    def forward(self, x: mx.array, fold: mx.array | None = None) -> mx.array:
        """R x over the last axis, float32. `fold` replaces the signs (signs times a channel scale, broadcast)."""
        power, m = factors(self.dim)
        y = x.astype(mx.float32) * (self.signs if fold is None else fold)
        shape = y.shape
        if m > 1:
            y = (y.reshape(-1, power, m) @ self.mixer.T).swapaxes(-1, -2)
            return _hadamard(y, power).swapaxes(-1, -2).reshape(shape)
        return _hadamard(y, power)

    def inverse(self, y: mx.array, fold: mx.array | None = None) -> mx.array:
        """R^T y over the last axis, float32. `fold` as in `forward` would divide: pass signs over the channel scale."""
        power, m = factors(self.dim)
        shape = y.shape
        x = y.astype(mx.float32)
        if m > 1:
            x = _hadamard(x.reshape(-1, power, m).swapaxes(-1, -2), power).swapaxes(-1, -2) @ self.mixer
            x = x.reshape(shape)
        else:
            x = _hadamard(x, power)
        return x * (self.signs if fold is None else fold)

    def dense(self) -> NDArray[np.float64]:
        """The d x d matrix R, for checks."""
        power, _ = factors(self.dim)
        h = np.ones((1, 1))
        while h.shape[0] < power:
            h = np.block([[h, h], [h, -h]])
        return np.asarray(
            np.kron(h / np.sqrt(power), np.array(self.mixer, np.float64)) * np.array(self.signs, np.float64)
        )


def _hadamard(x: mx.array, power: int) -> mx.array:
    """Powers of two only: at other sizes MLX's transform isn't orthonormal, returns NaN or aborts the process."""
    return mx.hadamard_transform(x, scale=power**-0.5) if power > 1 else x


@cache
def rotation(dim: int, seed: int) -> Rotation:
    """The one rotation of (dim, seed). RandomState, because NumPy promises that its streams never change."""
    check_dim(dim)
    random = np.random.RandomState(seed)
    signs = random.randint(0, 2, dim) * 2 - 1
    _, m = factors(dim)
    mixer = np.ones((1, 1))
    if m > 1:
        q, r = np.linalg.qr(random.standard_normal((m, m)))
        mixer = q * np.sign(np.diag(r))
    return Rotation(dim, seed, mx.array(signs.astype(np.float32)), mx.array(mixer.astype(np.float32)))
