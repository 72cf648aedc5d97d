"""Builds the emulated kernels of the selected tests beforehand, on all cores: compiling is most of their time."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.kernels import emulator
from turboquant.kernels import constants, specs
from turboquant.kernels.specs import Kernel, Target


def _kernels(value: Any, target: Target) -> list[Kernel]:
    from tests.kernels.running import Attend, Dequantise, Encode

    if isinstance(value, Attend):
        spec = value.spec(target)
        return [spec.kernel()] if value.single else [spec.kernel(), spec.merge()]
    if isinstance(value, Encode):
        return [specs.encode(constants.part(value.codec()), value.dtype, value.calibration)]
    if isinstance(value, Dequantise):
        part = specs.Part(value.dim, value.bits)
        return [specs.dequantise(part, value.dtype, "float16" if value.raw else None, value.calibration)]
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], Encode):
        parts = [constants.part(one.codec()) for one in value]
        return [specs.encode_pair(parts[0], parts[1], value[0].dtype, value[0].calibration)]
    return []


@pytest.fixture(scope="session", autouse=True)
def _built(request: pytest.FixtureRequest) -> None:
    texts: dict[str, Target] = {}
    for item in request.session.items:
        given = getattr(getattr(item, "callspec", None), "params", {})
        target = given.get("target")
        if target:
            for value in given.values():
                texts |= {emulator.text_of(kernel, target): target for kernel in _kernels(value, target)}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(emulator.build, texts, texts.values()))
