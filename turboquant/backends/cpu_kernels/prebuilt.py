"""The loops as shared libraries that lie beside this file: a bundle brings them, so that it needs no compiler.

packaging/linux/cpu_kernels.py makes them, one for each generation of processors, from the same source as numba's.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
# LLVM's names, the best first, and what of /proc/cpuinfo tells that a processor is one.
LEVELS = {
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx2", "bmi2", "fma", "f16c"),
    "x86-64-v3": ("avx2", "bmi1", "bmi2", "fma", "f16c", "abm", "movbe"),
    "x86-64-v2": ("sse4_2", "ssse3", "popcnt", "cx16"),
}
LOOPS = ("attend", "dequantise", "encode")  # in the library's order


def library_path(folder: Path = FOLDER, flags: frozenset[str] | None = None) -> Path | None:
    """The best library in `folder` for a processor with these `flags` (by default this one's), or None."""
    libraries = {level: folder / f"{level}.so" for level in LEVELS}
    if not any(path.exists() for path in libraries.values()):
        return None
    own = _flags() if flags is None else flags
    return next((path for level, path in libraries.items() if path.exists() and own.issuperset(LEVELS[level])), None)


def load(path: Path) -> dict[str, Callable[..., None]]:
    """The loops of a library, by name; their arguments are as in attention.py and codec.py.

    They raise TypeError for arrays of another type or number of dimensions than they were compiled for. The GIL is
    released, and one call runs at a time. Raises OSError.
    """
    library = ctypes.PyDLL(str(path))
    library.call.argtypes = (ctypes.c_int, ctypes.py_object)
    library.set_threads(ctypes.c_size_t(threads()))

    def loop(number: int) -> Callable[..., None]:
        def run(*arguments: Any) -> None:
            library.call(number, arguments)  # raises what the library sets

        return run

    return {name: loop(number) for number, name in enumerate(LOOPS)}


@cache
def threads() -> int:
    """How many run a loop: one for each core that this process may use."""
    return len(os.sched_getaffinity(0))


def _flags() -> frozenset[str]:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("flags"):
            return frozenset(line.split())
    return frozenset()
