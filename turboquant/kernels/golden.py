"""Results that float64 NumPy found once (golden.npz), for kernels to be compared with on a machine with a GPU.

tests/kernels/golden_vectors.py makes the file. It holds the kernels' buffers, so that a difference is a kernel's own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from turboquant.kernels import specs
from turboquant.kernels.specs import Kernel, Launch, Target

FILE = Path(__file__).with_name("golden.npz")
VERSION = 2

Arrays = Mapping[str, NDArray[Any]]
Runs = Callable[[Kernel, Launch, Sequence[mx.array]], list[mx.array]]


@dataclass(frozen=True)
class Golden:
    """`error`: share of differing words or norms of an encoding, else largest difference over largest result."""

    name: str
    error: float
    limit: float

    @property
    def ok(self) -> bool:
        return self.error <= self.limit


def checks(runs: Runs, target: Target, step: int = 1) -> Iterator[Golden]:
    """Each `step`-th case, run by `runs` (a loader.Launcher). Raises ValueError for a file of another version."""
    with np.load(FILE, allow_pickle=False) as file:
        head = json.loads(str(file["cases"]))
        if head["version"] != VERSION:
            raise ValueError(f"{FILE.name} has version {head['version']}; this program reads version {VERSION}.")
        for number, case in list(enumerate(head["cases"]))[::step]:
            prefix = f"{number}."
            arrays = {name.removeprefix(prefix): file[name] for name in file.files if name.startswith(prefix)}
            check = _encode if case["kind"] == "encode" else _attend
            yield check(case, arrays, runs, target)


def _encode(case: dict[str, Any], arrays: Arrays, runs: Runs, target: Target) -> Golden:
    part = specs.Part(**case["part"])
    kernel = specs.encode(part, "float16", case["calibration"])
    words, norms = _run(runs, kernel, specs.encode_launch(part, len(arrays["x"])), arrays)
    differing = float((words != arrays["want.words"]).mean())
    # sqrt and division may round differently in half's last place
    slack = 0.0 if part.split else 2e-3 * arrays["want.norms"]
    off = float((np.abs(norms.astype(np.float64) - arrays["want.norms"]) > slack).mean())
    return Golden(case["name"], max(differing, off), 0.0)


def _attend(case: dict[str, Any], arrays: Arrays, runs: Runs, target: Target) -> Golden:
    spec = specs.Attend(**case["spec"], target=target)
    given = {**arrays, "tickets": np.zeros(spec.tickets(1), np.int32)}
    out = _run(runs, spec.kernel(), spec.launch(1, int(arrays["dims"][6])), given)[0]
    if not (spec.single or spec.joined):
        (out,) = _run(runs, spec.merge(), spec.merge_launch(1), {**arrays, "part": out})
    want = arrays["want"].reshape(out.shape)
    return Golden(case["name"], float(np.abs(out - want).max() / np.abs(want).max()), 1e-3)


def _run(runs: Runs, kernel: Kernel, launch: Launch, arrays: Arrays) -> list[NDArray[Any]]:
    return [np.array(out) for out in runs(kernel, launch, [mx.array(arrays[name]) for name in kernel.inputs])]
