"""The exact text that MLX would hand to Apple's compiler, and a type check of it by clang's C++-for-OpenCL mode.

OpenCL C++ has Metal's address spaces, vectors and restrictions (no recursion, no virtual functions, no implicit casts
between spaces). What it lacks is declared in shims/check, and what it allows beyond Metal is found by `lint`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import mlx.core as mx

from turboquant.kernels import loader
from turboquant.kernels.specs import MIN_ELEMENTS, Kernel

HERE = Path(__file__).parent
CLANG = "clang-19"
_FLAGS = [
    *("-target", "x86_64-linux-gnu", "-x", "clcpp", "-cl-std=clc++2021", "-cl-no-stdinc", "-fsyntax-only"),
    *("-Xclang", "-cl-ext=+cl_khr_fp16,-__opencl_c_generic_address_space,-__opencl_c_pipes,-__opencl_c_device_enqueue"),
    *("-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wno-sign-conversion", "-Wno-implicit-int-conversion"),
    *("-Wno-unused-parameter", "-Wno-unused-function", "-Wno-unused-variable", "-Wno-unused-local-typedef"),
    *("-Wno-unused-but-set-variable", "-Wno-c++20-extensions"),
]
_SIGNATURE = re.compile(r"(?:template <([^>]*)>\n)?\[\[kernel\]\] void (\w+)\(\n(.*?)\) \{\n", re.S)


@dataclass(frozen=True)
class Parameter:
    type: str
    name: str
    attribute: str  # "buffer", or a thread attribute
    index: int  # of a buffer


@dataclass(frozen=True)
class Text:
    """A kernel's text, taken apart."""

    header: str
    name: str
    parameters: tuple[Parameter, ...]
    body: str


def mlx_text(kernel: Kernel, source: str | None = None, header: str | None = None, small: Sequence[str] = ()) -> str:
    """What the installed MLX makes of `kernel`: printed while a call of it is traced, which needs no GPU.

    `small` names inputs of fewer than MIN_ELEMENTS elements, which MLX passes in the constant address space.
    """
    call = mx.fast.metal_kernel(
        name=kernel.name,
        input_names=list(kernel.inputs),
        output_names=list(kernel.outputs),
        source=loader.source(kernel, "metal") if source is None else source,
        header=loader.header(kernel, "metal") if header is None else header,
    )
    arrays = [
        mx.zeros((MIN_ELEMENTS - 1 if name in small else MIN_ELEMENTS,), getattr(mx, dtype))
        for name, dtype in zip(kernel.inputs, kernel.types, strict=True)
    ]
    types = output_types(kernel)

    def traced(*inputs: mx.array) -> list[mx.array]:
        return call(
            inputs=list(inputs),
            grid=(32, 1, 1),
            threadgroup=(32, 1, 1),
            output_shapes=[(MIN_ELEMENTS,)] * len(types),
            output_dtypes=[getattr(mx, dtype) for dtype in types],
            verbose=True,
            stream=mx.gpu,
        )

    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "printed").open("w+b") as printed:
        sys.stdout.flush()
        saved = os.dup(1)
        os.dup2(printed.fileno(), 1)  # MLX prints from C++
        try:
            mx.export_function(str(Path(folder) / "kernel.mlxfn"), traced, *arrays)
        finally:
            os.dup2(saved, 1)
            os.close(saved)
        printed.seek(0)
        text = printed.read().decode()
    found = re.search(r"^```\n(.*?)^```$", text, re.S | re.M)
    assert found, text
    return found[1]


def output_types(kernel: Kernel) -> list[str]:
    """Element types of the outputs, by their names."""
    constants = dict(kernel.constants)
    kinds = {"words": "uint32", "norms": "float16", "part": str(constants.get("PT", "float32"))}
    kinds |= dict.fromkeys(("sk", "sv"), str(constants.get("RT")))
    split = {"norms": "SPLIT", "knorms": "KSPLIT"}
    return [
        "uint16"
        if constants.get(split.get(name, ""))
        else kinds.get(name.lstrip("kv"), str(constants.get("OT", "float32")))
        for name in kernel.outputs
    ]


def split_parameters(signature: str) -> list[str]:
    """At the commas outside brackets."""
    found, depth, current = [], 0, ""
    for character in signature:
        depth += (character in "([<") - (character in ")]>")
        if character == "," and depth == 0:
            found.append(current)
            current = ""
        else:
            current += character
    return [part.strip() for part in (*found, current) if part.strip()]


