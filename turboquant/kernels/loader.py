"""From a kernel's description to the text that MLX compiles, and to a call.

The Metal text is the bodies as they are written. The CUDA text is the same one with Metal's address spaces taken out
and its thread attributes declared as locals.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import mlx.core as mx

from turboquant.kernels.specs import Kernel, Launch, Target

_HERE = Path(__file__).parent
_TYPES = {"float32": "float", "float16": "float16_t", "bfloat16": "bfloat16_t"}
_DTYPES = {name: getattr(mx, name) for name in (*_TYPES, "uint32", "uint16")}
_ATTRIBUTES = {
    "thread_position_in_threadgroup": "const uint3 {} = make_uint3(threadIdx.x, threadIdx.y, threadIdx.z);",
    "threadgroup_position_in_grid": "const uint3 {} = make_uint3(blockIdx.x, blockIdx.y, blockIdx.z);",
    "threadgroups_per_grid": "const uint3 {} = make_uint3(gridDim.x, gridDim.y, gridDim.z);",
    "thread_index_in_simdgroup": "const uint {} = threadIdx.x & 31u;",
    "simdgroup_index_in_threadgroup": "const uint {} = threadIdx.x >> 5;",
}
_SPACES = re.compile(r"\b(?:device|constant|threadgroup|thread)\b(?!\s*\()")


def _read(name: str) -> str:
    """A text without comments and indentation: MLX builds and compares the whole of it at every call."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", (_HERE / name).read_text(encoding="utf-8"), flags=re.S)
    return "\n".join(line.strip() for line in text.splitlines() if line.strip()) + "\n"


@cache
def _helpers(target: Target, names: tuple[str, ...]) -> str:
    text = "".join(_read(name) for name in names)
    return _read(f"portable_{target}.h") + (_SPACES.sub("", text) if target == "cuda" else text)


def header(kernel: Kernel, target: Target) -> str:
    """What stands before the kernel.

    On CUDA it also bounds the registers: MLX writes the declaration itself, so the bound goes into the macro that the
    declaration begins with.
    """
    helpers = _helpers(target, kernel.headers)
    if target == "metal" or not kernel.residents:
        return helpers
    bounds = f"__launch_bounds__({kernel.threads}, {kernel.residents})"
    return helpers + f"#undef __global__\n#define __global__ __attribute__((global)) {bounds}\n"


def source(kernel: Kernel, target: Target) -> str:
    """The body as MLX gets it: constants first, inputs that this kernel lacks replaced by their stand-ins."""
    text = "".join(_read(name + ".metal") for name in kernel.texts or (kernel.body,))
    for absent, other in kernel.aliases:
        text = re.sub(rf"\b{absent}\b", other, text)
    lines = [
        f"typedef {_TYPES[value]} {name};" if isinstance(value, str) else f"constexpr int {name} = {value};"
        for name, value in kernel.constants
    ]
    if target == "cuda":
        # MLX itself declares, on Metal, the attributes whose names occur in the text
        lines += [line.format(name) for name, line in _ATTRIBUTES.items() if name in text]
        text = _SPACES.sub("", text)
    return "\n".join([*lines, text])


@cache
def fingerprint() -> str:
    """Of every text that kernels are made of."""
    texts = sorted(path for path in _HERE.iterdir() if path.suffix in (".h", ".metal"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in texts)).hexdigest()[:8]


class Launcher:
    """Runs kernels on this machine's GPU. One per target; keeps what it has built."""

    def __init__(self, target: Target) -> None:
        self.target: Target = target
        self._built: dict[str, Callable[..., list[mx.array]]] = {}

    def __call__(self, kernel: Kernel, launch: Launch, inputs: Sequence[mx.array]) -> list[mx.array]:
        """The outputs of one dispatch, lazily. Inputs must have at least MIN_ELEMENTS elements but for `sinks`."""
        name = kernel.name
        function = self._built.get(name)
        if function is None:
            make: Any = mx.fast.metal_kernel if self.target == "metal" else mx.fast.cuda_kernel
            function = self._built[name] = make(
                name=name,
                input_names=list(kernel.inputs),
                output_names=list(kernel.outputs),
                source=source(kernel, self.target),
                header=header(kernel, self.target),
            )
        return function(
            inputs=list(inputs),
            grid=launch.grid,
            threadgroup=launch.group,
            output_shapes=list(launch.shapes),
            output_dtypes=[_DTYPES[dtype] for dtype in launch.dtypes],
        )

    def fuse(self, function: Callable[..., list[mx.array]]) -> Callable[..., list[mx.array]]:
        """`function` of arrays, traced once per shapes: building the calls anew would cost more than a short kernel."""
        return mx.compile(function)
