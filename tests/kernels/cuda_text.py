"""The exact text that MLX hands to NVRTC for a kernel, and its compilation by NVRTC as MLX does it. Needs no GPU."""

from __future__ import annotations

import ctypes
import re
import struct
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import files
from pathlib import Path

from tests.kernels.metal_text import output_types
from turboquant.kernels import loader
from turboquant.kernels.specs import Kernel

HERE = Path(__file__).parent
_PRELUDE = '\n#include "mlx/backend/cuda/device/utils.cuh"\n\n#include <cooperative_groups.h>\n\n'
_TYPES = {
    "float32": "float",
    "float16": "__half",
    "bfloat16": "__nv_bfloat16",
    "uint32": "uint32_t",
    "uint16": "uint16_t",
    "int32": "int32_t",
}


def mlx_text(kernel: Kernel, source: str | None = None, header: str | None = None) -> str:
    """The wrapper of mx.fast.cuda_kernel (MLX 0.32) around `kernel`."""
    inputs = zip(kernel.inputs, kernel.types, strict=True)
    outputs = zip(kernel.outputs, output_types(kernel), strict=True)
    parameters = [f"    const {_TYPES[dtype]}* {name}" for name, dtype in inputs]
    parameters += [f"    {_TYPES[dtype]}* {name}" for name, dtype in outputs]
    text = loader.source(kernel, "cuda") if source is None else source
    return (
        _PRELUDE
        + (loader.header(kernel, "cuda") if header is None else header)
        + "namespace mlx::core::cu {\n\nnamespace cg = cooperative_groups;\n\n"
        + f"__global__ void custom_kernel_{kernel.name}(\n"
        + ",\n".join(parameters)
        + ") {\n\n"
        + text
        + "\n}\n\n} // namespace mlx::core::cu\n"
    )


@dataclass(frozen=True)
class Compiled:
    log: str
    registers: int
    local_bytes: int  # a thread's memory for spilled registers and indexed arrays


@lru_cache(maxsize=1)
def _nvrtc() -> tuple[ctypes.CDLL, str]:
    """The library and the folder of CUDA's headers, from the wheels nvidia-cuda-nvrtc and nvidia-cuda-runtime."""
    places = {}
    for package, pattern in (
        ("nvidia-cuda-nvrtc", r"libnvrtc-builtins\.so[.\d]*$"),
        ("nvidia-cuda-nvrtc", r"libnvrtc\.so[.\d]*$"),
        ("nvidia-cuda-runtime", r"cuda_fp16\.h$"),
    ):
        found = next((f for f in files(package) or () if re.search(pattern, f.name)), None)
        assert found, f"{package} lacks {pattern}: pip install nvidia-cuda-nvrtc nvidia-cuda-runtime"
        places[pattern] = str(found.locate())
    builtins, library, header = places.values()
    ctypes.CDLL(builtins, mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(library), str(Path(header).parent)


def compile_text(text: str, name: str, architecture: str) -> Compiled:
    """Raises AssertionError with the log where NVRTC refuses the text."""
    nvrtc, include = _nvrtc()
    options = [
        "--device-as-default-execution-space",
        f"--gpu-architecture={architecture}",
        f"--include-path={HERE / 'shims/nvrtc'}",
        f"--include-path={include}",
    ]
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None) == 0
    try:
        assert nvrtc.nvrtcAddNameExpression(program, f"mlx::core::cu::custom_kernel_{name}".encode()) == 0
        encoded = [option.encode() for option in options]
        code = nvrtc.nvrtcCompileProgram(program, len(encoded), (ctypes.c_char_p * len(encoded))(*encoded))
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value + 1)
        nvrtc.nvrtcGetProgramLog(program, log)
        assert code == 0, f"{architecture}: {log.value.decode()}"
        nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
        cubin = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetCUBIN(program, cubin)
        return Compiled(log.value.decode().strip(), *_resources(cubin.raw))
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _resources(cubin: bytes) -> tuple[int, int]:
    """Registers and local memory of a cubin's one kernel: attributes 0x2f and 0x11 of its section .nv.info."""
    table, (entry, count, names_index) = struct.unpack_from("<Q", cubin, 40)[0], struct.unpack_from("<HHH", cubin, 58)
    sections = [struct.unpack_from("<IIQQQQ", cubin, table + i * entry) for i in range(count)]
    found = {0x2F: 0, 0x11: 0}
    for name, _, _, _, offset, length in sections:
        start = sections[names_index][4] + name
        if cubin[start : cubin.index(b"\0", start)] != b".nv.info":
            continue
        at = offset
        while at < offset + length:  # records: format, attribute, size; of format 4 a payload follows: symbol, value
            form, attribute, size = struct.unpack_from("<BBH", cubin, at)
            if form == 4 and attribute in found:
                found[attribute] = max(found[attribute], struct.unpack_from("<I", cubin, at + 8)[0])
            at += 4 + size if form == 4 else 4
    return found[0x2F], found[0x11]
