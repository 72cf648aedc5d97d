import mlx.core as mx
import numpy as np
import pytest

from turboquant.errors import UnpackableHeadDim
from turboquant.rotation import check_dim, rotation

DIMS = (8, 10, 12, 20, 28, 64, 72, 80, 96, 112, 120, 128, 192, 240, 256, 512, 576, 1024)


@pytest.mark.parametrize("dim", DIMS)
def test_the_transpose_is_the_inverse_and_the_fast_form_is_the_matrix(dim: int) -> None:
    r = rotation(dim, 42)
    dense = r.dense()
    assert np.abs(dense.T @ dense - np.eye(dim)).max() < 1e-5
    x = np.random.RandomState(0).standard_normal((3, 2, 5, dim)).astype(np.float32)
    y = r.forward(mx.array(x))
    assert np.abs(np.array(y) - x @ dense.T).max() < 1e-5
    assert np.abs(np.array(r.inverse(y)) - x).max() < 1e-5


def test_layers_share_one_rotation_and_seeds_differ() -> None:
    assert rotation(80, 42) is rotation(80, 42)
    assert not mx.array_equal(rotation(64, 42).signs, rotation(64, 43).signs)


@pytest.mark.parametrize("dim", [-4, 0, 1, 6, 7, 63, 1026, 2048])
def test_a_dimension_without_a_codec_is_refused_before_any_transform(dim: int) -> None:
    with pytest.raises(UnpackableHeadDim, match=str(dim)):
        check_dim(dim)
    with pytest.raises(UnpackableHeadDim):
        rotation(dim, 42)
