"""The protocol that the cache calls, and the choice of who implements it on this machine."""

from __future__ import annotations

import importlib.util
import os
from functools import lru_cache
from typing import Protocol

import mlx.core as mx

from turboquant.backends.cpu_kernels import prebuilt
from turboquant.backends.reference import ReferenceBackend
from turboquant.codec import Codec, Packed
from turboquant.errors import TurboQuantError
from turboquant.reasons import Reason
from turboquant.segments import Stretches
from turboquant.split import AnyCodec

VARIABLE = "TURBOQUANT_BACKEND"


class Backend(Protocol):
    """`name` is shown to the user; `notice` says why a slower one runs, or is empty.

    `leaves_raw`: nothing here attends faster over a raw cache than MLX does over what the model fetched from it.
    """

    name: str
    notice: str
    leaves_raw: bool

    def encode(
        self,
        x: mx.array,
        codec: AnyCodec,
        offset: mx.array | None = None,
        channel_scale: mx.array | None = None,
        channel_order: mx.array | None = None,
    ) -> Packed: ...

    def encode_pair(
        self,
        keys: mx.array,
        key_codec: AnyCodec,
        values: mx.array,
        value_codec: Codec,
        offset: mx.array | None = None,
        channel_scale: mx.array | None = None,
        channel_order: mx.array | None = None,
    ) -> tuple[Packed, Packed]: ...

    def dequantise(self, packed: Packed, codec: AnyCodec, dtype: mx.Dtype) -> mx.array: ...

    def attend(
        self,
        queries: mx.array,
        kv: Stretches,
        scale: float,
        mask: mx.array | str | None,
        sinks: mx.array | None,
        soft_cap: float = 0.0,
    ) -> mx.array: ...


NAMES = ("metal", "cuda", "numba", "reference")


@lru_cache(maxsize=1)
def choose() -> Backend:
    """The kernels of the GPU that MLX uses, numba where it uses the CPU; the variable TURBOQUANT_BACKEND overrides.

    Raises TurboQuantError for a name that isn't one of NAMES, or that this machine can't serve.
    """
    wanted = os.environ.get(VARIABLE, "").strip().lower()
    if wanted not in ("", *NAMES):
        raise TurboQuantError(f"{VARIABLE}={wanted!r} isn't a backend. Choose {', '.join(NAMES)}, or unset it.")
    here = "numba" if mx.default_device() == mx.cpu else "metal" if mx.metal.is_available() else "cuda"
    wanted = wanted or here
    if wanted == "reference":
        return ReferenceBackend()
    if wanted != here:
        raise TurboQuantError(
            f"{VARIABLE}={wanted} doesn't fit the device that MLX uses here. Choose {here} or reference, or unset it."
        )
    if wanted == "numba":
        return _numba()
    from turboquant.backends.gpu import GpuBackend
    from turboquant.backends.verified import of_this_machine
    from turboquant.kernels.loader import Launcher

    return GpuBackend(Launcher("metal" if wanted == "metal" else "cuda"), of_this_machine())


def _numba() -> Backend:
    if prebuilt.library_path() is None and importlib.util.find_spec("numba") is None:
        fallback = ReferenceBackend()
        fallback.notice = Reason("numba isn't installed: decode attention runs on the slower reference backend.")
        return fallback
    try:
        from turboquant.backends.cpu import NumbaBackend
    except ImportError as error:
        fallback = ReferenceBackend()
        fallback.notice = Reason(
            "numba can't be used ({0}): decode attention runs on the slower reference backend.", error
        )
        return fallback
    return NumbaBackend()
