"""Compile the CPU backend's loops into shared libraries, one for each generation of processors.

A bundle carries these (0.2 MB each) in place of numba and LLVM (175 MB), and nobody waits for a compiler at the first
reply. `python packaging/linux/cpu_kernels.py FOLDER`; needs a C compiler: what CC says, or one that is found.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# LLVM's names, and what the loops ask for by name; the first that a processor has is taken (prebuilt.py).
_V3 = "+cx16,+sahf,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2,+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave"
LEVELS = {
    "x86-64-v4": f"{_V3},+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl",
    "x86-64-v3": _V3,
    "x86-64-v2": "+cx16,+sahf,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2",
}
# As cpu_runtime.c reads them: type and dimensions of arrays, i, b, F single numbers, ( ) a tuple.
_STRETCH = "(H3I3H2f1ib)"
ARGUMENTS = {
    "attend": f"f3l2f2f3f3l1f3{_STRETCH * 6}f2f1bl2l1Ff2f3f3f4f4f4f3",
    "dequantise": "I2H1f1ibf2",
    "encode": "f3l2f2f2f3f2f2l1f1l1bB3f3",
}


def build(folder: Path) -> list[Path]:
    """A library for every level, in `folder`. Raises CalledProcessError."""
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(2) as pool:  # each waits for processes of its own, which take half a gigabyte
        return list(pool.map(lambda level: _library(folder, level), LEVELS))


def _library(folder: Path, level: str) -> Path:
    """Compiled in a process of its own: numba reads the processor that it compiles for once."""
    target = folder / f"{level}.so"
    with tempfile.TemporaryDirectory() as work:
        environment = {
            **os.environ,
            "NUMBA_CPU_NAME": level,
            "NUMBA_CPU_FEATURES": LEVELS[level],
            "PYTHONPATH": str(ROOT),
        }
        subprocess.run([sys.executable, __file__, "--objects", level, work], env=environment, check=True)
        command = [compiler(), "-shared", "-fPIC", "-O2", "-s", "-pthread", f"-I{work}"]
        objects = [str(path) for path in sorted(Path(work).glob("*.o"))]
        command += ["-Wl,-z,noexecstack", "-o", str(target), str(HERE / "cpu_runtime.c"), *objects, "-lm"]
        subprocess.run(command, check=True)
    return target


def compiler() -> str:
    """The C compiler's name. Raises FileNotFoundError where there is none."""
    found = os.environ.get("CC") or next(filter(None, map(shutil.which, ("cc", "gcc", "clang", "clang-19"))), None)
    if found is None:
        raise FileNotFoundError("a C compiler: install gcc or clang, or name one in CC")
    return found


def _objects(level: str, folder: Path) -> None:
    """The loops as object files, and `entries.h`, which says how they are called."""
    import llvmlite.binding as llvm
    import numba

    import turboquant.backends.cpu_kernels.attention as attention
    import turboquant.backends.cpu_kernels.codec as codec
    from turboquant.backends.cpu_kernels import compiling

    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=level, features=LEVELS[level], opt=3, reloc="pic", codemodel="default"
    )
    options = compiling.OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    loops: dict[str, Any] = {"attend": attention.attend, "dequantise": codec.dequantise, "encode": codec.encode}
    header, entries = [], []
    for name, arguments in ARGUMENTS.items():
        loop = numba.njit(parallel=compiling.ONLY_PRANGE, **options)(loops[name].__wrapped__)
        compiled = loop._compiler.compile(tuple(_types(iter(arguments))), None)
        text = compiled.library.get_llvm_str()
        for theirs, ours in (
            ("PyEval_SaveThread", "loop_save_thread"),
            ("PyEval_RestoreThread", "loop_restore_thread"),
        ):
            text = text.replace(f"@{theirs}(", f"@{ours}(")
        module = llvm.parse_assembly(text)
        (folder / f"{name}.o").write_bytes(machine.emit_object(module))
        words = [word for kind in _flat(arguments) for word in kind]
        parameters = ", ".join(["void **", "void **", *("float" if word == "F" else "int64_t" for word in words)])
        values = ", ".join(f"*(float *)(w + {n})" if word == "F" else f"w[{n}]" for n, word in enumerate(words))
        symbol = compiled.fndesc.llvm_func_name
        header.append(f'extern int {name}({parameters}) __asm__("{symbol}");')
        header.append(f"static int run_{name}(const int64_t *w) {{ void *result, *error; ")
        header.append(f"return {name}(&result, &error, {values}); }}")
        entries.append(f'{{"{name}", "{arguments}", run_{name}}}')
    header.append(f"static const Entry entries[] = {{{', '.join(entries)}}};")
    (folder / "entries.h").write_text("\n".join(header) + "\n")


def _types(kinds: Iterator[str]) -> Iterator[Any]:
    """numba's types of what ARGUMENTS says."""
    from numba import types

    single = {"i": types.int64, "b": types.boolean, "F": types.float32}
    element = {"f": types.float32, "l": types.int64, "H": types.uint16, "I": types.uint32, "B": types.uint8}
    for kind in kinds:
        if kind == ")":
            return
        if kind == "(":
            yield types.Tuple(list(_types(kinds)))
        elif kind in single:
            yield single[kind]
        else:
            yield types.Array(element[kind], int(next(kinds)), "C")


def _flat(arguments: str) -> list[str]:
    """The machine words of each argument, one letter each."""
    kinds = iter(arguments.replace("(", "").replace(")", ""))
    return [kind if kind in "ibF" else "i" * (5 + 2 * int(next(kinds))) for kind in kinds]


if __name__ == "__main__":
    if sys.argv[1] == "--objects":
        _objects(sys.argv[2], Path(sys.argv[3]))
    else:
        for library in build(Path(sys.argv[1])):
            print(library, library.stat().st_size)
