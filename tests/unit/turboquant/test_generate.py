"""The caches inside mlx-lm's own programs: generate, stream_generate, chat's path, a draft model, saved prompts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx_lm
import pytest
from mlx_lm.generate import generate_step, speculative_generate_step
from mlx_lm.models.cache import (
    RotatingKVCache,
    load_prompt_cache,
    make_prompt_cache,
    save_prompt_cache,
    trim_prompt_cache,
)

import turboquant
from turboquant import plan, report
from turboquant.schemes import SCHEMES

NAMES = [scheme.name for scheme in SCHEMES]


def prompt_of(length: int) -> mx.array:
    mx.random.seed(length)
    return mx.random.randint(0, 512, (length,))


def tokens_of(model: Any, prompt: mx.array, count: int, cache: list[Any] | None) -> list[int]:
    steps = generate_step(prompt, model, max_tokens=count, prompt_cache=cache)
    return [int(token) for token, _ in steps]


def logits_after(model: Any, cache: list[Any], token: int = 5) -> mx.array:
    return model(mx.array([[token]]), cache=cache)[0, -1]


@pytest.mark.parametrize("scheme", NAMES)
@pytest.mark.parametrize("length", [1, 35, 96, 400])
def test_generate_packs_every_layer_at_the_first_decoded_token(tiny_llama: Any, scheme: str, length: int) -> None:
    cache, steps = turboquant.make_cache(tiny_llama, scheme), max(110 - length, 10)
    tokens_of(tiny_llama, prompt_of(length), steps, cache)
    measured = report.measure(cache)
    assert measured.tokens == length + steps
    assert measured.layers_compressed == (0 if scheme == "none" else 3)
    assert all(c.packing == (scheme != "none") for c in cache)
    if scheme != "none":
        assert measured.packed_bytes > 0
        assert measured.raw_tokens <= 4 + 96


@pytest.mark.parametrize("scheme", ["none", "turbo8"])
def test_a_mild_scheme_answers_like_no_scheme(tiny_llama: Any, scheme: str) -> None:
    cache, plain = turboquant.make_cache(tiny_llama, scheme), make_prompt_cache(tiny_llama)
    prompt = prompt_of(300)
    for c in (cache, plain):
        tokens_of(tiny_llama, prompt, 50, c)
    ours, exact = logits_after(tiny_llama, cache), logits_after(tiny_llama, plain)
    assert mx.abs(ours - exact).max().item() < 0.02 * mx.abs(exact).max().item()


def test_mlx_lms_programs_accept_the_caches(starter_model_path: Path) -> None:
    model, tokenizer = mlx_lm.load(str(starter_model_path))[:2]
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "Name three colours."}], add_generation_prompt=True
    )
    plain = mlx_lm.generate(model, tokenizer, prompt, max_tokens=12)
    cache = turboquant.make_cache(model, "turbo4")
    assert mlx_lm.generate(model, tokenizer, prompt, max_tokens=12, prompt_cache=cache) == plain
    # a second turn on the same cache, as mlx_lm.chat does
    more = tokenizer.apply_chat_template([{"role": "user", "content": "One more?"}], add_generation_prompt=True)
    held = cache[0].offset
    responses = list(mlx_lm.stream_generate(model, tokenizer, more, max_tokens=5, prompt_cache=cache))
    assert responses[-1].generation_tokens >= 1
    assert cache[0].offset >= held + len(more)
    assert report.measure(cache).layers_compressed == len(cache)


@pytest.mark.parametrize("scheme", ["none", "turbo4", "turbo2", "turbo0v4"])
@pytest.mark.parametrize("drafted", [1, 3, 40])
def test_speculative_decoding_keeps_the_scheme_and_the_tokens(tiny_llama: Any, scheme: str, drafted: int) -> None:
    draft = tiny_llama  # it drafts well, so that accepted and, at the end of a run, rejected tokens both occur
    prompt = prompt_of(150)
    expected = tokens_of(tiny_llama, prompt, 120, turboquant.make_cache(tiny_llama, scheme))
    caches = turboquant.make_cache(tiny_llama, scheme) + turboquant.make_cache(draft, "turbo2")
    steps = speculative_generate_step(
        prompt, tiny_llama, draft, num_draft_tokens=drafted, max_tokens=120, prompt_cache=caches
    )
    got = [int(token) for token, _, _ in steps]
    assert got == expected
    assert {c.scheme.name for c in caches[:3]} == {scheme}
    assert all(c.packing == (scheme != "none") for c in caches[:3])


def test_mlx_lm_saves_and_loads_the_caches(tiny_llama: Any, tmp_path: Path) -> None:
    cache = turboquant.make_cache(tiny_llama, "turbo3")
    tokens_of(tiny_llama, prompt_of(200), 20, cache)
    save_prompt_cache(str(tmp_path / "prompt.safetensors"), cache)
    again = load_prompt_cache(str(tmp_path / "prompt.safetensors"))
    assert mx.array_equal(logits_after(tiny_llama, cache), logits_after(tiny_llama, again))


def test_trim_prompt_cache_rolls_back(tiny_llama: Any) -> None:
    prompt = prompt_of(200)
    one, other = turboquant.make_cache(tiny_llama, "turbo4"), turboquant.make_cache(tiny_llama, "turbo4")
    for cache in (one, other):
        tokens_of(tiny_llama, prompt, 10, cache)
    for token in (1, 2, 3, 4):
        logits_after(tiny_llama, one, token)
    assert trim_prompt_cache(one, 4) == 4
    assert mx.array_equal(logits_after(tiny_llama, one), logits_after(tiny_llama, other))


@pytest.mark.parametrize("imported", ["before", "after"])
def test_a_model_module_is_routed_whenever_it_was_imported(imported: str) -> None:
    """In a process of its own: what was imported first can't be undone in this one."""
    lines = ["import turboquant", "turboquant.attention.install()", "from mlx_lm.models import qwen3 as family"]
    if imported == "before":
        lines = [lines[2], lines[0], lines[1]]
    program = "\n".join(
        [
            *lines,
            "from types import SimpleNamespace",
            "import mlx.core as mx",
            "cache = SimpleNamespace(attend_fetched=lambda *arguments: 'ours')",
            "x = mx.zeros((1, 1, 1, 8))",
            "assert family.scaled_dot_product_attention(x, x, x, cache=cache, scale=1.0, mask=None) == 'ours'",
            "plain = family.scaled_dot_product_attention(x, x, x, cache=None, scale=1.0, mask=None)",
            "assert plain.shape == x.shape",
        ]
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=Path.cwd(), check=False)
    assert done.returncode == 0, done.stderr


