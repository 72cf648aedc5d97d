"""A launcher that runs kernels in the emulator: the GPU backend's own code, on a machine without a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tests.kernels import emulator
from turboquant.kernels.specs import MIN_ELEMENTS, Kernel, Launch, Target


class EmulatedLauncher:
    def __init__(self, target: Target) -> None:
        self.target: Target = target
        self.calls: list[str] = []  # bodies, in order

    def __call__(self, kernel: Kernel, launch: Launch, inputs: Sequence[mx.array]) -> list[mx.array]:
        self.calls.append(kernel.body)
        given = zip(kernel.inputs, kernel.types, inputs, strict=True)
        for name, dtype, array in given:
            assert array.dtype == getattr(mx, dtype), (kernel.name, name, array.dtype)
            assert name == "sinks" or array.size >= MIN_ELEMENTS, (kernel.name, name, array.shape)
        outputs = emulator.run(kernel, launch, [_to_numpy(array) for array in inputs], self.target, (0,))
        return [_to_mlx(array, dtype) for array, dtype in zip(outputs, launch.dtypes, strict=True)]

    def fuse(self, function: Callable[..., list[mx.array]]) -> Callable[..., list[mx.array]]:
        return function


def _to_numpy(array: mx.array) -> NDArray[Any]:
    return np.array(array.view(mx.uint16) if array.dtype == mx.bfloat16 else array)


def _to_mlx(array: NDArray[Any], dtype: str) -> mx.array:
    return mx.array(array).view(mx.bfloat16) if dtype == "bfloat16" else mx.array(array)
