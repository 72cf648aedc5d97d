"""The exact text that MLX compiles for Metal, type-checked for everything that specs.py can produce."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.kernels import metal_text
from turboquant.kernels import loader, specs
from turboquant.kernels.specs import Kernel

BATCH = 40  # kernels a compiler run: reading MLX's headers takes longer than a kernel


def text(kernel: Kernel) -> str:
    few = dict(kernel.constants).get("SINK") == 1
    return metal_text.mlx_text(kernel, small=["sinks"] if few else [])


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.slow)])
def test_every_text_is_free_of_diagnostics(step: int) -> None:
    """In every run each eleventh: a step that shares no factor with the catalogue's own cycles of bits and switches."""
    kernels = list({kernel.name: kernel for kernel in specs.catalogue("metal")}.values())
    assert len(kernels) > 1500
    kernels = kernels[::step]
    batches = []
    for headers in {kernel.headers for kernel in kernels}:
        texts = [text(kernel) for kernel in kernels if kernel.headers == headers]
        batches += [texts[i : i + BATCH] for i in range(0, len(texts), BATCH)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(metal_text.type_check, batches))
    assert "".join(found) == ""


def test_the_two_targets_know_the_same_kernels_but_for_decode_attention() -> None:
    names = [
        [k.name for k in specs.catalogue(target) if not k.body.startswith("attend")] for target in ("metal", "cuda")
    ]
    assert names[0] == names[1]


def test_a_name_stands_for_one_text() -> None:
    """MLX keeps compiled kernels by name: two texts of one name would take each other's place."""
    seen: dict[str, tuple[str, str]] = {}
    for kernel in specs.catalogue("cuda"):
        both = loader.source(kernel, "cuda"), loader.header(kernel, "cuda")
        assert seen.setdefault(kernel.name, both) == both
        assert kernel.name.replace("_", "").isalnum()


def test_the_body_names_every_buffer_that_it_is_given_and_no_other() -> None:
    for kernel in specs.catalogue("metal"):
        body = loader.source(kernel, "metal")
        for name in (*kernel.inputs, *kernel.outputs):
            assert name in body, (kernel.body, name)
        for absent, _ in kernel.aliases:
            assert f" {absent}[" not in body


ENCODE = specs.encode(specs.Part(128, 4), "float16", 2)
ATTEND = specs.Attend(128, 128, 4, 4, 2, 4, target="metal").kernel()
MERGE = specs.Attend(128, 128, 4, 4, 2, 4, dtype="bfloat16", sinks=1, target="metal").merge()

# What each mistake replaces, in a header or body, and by what. None: it is added to the header.
MISTAKES: dict[str, tuple[Kernel, str | None, str]] = {
    "threadgroup passed as device": (ATTEND, "tq_open(kt)", "tq_open(consts)"),
    "device passed as threadgroup": (ATTEND, "(fk, tk, tk, i", "(sm, tk, tk, i"),
    "float to bfloat without a cast": (MERGE, "OT(x[i * M + b] * consts[uint(AT) + j] * r)", "x[i * M + b] * r"),
    "half to bfloat without a cast": (MERGE, "= OT(x[i * M", "= float16_t(x[i * M"),
    "write to an input": (ENCODE, "threadgroup_barrier", "x[0] = float16_t(1.0f); threadgroup_barrier"),
    "attribute used in the header alone": (ENCODE, None, "inline uint tq_bad() { return thread_index_in_simdgroup; }"),
    "threadgroup array in a helper": (ENCODE, None, "inline void tq_bad() { threadgroup float b[2]; b[0] = 1.0f; }"),
    "pointer without an address space": (ENCODE, None, "inline float tq_bad(float* x) { return x[1]; }"),
    "min of uint and int": (ATTEND, "metal::min(tb + uint(n), nraw - 1u)", "metal::min(tb + uint(n), 1)"),
    "initialised threadgroup array": (ENCODE, "sm_bounds[N];", "sm_bounds[N] = {0.0f};"),
    "array of variable length": (ENCODE, "const uint sg =", "float bad[dims[0]]; const uint sg ="),
    "misspelt builtin": (ATTEND, "simd_any(grow)", "simd_some(grow)"),
    "double": (MERGE, "float sink = 0.0f;", "double sink = 0.0f;"),
    "literal without a suffix": (MERGE, "float sink = 0.0f;", "float sink = 0.0;"),
    "half literal": (MERGE, "float sink = 0.0f;", "float sink = 0.0h;"),
    "std": (ENCODE, "metal::precise::sqrt", "std::sqrt"),
    "function pointer": (ENCODE, None, "inline float tq_bad(float (*f)(float)) { return f(1.0f); }"),
    "name of MLX's own": (ENCODE, None, "template <typename T, typename U> T ceildiv(T a, U b) { return a + b; }"),
    "static local": (MERGE, "float sink = 0.0f;", "static int n = 0; n++; float sink = 0.0f;"),
    "virtual": (ENCODE, None, "struct TqBad { virtual int f() { return 1; } };"),
    "lambda": (MERGE, "float sink = 0.0f;", "auto f = [](float a) { return a; }; float sink = f(0.0f);"),
    "as_type of another size": (ENCODE, "const uint sg =", "const uint bad = as_type<uint>(norms[0]); const uint sg ="),
    "shared pointer": (ENCODE, "const uint sg =", "TQ_SHARED float* bad; const uint sg ="),
    "vector constructor": (ATTEND, "float s[S];", "float4 bad = float4(0.0f, 0.0f, 0.0f, 0.0f); float s[S];"),
    "shadowed variable": (ATTEND, "float s[S];", "uint lane = 0u; float s[S]; s[0] = float(lane);"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_the_check_finds(name: str) -> None:
    kernel, old, new = MISTAKES[name]
    head, body = loader.header(kernel, "metal"), loader.source(kernel, "metal")
    if old is None:
        head += new + "\n"
    else:
        assert old in head or old in body, "the mistake isn't in this text"
        head, body = head.replace(old, new), body.replace(old, new)
    small = ["sinks"] if "sinks" in kernel.inputs else []
    found = metal_text.type_check([metal_text.mlx_text(kernel, body, head, small)])
    assert "error:" in found or "warning:" in found or "lint:" in found


def test_the_check_finds_a_small_input_in_a_helper_of_device_pointers() -> None:
    """MLX passes inputs of fewer than 8 elements in the constant address space; only `sinks` may be so small."""
    assert metal_text.type_check([metal_text.mlx_text(MERGE, small=["sinks"])]) == ""
    assert "error:" in metal_text.type_check([metal_text.mlx_text(ATTEND, small=["tk"])])
