"""The protocol that the cache calls, and the choice of who implements it on this machine."""

from __future__ import annotations

import importlib.util
import os
from functools import lru_cache
from typing import Protocol

import mlx.core as mx

from turboquant.backends.reference import ReferenceBackend
from turboquant.codec import Codec, Packed
from turboquant.errors import TurboQuantError
from turboquant.segments import Stretches

VARIABLE = "TURBOQUANT_BACKEND"


class Backend(Protocol):
    """`name` is shown to the user; `notice` says why a slower one runs, or is empty."""

    name: str
    notice: str

    def encode(
        self, x: mx.array, codec: Codec, offset: mx.array | None = None, channel_scale: mx.array | None = None
    ) -> Packed: ...

    def dequantise(self, packed: Packed, codec: Codec, dtype: mx.Dtype) -> mx.array: ...

    def attend(
        self, queries: mx.array, kv: Stretches, scale: float, mask: mx.array | str | None, sinks: mx.array | None
    ) -> mx.array: ...


@lru_cache(maxsize=1)
def choose() -> Backend:
    """numba where MLX runs on the CPU, the reference elsewhere; the variable TURBOQUANT_BACKEND overrides.

    Raises TurboQuantError for a name that isn't one of: numba, reference.
    """
    wanted = os.environ.get(VARIABLE, "").strip().lower()
    if wanted not in ("", "numba", "reference"):
        raise TurboQuantError(f"{VARIABLE}={wanted!r} isn't a backend. Choose numba or reference, or unset it.")
    on_cpu = mx.default_device() == mx.cpu
    if wanted == "reference" or (not wanted and not on_cpu):
        return ReferenceBackend()
    if importlib.util.find_spec("numba") is None:
        fallback = ReferenceBackend()
        fallback.notice = "numba isn't installed: decode attention runs on the slower reference backend."
        return fallback
    if not on_cpu:
        raise TurboQuantError(f"{VARIABLE}=numba reads arrays in place, which needs MLX on the CPU. Unset it.")
    from turboquant.backends.cpu import NumbaBackend

    return NumbaBackend()
