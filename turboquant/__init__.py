"""TurboQuant-compressed key/value caches for mlx-lm (Zandieh et al., arXiv 2504.19874)."""

import contextlib
import ctypes
import sys

if sys.platform == "linux":
    # MLX's Linux wheel links the slow reference BLAS; a faster one that is loaded first takes its place.
    with contextlib.suppress(OSError):
        ctypes.CDLL("libopenblas.so.0", mode=ctypes.RTLD_GLOBAL)

from turboquant import attention, backends, plan, report, schemes, snapshot
from turboquant.cache import TurboQuantCache
from turboquant.plan import convert, make_cache

attention.install()  # caches must be reached however they were made, or loaded by mlx-lm

__all__ = [
    "TurboQuantCache",
    "backends",
    "convert",
    "make_cache",
    "plan",
    "report",
    "schemes",
    "snapshot",
]