def test_converting_mlx_lms_cache_keeps_its_tokens(tiny_llama: Any) -> None:
    plain = make_prompt_cache(tiny_llama)
    tokens_of(tiny_llama, prompt_of(300), 20, plain)
    converted = plan.convert(tiny_llama, plain, "turbo8")
    exact, ours = logits_after(tiny_llama, plain), logits_after(tiny_llama, converted)
    assert report.measure(converted).layers_compressed == 3
    assert mx.abs(ours - exact).max().item() < 0.05 * mx.abs(exact).max().item()
    empty = plan.convert(tiny_llama, make_prompt_cache(tiny_llama), "turbo4")
    assert report.measure(empty).tokens == 0


def test_converting_passes_on_what_it_doesnt_understand(tiny_llama: Any) -> None:
    """A window that has wrapped holds fewer tokens than were seen: to pack it as if it were whole would be wrong."""
    windowed = [RotatingKVCache(max_size=64) for _ in tiny_llama.layers]
    tokens_of(tiny_llama, prompt_of(200), 5, windowed)
    offset = windowed[0].offset
    converted = plan.convert(tiny_llama, windowed, "turbo4")
    assert converted[0] is windowed[0]
    assert converted[0].offset == offset
    assert "RotatingKVCache" in plan.describe(converted)[0].reason
    ours = turboquant.make_cache(tiny_llama, "turbo4")
    tokens_of(tiny_llama, prompt_of(200), 5, ours)
    assert plan.convert(tiny_llama, ours, "turbo2")[0].scheme.name == "turbo2"


def test_a_cache_made_without_a_plan_is_reached_too() -> None:
    """In a process of its own, where nothing else has installed the routing."""
    program = """
import turboquant, mlx.core as mx
from mlx_lm.models import llama
from mlx_lm.models.cache import make_prompt_cache
arguments = llama.ModelArgs(model_type="llama", hidden_size=64, num_hidden_layers=1, intermediate_size=64,
    num_attention_heads=1, rms_norm_eps=1e-5, vocab_size=64)
model = llama.Model(arguments)
caches = [[turboquant.TurboQuantCache("turbo8")], make_prompt_cache(model)]
for tokens in (mx.arange(200)[None] % 64, mx.array([[3]]), mx.array([[4]])):
    ours, exact = (model(tokens, cache=cache) for cache in caches)
assert caches[0][0].packing
assert mx.abs(ours - exact).max() < 0.05 * mx.abs(exact).max()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=Path.cwd(), check=False)
    assert done.returncode == 0, done.stderr
