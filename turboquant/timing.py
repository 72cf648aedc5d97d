"""The commands about this machine: bench and selftest."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from turboquant import terminal
from turboquant.measuring import load, model_folder
from turboquant.rotation import check_dim
from turboquant.schemes import parse

LENGTHS = (1024, 4096, 16384, 65536, 131072)
PREFILL = 8192  # tokens that a later prompt is timed behind, at most
SCHEMES = "turbo4,turbo3,turbo2,turbo0v4"
RANDOM_MODEL = "3b"
CPU_NOTE = (
    "On this CPU the model runs as float32, as in the application, whatever\n"
    "type it is stored in: mlx-lm's own cache holds float32 too, where the schemes' raw tokens take 16 bits."
)


def add_commands(commands: Any) -> None:
    """`commands`: what argparse's add_subparsers returned."""
    command = commands.add_parser("bench", help="decode attention, or whole generation, side by side with MLX's own")
    command.add_argument(
        "--tokens", type=terminal.lengths, help="cache lengths, separated by commas (what fits in memory)"
    )
    command.add_argument("--schemes", default=SCHEMES, help="names, separated by commas (%(default)s)")
    command.add_argument("--repeats", type=terminal.positive, default=15, help="turns of each (%(default)s)")
    command.add_argument("--head-dim", type=terminal.positive, default=128, help="(%(default)s)")
    command.add_argument("--kv-heads", type=terminal.positive, default=8, help="(%(default)s)")
    command.add_argument(
        "--group", type=terminal.positive, default=4, help="query heads that share a kv head (%(default)s)"
    )
    command.add_argument(
        "--model",
        nargs="?",
        const=RANDOM_MODEL,
        help="tokens a second of whole generation: 'starter', a folder with an MLX model, or nothing for a random one "
        "of 28 layers in the shape of Llama 3.2 3B",
    )
    command.add_argument(
        "--new-tokens", type=terminal.positive, default=32, help="with --model: generated each time (%(default)s)"
    )
    command.set_defaults(run=_bench)

    command = commands.add_parser("selftest", help="every operation of this machine's backend against the reference")
    command.add_argument("--full", action="store_true", help="all head dims and widths, not the representative ones")
    command.add_argument(
        "--seconds", type=terminal.positive, help="begin no check later than so long after the start (no limit)"
    )
    command.set_defaults(run=_selftest)


def _bench(options: argparse.Namespace) -> int:
    schemes = [parse(name).name for name in options.schemes.split(",")]
    return (_generation if options.model else _attention)(options, schemes)


def _attention(options: argparse.Namespace, schemes: Sequence[str]) -> int:
    from turboquant import backends, bench

    check_dim(options.head_dim)
    rows, operations = [], []
    for tokens in options.tokens or LENGTHS:
        shape = bench.Shape(tokens, options.head_dim, options.kv_heads, options.group)
        if not _fits(tokens, bench.needed_bytes(shape, schemes)):
            continue
        found = bench.attention(shape, schemes, repeats=options.repeats)
        rows += found
        seconds = bench.seconds_of_steps(shape, found)
        if seconds > bench.SECONDS:
            _say(f"{tokens} tokens: whole steps are left out, one turn of them takes {seconds:.0f} s")
            continue
        operations += bench.steps(shape, schemes)
    if rows:
        shape = bench.Shape(min(PREFILL, rows[-1].T), options.head_dim, options.kv_heads, options.group)
        _say(f"a prompt of {bench.LATER} tokens behind {shape.tokens}, then packing and laying out")
        operations += bench.prefill(shape, schemes)
        operations += bench.operations(shape, schemes, repeats=options.repeats)
    measured, others = [asdict(row) for row in rows], [asdict(row) for row in operations]
    summary = {"machine": bench.machine(), "backend": backends.choose().name, "rows": measured, "operations": others}
    terminal.show(options, summary, measured)
    if not options.json:
        print()
        terminal.table(others)
    return 0


def _generation(options: argparse.Namespace, schemes: Sequence[str]) -> int:
    from turboquant import backends, bench, bench_model

    if options.model == RANDOM_MODEL:
        name, model = "random, 3B-shaped", bench_model.random_model()
    else:
        folder = model_folder(options.model)
        name, model = folder.name, bench_model.for_this_device(load(folder)[0])
    lengths = options.tokens or ((512, 2048, 8192) if bench.on_cpu() else (512, 8192, 32768, 131072))
    rows = []
    for tokens in lengths:
        if not _fits(tokens, bench_model.needed_bytes(model, tokens)):
            continue
        found = bench_model.generation(model, tokens, schemes, new_tokens=options.new_tokens)
        rows += [asdict(speed) for speed in found]
        _say(", ".join(f"{speed.scheme} {speed.tokens_per_s:.2f} tokens/s" for speed in found))
    summary = {"machine": bench.machine(), "backend": backends.choose().name, "model": name, "rows": rows}
    terminal.show(options, summary, rows)
    if not options.json:
        print(
            f"\nrelative: to mlx-lm's own cache; kv_bytes: as allocated. {CPU_NOTE if bench.on_cpu() else ''}".rstrip()
        )
    return 0


def _selftest(options: argparse.Namespace) -> int:
    from turboquant import backends, selftest
    from turboquant.version import __version__

    checks = []
    for check in selftest.run(options.full, options.seconds or math.inf):
        checks.append(check)
        verdict = "ok" if check.ok else f"WRONG, at most {check.limit:.1g} is right"
        line = f"{check.operation:10}  {check.case:58}  {check.ms:8.2f} ms  error {check.error:7.1e}  {verdict}"
        print(line, file=sys.stderr if options.json else sys.stdout, flush=True)
    backend, failed = backends.choose(), [check for check in checks if not check.ok]
    if options.json:
        rows = [asdict(check) | {"ok": check.ok} for check in checks]
        summary = {"version": __version__, "backend": backend.name, "notice": backend.notice, "checks": rows}
        terminal.show(options, summary | {"ok": not failed}, rows)
    _say(f"{len(checks) - len(failed)} of {len(checks)} checks of the {backend.name} backend passed")
    return 1 if failed else 0


def _fits(tokens: int, needed_bytes: int) -> bool:
    """Whether there is memory for that many tokens; says how many follow, or why not."""
    from turboquant.bench import free_bytes

    free = free_bytes()
    if needed_bytes > 0.8 * free:
        _say(f"{tokens} tokens are left out: they take {needed_bytes / 1e9:.1f} GB, {free / 1e9:.1f} are free.")
        return False
    _say(f"{tokens} tokens")
    return True


def _say(text: str) -> None:
    print(text, file=sys.stderr)
