"""What calibration costs in time: prefill and decode of a model with it and without, and packing a block, taking turns.

    .venv/bin/python -m tests.benchmarks.calibration [--model FOLDER] [--scheme turbo4] [--prompt 512] [--tokens 128]

Turns alternate from step to step, so that another load on the machine falls on both alike; medians are compared.
A block is 64 tokens' keys and values: with offset, scale, trials and split keys beside one trial of plain keys.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median
from typing import Any

from turboquant import backends, make_cache, measuring, terminal  # before MLX: it loads a faster BLAS

# isort: split
import mlx.core as mx

from turboquant.codec import KEY_SEED, VALUE_SEED, codec, value_codec
from turboquant.schemes import parse
from turboquant.split import split_key_codec

TEXT = Path(__file__).parents[1] / "data" / "texts" / "genesis.txt"


def timed(model: Any, tokens: mx.array, cache: list[Any]) -> float:
    begin = time.perf_counter()
    mx.eval(model(tokens, cache=cache), [array for layer in cache for array in layer.all_arrays()])
    return time.perf_counter() - begin


def packing(scheme: str, repeats: int, dim: int = 128, heads: int = 8) -> dict[bool, list[float]]:
    """Seconds to encode 64 tokens' keys and values, calibrated or plainly."""
    backend, wanted = backends.choose(), parse(scheme)
    x = mx.random.normal((1, heads, 64, dim)).astype(mx.float16)
    offset, scale = mx.zeros((1, heads, dim), mx.float16), mx.full((1, heads, dim), dim**-0.5, mx.float16)
    order = mx.broadcast_to(mx.arange(dim, dtype=mx.uint16), (1, heads, dim))
    plain = codec(dim, wanted.key_bits, KEY_SEED, "matched", 1), codec(dim, wanted.value_bits, VALUE_SEED, "matched", 1)
    split = split_key_codec(dim, wanted.key_bits)
    took: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(repeats + 1):
        for calibrated in (True, False) if turn % 2 else (False, True):
            begin = time.perf_counter()
            if calibrated:
                made = backend.encode_pair(x, split, x, value_codec(dim, wanted.value_bits), offset, scale, order)
            else:
                made = backend.encode_pair(x, plain[0], x, plain[1])
            mx.eval(*made)
            took[calibrated] += [time.perf_counter() - begin] if turn else []
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=measuring.STARTER)
    parser.add_argument("--scheme", default="turbo4")
    parser.add_argument("--prompt", type=terminal.positive, default=512)
    parser.add_argument("--tokens", type=terminal.positive, default=128)
    parser.add_argument("--repeats", type=terminal.positive, default=5)
    options = parser.parse_args()
    model, tokenizer = measuring.load(measuring.model_folder(options.model))
    ids = tokenizer.encode(TEXT.read_text(encoding="utf-8"))[: options.prompt + options.tokens]
    prompt = mx.array(ids[: options.prompt])[None]
    prefill: dict[bool, list[float]] = {True: [], False: []}
    decode: dict[bool, list[float]] = {True: [], False: []}
    caches: dict[bool, list[Any]] = {}
    for turn in range(options.repeats + 1):  # the first one warms up
        for calibrate in (True, False) if turn % 2 else (False, True):
            caches[calibrate] = make_cache(model, options.scheme, calibrate=calibrate)
            took = timed(model, prompt, caches[calibrate])
            prefill[calibrate] += [took] if turn else []
    for n, token in enumerate(ids[options.prompt :]):
        for calibrate in (True, False) if n % 2 else (False, True):
            took = timed(model, mx.array([[token]]), caches[calibrate])
            decode[calibrate] += [took] if n else []  # the first step packs the prompt
    rows = [
        {"what": what, "calibrated ms": 1e3 * median(t[True]), "not ms": 1e3 * median(t[False])}
        | {"ratio": median(t[True]) / median(t[False])}
        for what, t in (("prefill", prefill), ("decode step", decode), ("a block", packing(options.scheme, 100)))
    ]
    terminal.table(rows)


if __name__ == "__main__":
    main()
