"""Runs a kernel's Metal or CUDA text on the CPU: each thread is a fiber, barriers and simd operations are rendezvous.

Found on the way: data races (from the compiler's own instrumentation, with barriers as the only order), divergent
barriers and simd operations, access outside a buffer or an array, undefined shifts and overflow, outputs never written,
and results that depend on the schedule.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.kernels import cuda_text, metal_text
from turboquant.kernels.specs import SHARED_BYTES, Kernel, Launch, Target

HERE = Path(__file__).parent
CLANGXX = "clang++-19"
SCHEDULES = (0, 1)  # forward, reverse
RANDOM = 2
_CACHE = Path(tempfile.gettempdir()) / "turboquant-emulator"
_TRAPS = "shift,bounds,integer-divide-by-zero,float-cast-overflow,alignment,signed-integer-overflow"
_FLAGS = [
    *("-std=c++17", "-O1", "-g1", "-fPIC", "-shared", "-nostdlib++", "-ffp-contract=off", "-fno-strict-aliasing"),
    *("-Wno-unknown-attributes", "-DTQ_RACE", f"-fsanitize=thread,{_TRAPS}", f"-fsanitize-trap={_TRAPS}"),
    *("-fno-sanitize-link-runtime", "-I", str(HERE / "shims/run"), "-I", str(HERE / "shims/run_cuda")),
]
_ATTRIBUTES = {
    "thread_position_in_threadgroup": "pos_tg",
    "threadgroup_position_in_grid": "tg_pos",
    "threadgroups_per_grid": "tg_per_grid",
    "thread_index_in_simdgroup": "lane",
    "simdgroup_index_in_threadgroup": "sg",
}
_NUMPY = {
    **{"float32": np.float32, "float16": np.float16, "bfloat16": np.uint16},
    **{"uint32": np.uint32, "uint16": np.uint16, "int32": np.int32},
}


class EmulatorError(AssertionError):
    """The kernel broke a rule of the machine; the message says which and where."""


class Guarded:
    """An array whose end touches an unmapped page, and whose first page follows one."""

    def __init__(self, shape: Sequence[int], dtype: Any) -> None:
        size = max(int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize, 1)
        self.body = -(-size // _PAGE) * _PAGE
        self.length = self.body + 2 * _PAGE
        self.base = _libc().mmap(None, self.length, 3, 0x22, -1, 0)
        _libc().mprotect(self.base, _PAGE, 0)
        _libc().mprotect(self.base + _PAGE + self.body, _PAGE, 0)
        self.start = self.base + _PAGE
        self.pointer = self.start + (self.body - size) // 16 * 16  # aligned as MLX aligns; slack under 16 bytes
        memory = (ctypes.c_char * size).from_address(self.pointer)
        count = int(np.prod(shape, dtype=np.int64))
        self.array: NDArray[Any] = np.frombuffer(memory, dtype=dtype, count=count).reshape(shape)

    def read_only(self) -> None:
        _libc().mprotect(self.start, self.body, 1)

    def free(self) -> None:
        _libc().munmap(self.base, self.length)


_PAGE = 4096


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return libc


@lru_cache(maxsize=1)
def _stacks() -> int:
    """The fibers' stacks with guard pages, one set for all kernels: a set each would use up the kernel's map count."""
    size = 64 * 1024 + _PAGE
    base = int(_libc().mmap(None, 1024 * size, 3, 0x4022, -1, 0))
    for i in range(1024):
        _libc().mprotect(base + i * size, _PAGE, 0)
    return base


def _metal_program(text: str) -> tuple[str, int]:
    parsed = metal_text.parse(text)
    arguments = []
    for p in parsed.parameters:
        if p.attribute == "buffer":
            plain = re.sub(r"\b(device|constant)\b", "", p.type)
            arguments.append(f"({plain})emu::buffers[{p.index}]")
        else:
            field = _ATTRIBUTES[p.attribute]
            arguments.append(f"uint3{{a.{field}.x, a.{field}.y, a.{field}.z}}" if p.type == "uint3" else f"a.{field}")
    shared = 'static __attribute__((section("tqshm")))'
    head = re.sub(r"#define TQ_(SHARED|TABLE) threadgroup\b", rf"#define TQ_\1 {shared}", parsed.header)
    signature = ",\n".join(f"  {p.type} {p.name}" for p in parsed.parameters)
    program = (
        f"#include <metal_stdlib>\n{head}\nstatic void {parsed.name}(\n{signature}) {{\n"
        f'#line 1 "kernel_body"\n{parsed.body}\n' + _driver(f"{parsed.name}({', '.join(arguments)});")
    )
    return program, sum(p.attribute == "buffer" for p in parsed.parameters)


def _cuda_program(text: str) -> tuple[str, int]:
    text = re.sub(r"#undef __global__\n#define __global__ .*\n", "", text)  # the register bound
    match = re.search(r"__global__ void (\w+)\(\n(.*?)\) \{\n", text, re.S)
    assert match
    types = [part.rsplit(None, 1)[0] for part in metal_text.split_parameters(match[2])]
    call = ", ".join(f"({kind})emu::buffers[{i}]" for i, kind in enumerate(types))
    body = text[: match.end()] + '#line 1 "kernel_body"\n' + text[match.end() :]
    return body + _driver(f"mlx::core::cu::{match[1]}({call});"), len(types)


def _driver(call: str) -> str:
    return (HERE / "shims/run/driver.h").read_text().replace("CALL", call)


@lru_cache(maxsize=1)
def _runtime_hash() -> str:
    files = sorted(p for folder in ("run", "run_cuda") for p in (HERE / "shims" / folder).rglob("*") if p.is_file())
    return hashlib.sha256(b"".join(p.read_bytes() for p in files)).hexdigest()


def text_of(kernel: Kernel, target: Target, source: str | None = None, header: str | None = None) -> str:
    """The text that MLX makes of `kernel` (or of a changed source or header)."""
    if target == "metal":
        return metal_text.mlx_text(kernel, source, header)
    return cuda_text.mlx_text(kernel, source, header)


def build(text: str, target: Target) -> Path:
    """Compile a text, once for each text and runtime. Safe to call from several threads and processes."""
    program, _ = (_metal_program if target == "metal" else _cuda_program)(text)
    key = hashlib.sha256(f"{program}{_runtime_hash()}{_FLAGS}{CLANGXX}".encode()).hexdigest()[:24]
    library = _CACHE / f"{key}.so"
    if not library.exists():
        _CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_CACHE) as folder:
            file = Path(folder) / "kernel.cpp"
            file.write_text(program)
            made = Path(folder) / "kernel.so"
            command = [CLANGXX, *_FLAGS, str(file), "-o", str(made)]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            if run.returncode:
                raise EmulatorError(f"The emulator's compiler refused the text:\n{run.stderr[:4000]}")
            os.replace(made, library)
    return library


def run(
    kernel: Kernel,
    launch: Launch,
    inputs: Sequence[NDArray[Any]],
    target: Target,
    schedules: Sequence[int] = SCHEDULES,
    source: str | None = None,
    header: str | None = None,
) -> list[NDArray[Any]]:
    """The outputs. bfloat16 arrays are given and returned as their bits, uint16. Raises EmulatorError."""
    path = build(text_of(kernel, target, source, header), target)
    library = ctypes.CDLL(str(path))
    library.tq_run.restype = ctypes.c_char_p
    library.tq_shared_bytes.restype = ctypes.c_long
    if library.tq_shared_bytes() > SHARED_BYTES[target]:
        raise EmulatorError(f"threadgroup memory: {library.tq_shared_bytes()} > {SHARED_BYTES[target]} bytes")
    given = []
    for array, dtype, name in zip(inputs, kernel.types, kernel.inputs, strict=True):
        assert array.dtype == _NUMPY[dtype], (name, array.dtype, dtype)
        guarded = Guarded(array.shape, array.dtype)
        guarded.array[...] = array
        if name not in kernel.kept:
            guarded.read_only()
        given.append(guarded)
    reference: list[NDArray[Any]] | None = None
    for number, schedule in enumerate(schedules):
        made = [Guarded(shape, _NUMPY[dtype]) for shape, dtype in zip(launch.shapes, launch.dtypes, strict=True)]
        for guarded in made:
            ctypes.memset(guarded.start, 0xA5 if number % 2 == 0 else 0x5A, guarded.body)
        count = len(made)
        error = library.tq_run(
            (ctypes.c_void_p * (len(given) + count))(*[g.pointer for g in (*given, *made)]),
            (ctypes.c_uint * 3)(*launch.grid),
            (ctypes.c_uint * 3)(*launch.group),
            schedule,
            12345 + schedule,
            count,
            (ctypes.c_void_p * count)(*[g.pointer for g in made]),
            (ctypes.c_void_p * count)(*[g.pointer + g.array.nbytes for g in made]),
            ctypes.c_void_p(_stacks()),
        )
        outputs = [g.array.copy() for g in made]
        for guarded in made:
            guarded.free()
        if error:
            raise EmulatorError(_located(error.decode(), path))
        for guarded, array, name in zip(given, inputs, kernel.inputs, strict=True):
            if guarded.array.tobytes() != array.tobytes():
                raise EmulatorError(f"input {name} isn't left as it was")
        reference = reference or outputs
        for i, (first, second) in enumerate(zip(reference, outputs, strict=True)):
            if first.tobytes() != second.tobytes():
                raise EmulatorError(f"output {i} depends on the schedule ({schedule}): a race, or never written")
    for guarded in given:
        guarded.free()
    assert reference is not None
    return reference


def _located(message: str, path: Path) -> str:
    """'code 0x...' as a line of the kernel's body."""
    match = re.search(r"code (0x[0-9a-f]+)", message)
    if not match:
        return message
    address = int(match[1], 16)
    spans = [line.split() for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith(path.name)]
    lowest = min((int(span[0].split("-")[0], 16) for span in spans), default=0)
    if not any(int(a, 16) <= address < int(b, 16) for a, b in (span[0].split("-") for span in spans)):
        return message
    command = ["addr2line", "-i", "-e", str(path), hex(address - lowest - 1)]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    place = next((line.split("/")[-1] for line in lines if "kernel_body" in line), "")
    return f"{message} at {place}" if place else message
