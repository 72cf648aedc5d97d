"""The exact text that MLX compiles for CUDA, compiled by NVRTC for Ampere and Hopper, without a GPU."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.kernels import cuda_text
from tests.kernels.cuda_text import Compiled
from turboquant.kernels import specs
from turboquant.kernels.specs import Kernel

ARCHITECTURES = ("sm_80", "sm_90a")
REGISTERS = 65536  # of a core


def sample(step: int = 23) -> Iterator[tuple[Kernel, str]]:
    """Every body in every head dim, for the architectures by turns; a step that shares no factor with the catalogue's
    own cycles of bits, types and switches."""
    kernels = list({kernel.name: kernel for kernel in specs.catalogue("cuda")}.values())
    for number, kernel in enumerate(kernels[::step]):
        yield kernel, ARCHITECTURES[number % 2]


def common(key_bits: int, value_bits: int, dim: int = 128, **switches: object) -> specs.Attend:
    calibration = 2 if key_bits else 0
    spec = specs.Attend(dim, dim, key_bits, value_bits, 8, 4, 1, "bfloat16", "bfloat16", calibration)
    return replace(spec, **switches)  # type: ignore[arg-type]


def compiled(kernel: Kernel, architecture: str) -> Compiled:
    return cuda_text.compile_text(cuda_text.mlx_text(kernel), kernel.name, architecture)


@pytest.mark.parametrize("step", [131, pytest.param(23, marks=pytest.mark.slow)])
def test_texts_compile_silently_and_groups_can_be_launched(step: int) -> None:
    chosen = list(sample(step))
    assert {kernel.body for kernel, _ in chosen} == {"encode", "encode_pair", "dequantise", "rotate", "attend"}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda pair: compiled(*pair), chosen))
    for (kernel, architecture), result in zip(chosen, results, strict=True):
        assert not result.log, (kernel.name, architecture, result.log)
        assert 0 < result.registers * max(kernel.threads, 256) <= REGISTERS, (kernel.name, result)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(("key_bits", "value_bits"), [(4, 4), (3, 3), (2, 2), (8, 8), (0, 4)])
def test_two_groups_of_the_common_layer_share_a_core(key_bits: int, value_bits: int, architecture: str) -> None:
    kernel = common(key_bits, value_bits).kernel()
    result = compiled(kernel, architecture)
    assert 2 * kernel.threads * result.registers <= REGISTERS
    assert result.local_bytes <= 96  # a few registers saved outside the loop, no arrays


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_one_dispatch_of_a_short_cache_fits_a_core(architecture: str) -> None:
    kernel = common(4, 4, single=True).kernel()
    result = compiled(kernel, architecture)
    assert kernel.threads * result.registers <= REGISTERS
    assert result.local_bytes <= 64


def test_the_compiler_finds_a_mistake() -> None:
    kernel = common(4, 4).kernel()
    text = cuda_text.mlx_text(kernel).replace("simd_any(grow)", "simd_some(grow)")
    with pytest.raises(AssertionError, match="simd_some"):
        cuda_text.compile_text(text, kernel.name, "sm_90a")


def test_the_cuda_text_has_no_trace_of_metal() -> None:
    for kernel, _ in sample():
        words = cuda_text.mlx_text(kernel).replace("(", " ").replace("*", " ").split()
        assert not {"device", "threadgroup", "constant", "thread", "[[kernel]]"} & set(words), kernel.name
