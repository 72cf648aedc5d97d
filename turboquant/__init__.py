"""TurboQuant-compressed key/value caches for mlx-lm (Zandieh et al., arXiv 2504.19874)."""

import ctypes
import sys

if sys.platform == "linux":
    # MLX's Linux wheel links the slow reference BLAS; a faster one that is loaded first takes its place.
    try:
        ctypes.CDLL("libopenblas.so.0", mode=ctypes.RTLD_GLOBAL)
    except OSError:
        pass

from turboquant import backends, plan, report, schemes, snapshot  # noqa: E402
from turboquant.cache import TurboQuantCache  # noqa: E402
from turboquant.plan import convert, make_cache  # noqa: E402

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
