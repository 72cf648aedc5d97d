"""The golden vectors that ship with the library: as float64 NumPy finds them, and as the kernels find them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest

from tests.kernels import golden_vectors
from tests.kernels.emulated import EmulatedLauncher
from turboquant.kernels import golden
from turboquant.kernels.specs import Kernel, Launch, Target


def test_the_file_holds_what_float64_numpy_finds() -> None:
    made = golden_vectors.content()
    with np.load(golden.FILE, allow_pickle=False) as stored:
        assert set(stored.files) == set(made)
        assert json.loads(str(stored["cases"])) == json.loads(str(made["cases"]))
        for name in stored.files:
            if name == "cases":
                continue
            if stored[name].dtype.kind == "f":
                np.testing.assert_allclose(stored[name], made[name], rtol=1e-6, atol=1e-6, equal_nan=True)
            else:
                np.testing.assert_array_equal(stored[name], made[name])


@pytest.mark.parametrize("target", ["metal", pytest.param("cuda", marks=pytest.mark.slow)])
def test_the_kernels_find_the_same(target: Target) -> None:
    found = list(golden.checks(EmulatedLauncher(target), target))
    assert len(found) == len(golden_vectors.ENCODE) + len(golden_vectors.ATTEND)
    assert [check.name for check in found if not check.ok] == []


class Wrong(EmulatedLauncher):
    """The last step's result is a little off, as on a machine that computes something else."""

    def __call__(self, kernel: Kernel, launch: Launch, inputs: Sequence[mx.array]) -> list[mx.array]:
        first, *rest = super().__call__(kernel, launch, inputs)
        if first.dtype == mx.uint32:
            return [mx.where(mx.arange(first.shape[-1]) == 1, first ^ 16, first), *rest]
        return [first * 1.01, *rest] if kernel.outputs[0] == "out" else [first, *rest]


def test_a_difference_is_noticed() -> None:
    found = list(golden.checks(Wrong("metal"), "metal"))
    assert [check.name for check in found if check.ok] == []


def test_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "golden.npz"
    np.savez(file, cases=np.array(json.dumps({"version": golden.VERSION + 1, "cases": []})))
    monkeypatch.setattr(golden, "FILE", file)
    with pytest.raises(ValueError, match=r"version \d"):
        list(golden.checks(EmulatedLauncher("metal"), "metal"))