def parse(text: str) -> Text:
    match = _SIGNATURE.search(text)
    assert match, text[:2000]
    assert not match[1], "constants belong in the text: a template argument is another one"
    parameters = []
    for part in split_parameters(match[3]):
        found = re.match(r"(.*?)\s*(\w+)\s*\[\[(\w+)(?:\((\d+)\))?\]\]$", part, re.S)
        assert found, part
        parameters.append(Parameter(found[1], found[2], found[3], int(found[4] or -1)))
    end = text.rfind("\ntemplate [[host_name")
    return Text(text[: match.start()], match[2], tuple(parameters), text[match.end() : end if end > 0 else None])


def type_check(texts: Sequence[str]) -> str:
    """Every diagnostic for these kernels' texts (of one header), "" where there is none."""
    parsed = [parse(text) for text in texts]
    assert len({part.header for part in parsed}) == 1
    unit = ['#include "mlx/backend/metal/kernels/utils.h"', parsed[0].header]
    for part in parsed:
        signature = ",\n".join(f"  {p.type} {p.name}" for p in part.parameters)
        unit.append(f'__kernel void {part.name}(\n{signature}) {{\n#line 1 "{part.name}"\n{part.body}')
    with tempfile.TemporaryDirectory() as folder:
        patched = Path(folder) / "mlx/backend/metal/kernels/utils.h"
        patched.parent.mkdir(parents=True)
        patched.write_text(_mlx_utils())
        file = Path(folder) / "kernels.clcpp"
        file.write_text("\n".join(unit))
        include = ["-isystem", str(HERE / "shims/check"), "-I", folder, "-isystem", str(_mlx_include())]
        run = subprocess.run([CLANG, *_FLAGS, *include, str(file)], capture_output=True, text=True, check=False)
    failed = "" if run.returncode == 0 or run.stderr else f"clang ended with {run.returncode}"
    return run.stderr + failed + "\n".join(filter(None, map(lint, texts)))


def _mlx_include() -> Path:
    return Path(mx.__file__).parent / "include"


@lru_cache(maxsize=1)
def _mlx_utils() -> str:
    """MLX's utils.h, with one edit, so that complex numbers can be an aggregate."""
    text = (_mlx_include() / "mlx/backend/metal/kernels/utils.h").read_text()
    return "#pragma clang system_header\n" + re.sub(r"return complex64_t\(", "return tq_mk_complex(", text)


_POINTER = re.compile(
    r"(?<![\w>])(?:const\s+)?(float|half|bfloat|uint|int|uchar|ushort|short|char|ulong|long|bool|float[234]|uint[234]"
    r"|half[234]|uint(?:8|16|32|64)_t|int(?:8|16|32|64)_t)\s*[*&]\s*\w"
)
_SPACE = re.compile(r"\b(device|constant|threadgroup|thread)\b")
_RULES = {
    r"\bdouble\b": "no double in Metal",
    r"\[[&=\w, ]*\]\s*\([^)]*\)\s*(mutable\s*)?(->[^{]*)?\{": "no lambdas before Metal 4",
    r"\bstatic\b(?!_)(?!.*\bconstexpr\b)": "static variable",
    r"(?<![\w.])\d+\.\d*(?:e[+-]?\d+)?(?![\w.])": "unsuffixed floating literal",
    r"\d\.\d*h\b": "a half literal is Metal's alone",
    r"TQ_SHARED\s[^;\[]*\*": "TQ_SHARED on a pointer would share the pointer itself on CUDA",
    r"\bstd::": "no std:: in Metal",
    r"\b(float|half|int|uint)[234]\s*\([^()]*,": "a vector constructor with several arguments isn't portable",
}


def lint(text: str) -> str:
    """Rules that OpenCL's front end doesn't enforce, one finding a line."""
    found = []
    for number, line in enumerate(re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S).splitlines(), 1):
        for match in _POINTER.finditer(line):
            before = line[: match.start()]
            spaced = _SPACE.search(match[0]) or re.search(_SPACE.pattern + r"\s*(const\s*)?$", before)
            if not spaced and re.search(r"[(,;{]\s*$|^\s*$", before):
                found.append(f"lint:{number}: pointer or reference without an address space: {line.strip()}")
        broken = [rule for pattern, rule in _RULES.items() if re.search(pattern, line)]
        found += [f"lint:{number}: {rule}: {line.strip()}" for rule in broken]
    return "\n".join(found)
