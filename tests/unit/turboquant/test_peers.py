"""The comparison with other caches runs, and measures what it says it does."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks import peers


def test_all_are_measured_on_the_same_tensors(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "mlx_vlm", lambda: None)
    assert peers.main(["--tokens", "200", "--steps", "3", "--model", "none", "--json"]) == 0
    printed = capsys.readouterr()
    assert "mlx-vlm isn't installed" in printed.err
    rows = {row["candidate"]: row for row in json.loads(printed.out)["rows"]}
    assert {"mlx-lm affine 4 bit", *peers.OURS} < set(rows)
    exact = next(row for name, row in rows.items() if name.startswith("MLX"))
    assert exact["error"] < 1e-3
    assert rows["mlx-lm affine 4 bit"]["ratio"] == pytest.approx(
        3.2, rel=1e-3
    )  # 4 bits and two 16ths in 64, in float32
    assert exact["error"] < rows["turbo8"]["error"] < rows["turbo4"]["error"] < rows["turbo2"]["error"]
    assert rows["turbo2"]["ratio"] > rows["turbo4"]["ratio"] > rows["turbo8"]["ratio"] > 1
    assert all(row["ms"] > 0 for row in rows.values())


def test_the_exact_attention_sees_every_token_so_far() -> None:
    problem = peers.normal(peers.bench.Shape(20, head_dim=8, kv_heads=1, group=1), 2)
    last = problem.exact[1]
    problem.values = problem.values * 0 + 1
    assert last.shape == (8,)
    again = problem._attention(*(peers.np.asarray(x) for x in (problem.keys, problem.values, problem.queries)), 21)
    assert again == pytest.approx(1)
