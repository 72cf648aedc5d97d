"""How the loops are compiled: inner ones into their callers, entries once a machine; the pool of threads they share."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import numba

# OpenMP's threads spin while they wait and lose whole time slices as soon as anything else runs (a window, say): seen
# 15 times slower on a busy machine. numba's own pool doesn't, but only one thread may enter it at a time.
if "NUMBA_THREADING_LAYER" not in os.environ:
    numba.config.THREADING_LAYER = "workqueue"
_entrance = threading.Lock()

OPTIONS: dict[str, Any] = {"fastmath": True, "nogil": True, "error_model": "numpy"}
# Nothing but another loop calls these: without what Python would need they compile twice as fast.
_INNER = OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
# Only `prange` may start threads: left alone, numba also spreads every `x[:] = 0`, for some 40 µs each.
ONLY_PRANGE = dict.fromkeys(
    ("comprehension", "reduction", "inplace_binop", "setitem", "numpy", "stencil", "fusion"), False
)
_FILES = [path.stat() for path in sorted(Path(__file__).parent.glob("*.py"))]
_STAMP = (max((file.st_mtime for file in _FILES), default=0.0), sum(file.st_size for file in _FILES))


def inner(function: Callable[..., Any]) -> Any:
    """A loop that another one calls."""
    return numba.njit(**_INNER)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """A short loop whose machine code is put into its callers'.

    Across a real call numba counts references to every row that is passed, with atomic instructions: they took as long
    as the loops themselves.
    """
    return numba.njit(forceinline=True, **_INNER)(function)


def entry(function: Callable[..., None]) -> Callable[..., None]:
    """A loop that Python calls, spread over the cores by `prange` and cached on disk."""
    spread = {"parallel": ONLY_PRANGE, **OPTIONS}
    try:
        compiled = numba.njit(cache=True, **spread)(function)
    except RuntimeError:  # no folder can be written: compiled anew at each start
        compiled = numba.njit(**spread)(function)
    # numba looks at the entry's own file only; its code also holds that of its neighbours
    if _FILES and hasattr(compiled._cache, "_cache_file"):
        compiled._cache._cache_file._source_stamp = _STAMP

    @wraps(function)
    def enter(*arguments: Any) -> None:
        with _entrance:
            compiled(*arguments)

    return enter
