"""Buffers: what waits beside the array is part of it for whoever asks, and of no copy's array."""

from __future__ import annotations

import copy

import mlx.core as mx
import numpy as np
import pytest

from tests.cache_kit import normal
from turboquant.calibration import ENOUGH, PLENTY, Calibration
from turboquant.segments import FEW, Buffer


def filled(rows: int) -> tuple[Buffer, mx.array]:
    """A buffer of so many rows, added one by one behind the first ten, and those rows."""
    given = normal(1, 2, rows, 8, seed=1)
    buffer = Buffer(step=64)
    buffer.append(given[:, :, :10])
    for row in range(10, rows):
        buffer.append(given[:, :, row : row + 1])
    return buffer, given


def same(buffer: Buffer, given: mx.array) -> bool:
    return buffer.count == given.shape[2] and np.array_equal(np.array(buffer.view()), np.array(given))


def test_the_newest_row_waits_and_is_there() -> None:
    buffer, given = filled(21)
    assert buffer.newest is not None
    assert buffer.newest.shape[2] == 1
    held = buffer.allocated_bytes
    assert same(buffer, given)
    assert buffer.newest is None
    assert buffer.allocated_bytes == held == buffer.arrays()[0].nbytes


@pytest.mark.parametrize("rows", [63, 64, 65, 130])
def test_rows_that_fill_the_capacity(rows: int) -> None:
    assert same(*filled(rows))


@pytest.mark.parametrize("shape", [(1, 2, FEW + 1, 8), (1, 2, 50, 8)])
def test_many_rows_do_not_wait(shape: tuple[int, ...]) -> None:
    buffer, given = filled(20)
    more = normal(*shape, seed=2)
    buffer.append(more)
    assert buffer.newest is None
    assert same(buffer, mx.concatenate([given, more], axis=2))


def test_rows_of_another_type_do_not_wait() -> None:
    buffer, _ = filled(20)
    buffer.append(normal(1, 2, 1, 8, seed=2).astype(mx.float16))
    assert buffer.newest is None
    assert buffer.view().dtype == mx.float32


@pytest.mark.parametrize("kept", [0, 5, 20, 21])
def test_rows_that_wait_are_forgotten_with_the_others(kept: int) -> None:
    buffer, given = filled(21)
    buffer.truncate(kept)
    assert buffer.count == kept
    more = normal(1, 2, 1, 8, seed=2)
    buffer.append(more)
    assert same(buffer, mx.concatenate([given[:, :, :kept], more], axis=2))


@pytest.mark.parametrize("rows", [20, 21])
def test_a_copy_goes_its_own_way(rows: int) -> None:
    """Two conversations that branch off, whether or not a row waits there: neither sees the other's rows."""
    buffer, given = filled(rows)
    branches = buffer, copy.deepcopy(buffer)
    more = [normal(1, 2, 3, 8, seed=seed) for seed in (2, 3)]
    for row in range(3):
        for branch, own in zip(branches, more, strict=True):
            branch.append(own[:, :, row : row + 1])
    for branch, own in zip(branches, more, strict=True):
        assert same(branch, mx.concatenate([given, own], axis=2))


@pytest.mark.parametrize("rows", [1, 3])
def test_decoded_queries_are_observed_until_plenty_are_known(rows: int) -> None:
    """Drafts too; those of a prompt count until enough are."""
    calibration = Calibration()
    queries = normal(1, 4, rows, 8, seed=1)
    steps = -(-PLENTY // rows)
    for step in range(1, steps + 5):
        calibration.observe(queries, 2)
        assert calibration.observed == min(step, steps) * rows
    want = np.square(np.array(queries)).reshape(1, 2, -1, 8).sum(axis=2)
    assert np.allclose(np.array(calibration.query_power), want * steps, rtol=1e-4)
    prompt = mx.repeat(queries, 400, axis=2)
    for _ in range(3):
        calibration.observe(prompt, 2)
    added = -(-(ENOUGH - steps * rows) // (400 * rows))
    assert calibration.observed == (steps + 400 * added) * rows
    assert np.allclose(np.array(calibration.query_power), want * (steps + 400 * added), rtol=1e-4)


@pytest.mark.parametrize("rows", [1, 3])
def test_decoded_queries_are_not_held_for_long(rows: int) -> None:
    """Summing is lazy, so each query stays until its sum is computed."""
    calibration, held = Calibration(), mx.get_active_memory()
    for _ in range(PLENTY // rows + 1):
        queries = mx.random.normal((1, 4, rows, 1 << 12))
        mx.eval(queries)
        calibration.observe(queries, 2)
        del queries
    mx.synchronize()
    assert mx.get_active_memory() - held < 4 * 4 * 4 * (1 << 12)
