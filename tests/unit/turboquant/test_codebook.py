import numpy as np
import pytest

from turboquant.codebook import boundaries, lloyd_max, mean_squared_error

# Positive centroids in units of 1/sqrt(d), and the mean squared error, of the published tables.
CENTROIDS = {
    (64, 1): [0.80101],
    (128, 1): [0.79944],
    (64, 2): [0.45212, 1.49997],
    (128, 2): [0.45245, 1.50519],
    (64, 3): [0.24375, 0.75065, 1.32933, 2.11130],
    (128, 3): [0.24442, 0.75332, 1.33658, 2.13145],
    (64, 4): [0.12734, 0.38469, 0.65046, 0.93185, 1.23935, 1.59080, 2.02326, 2.64633],
    (128, 4): [0.12786, 0.38635, 0.65357, 0.93704, 1.24771, 1.60428, 2.04586, 2.68881],
}
ERRORS = {
    (64, 1): 0.35839, (64, 2): 0.11453, (64, 3): 0.03339, (64, 4): 0.00913,
    (128, 1): 0.36089, (128, 2): 0.11600, (128, 3): 0.03397, (128, 4): 0.00932,
}  # fmt: skip


@pytest.mark.parametrize(("dim", "bits"), CENTROIDS)
def test_centroids_and_error_are_the_published_ones(dim: int, bits: int) -> None:
    c = lloyd_max(dim, bits)
    assert c[len(c) // 2 :] * dim**0.5 == pytest.approx(CENTROIDS[dim, bits], abs=1e-4)
    assert mean_squared_error(dim, bits) == pytest.approx(ERRORS[dim, bits], abs=2e-5)


@pytest.mark.parametrize("dim", [8, 10, 64, 80, 512, 1024])
@pytest.mark.parametrize("bits", [1, 2, 3, 4, 8])
def test_codebooks_are_symmetric_ascending_and_within_the_bound(dim: int, bits: int) -> None:
    c = lloyd_max(dim, bits)
    assert len(c) == 1 << bits
    assert (np.diff(c) > 0).all()
    assert c == pytest.approx(-c[::-1])
    assert np.abs(c).max() < 1
    assert (np.diff(boundaries(c)) > 0).all()
    # the upper bound of the paper's theorem 1; the lower one holds as d grows
    assert mean_squared_error(dim, bits) <= np.sqrt(3) * np.pi / 2 * 4.0**-bits
