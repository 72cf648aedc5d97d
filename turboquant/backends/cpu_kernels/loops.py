"""The three loops behind the CPU backend: those that a bundle brings ready made, else compiled here by numba."""

from __future__ import annotations

from collections.abc import Callable

from turboquant.backends.cpu_kernels import prebuilt

attend: Callable[..., None]
dequantise: Callable[..., None]
encode: Callable[..., None]
threads: Callable[[], int]

if found := prebuilt.library_path():
    attend, dequantise, encode = map(prebuilt.load(found).__getitem__, prebuilt.LOOPS)
    threads = prebuilt.threads
else:
    from numba import get_num_threads

    from turboquant.backends.cpu_kernels.attention import attend
    from turboquant.backends.cpu_kernels.codec import dequantise, encode

    threads = get_num_threads

__all__ = ["attend", "dequantise", "encode", "threads"]
