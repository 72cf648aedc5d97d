"""Which backend is chosen, and what a machine that can't serve the wish says."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import mlx.core as mx
import pytest

from turboquant.backends import base
from turboquant.errors import TurboQuantError

CPU_ONLY = pytest.mark.skipif(mx.default_device() != mx.cpu, reason="what a machine without a GPU chooses")


@pytest.fixture(autouse=True)
def _forgets(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(base.VARIABLE, raising=False)
    base.choose.cache_clear()
    yield
    base.choose.cache_clear()


@CPU_ONLY
@pytest.mark.parametrize("wish", ["", "numba", " NumBa "])
def test_a_cpu_gets_numba(wish: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(base.VARIABLE, wish)
    chosen = base.choose()
    assert chosen.name == "numba"
    assert chosen.notice == ""
    assert base.choose() is chosen


@CPU_ONLY
@pytest.mark.parametrize("wish", ["", "numba"])
def test_without_numba_the_reference_runs_and_says_so(wish: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(base.VARIABLE, wish)
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "numba" else found(name))
    chosen = base.choose()
    assert chosen.name == "reference"
    assert "numba isn't installed" in chosen.notice
    assert "slower" in chosen.notice


def test_the_reference_runs_anywhere_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(base.VARIABLE, "reference")
    chosen = base.choose()
    assert chosen.name == "reference"
    assert chosen.notice == ""


def test_an_unknown_name_gets_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(base.VARIABLE, "opencl")
    with pytest.raises(TurboQuantError) as raised:
        base.choose()
    for text in (base.VARIABLE, "'opencl'", *base.NAMES):
        assert text in str(raised.value)


@CPU_ONLY
@pytest.mark.parametrize("wish", ["metal", "cuda"])
def test_a_gpu_that_is_not_there_is_refused(wish: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(base.VARIABLE, wish)
    with pytest.raises(TurboQuantError) as raised:
        base.choose()
    message = str(raised.value)
    assert f"{base.VARIABLE}={wish} doesn't fit the device that MLX uses here" in message
    assert "Choose numba or reference" in message
