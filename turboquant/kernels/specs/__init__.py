"""The one description of every kernel, for the runtime and for the tests."""

from turboquant.kernels.specs.base import (
    DIMS,
    MAX_ROWS,
    MIN_ELEMENTS,
    SEGMENTS,
    SHARED_BYTES,
    TRIALS,
    Kernel,
    Launch,
    Part,
    Shape,
    Target,
    supports,
    supports_split,
)
from turboquant.kernels.specs.catalogue import catalogue
from turboquant.kernels.specs.decode import SINGLE_ROWS, Attend, Geometry
from turboquant.kernels.specs.rows import (
    dequantise,
    dequantise_launch,
    encode,
    encode_launch,
    encode_pair,
    encode_pair_launch,
    rotate,
    rotate_launch,
)

__all__ = [
    "DIMS",
    "MAX_ROWS",
    "MIN_ELEMENTS",
    "SEGMENTS",
    "SHARED_BYTES",
    "SINGLE_ROWS",
    "TRIALS",
    "Attend",
    "Geometry",
    "Kernel",
    "Launch",
    "Part",
    "Shape",
    "Target",
    "catalogue",
    "dequantise",
    "dequantise_launch",
    "encode",
    "encode_launch",
    "encode_pair",
    "encode_pair_launch",
    "rotate",
    "rotate_launch",
    "supports",
    "supports_split",
]
