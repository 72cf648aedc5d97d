"""The command line: schemes, eval, bench, selftest. Results go to stdout (JSON with --json), the rest to stderr."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from turboquant.errors import TurboQuantError
from turboquant.schemes import SCHEMES, parse

COMMON = "none,turbo0v4,turbo4,turbo3,turbo2"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except TurboQuantError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m turboquant", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")

    command = commands.add_parser("schemes", help="the schemes with their sizes")
    command.add_argument("--head-dim", type=int, default=128)
    command.set_defaults(run=_schemes)

    command = commands.add_parser("eval", help="perplexity and KL divergence of schemes on a text")
    command.add_argument("--model", default="starter", help="'starter' or a folder with an MLX model")
    command.add_argument("--text", type=Path, required=True, help="a UTF-8 text file")
    command.add_argument("--prompt", type=_positive, default=256, help="tokens that are prefilled")
    command.add_argument("--tokens", type=_positive, default=256, help="tokens that are fed one by one")
    command.add_argument("--schemes", default=COMMON, help="names, separated by commas")
    command.set_defaults(run=_eval)

    command = commands.add_parser("bench", help="decode attention side by side with MLX's own")
    command.add_argument(
        "--tokens", type=_lengths, default="1024,4096,16384", help="cache lengths, separated by commas"
    )
    command.add_argument("--schemes", default="turbo4,turbo3,turbo2,turbo0v4", help="names, separated by commas")
    command.add_argument("--head-dim", type=_positive, default=128)
    command.add_argument("--kv-heads", type=_positive, default=8)
    command.add_argument("--group", type=_positive, default=3, help="query heads that share a kv head")
    command.add_argument("--repeats", type=_positive, default=15)
    command.set_defaults(run=_bench)

    command = commands.add_parser("selftest", help="every operation of this machine's backend against the reference")
    command.set_defaults(run=_selftest)

    for command in commands.choices.values():
        command.add_argument("--json", action="store_true")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _lengths(text: str) -> list[int]:
    return [_positive(part) for part in text.split(",")]


def _schemes(options: argparse.Namespace) -> int:
    from turboquant.rotation import check_dim

    check_dim(options.head_dim)
    rows = [
        {
            "name": scheme.name,
            "key_bits": scheme.key_bits,
            "value_bits": scheme.value_bits,
            "bytes_per_token_per_head": scheme.bytes_per_token(options.head_dim),
            "ratio": round(scheme.ratio(options.head_dim), 4),
        }
        for scheme in SCHEMES
    ]
    _show(options.json, rows, rows)
    return 0


def _eval(options: argparse.Namespace) -> int:
    schemes = [parse(name) for name in options.schemes.split(",")]
    try:
        text = options.text.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TurboQuantError(f"The text {options.text} can't be read: {error}.") from error
    folder = _starter() if options.model == "starter" else Path(options.model)
    if not (folder / "config.json").is_file():
        raise TurboQuantError(f"{folder} holds no MLX model: config.json is missing. Give its folder, or 'starter'.")
    import mlx_lm

    from turboquant import backends
    from turboquant.evaluate import evaluate

    try:
        model, tokenizer = mlx_lm.load(str(folder))[:2]
    except Exception as error:  # of many kinds: whatever a damaged or unknown model folder makes mlx-lm raise
        raise TurboQuantError(f"The model in {folder} can't be loaded: {error}") from error
    results = []
    for result in evaluate(model, tokenizer.encode(text), options.prompt, options.tokens, schemes):
        results.append(asdict(result))
        print(f"{result.scheme}: KL {result.kld:.5f}, {result.seconds:.1f} s", file=sys.stderr)
    summary = {"model": folder.name, "backend": backends.choose().name, "results": results}
    _show(options.json, summary, results)
    return 0


def _bench(options: argparse.Namespace) -> int:
    from turboquant import backends, bench

    schemes = [parse(name).name for name in options.schemes.split(",")]
    rows = []
    for tokens in options.tokens:
        rows += bench.attention(
            tokens,
            schemes,
            head_dim=options.head_dim,
            kv_heads=options.kv_heads,
            group=options.group,
            repeats=options.repeats,
        )
    operations = [asdict(o) for o in bench.operations(schemes, head_dim=options.head_dim, kv_heads=options.kv_heads)]
    measured = [asdict(row) for row in rows]
    summary = {
        "machine": bench.machine(),
        "backend": backends.choose().name,
        "rows": measured,
        "operations": operations,
    }
    _show(options.json, summary, measured)
    if not options.json:
        print()
        _table(operations)
    return 0


def _selftest(options: argparse.Namespace) -> int:
    from turboquant import backends, selftest
    from turboquant.version import __version__

    checks = list(selftest.run())
    failed = [check for check in checks if not check.ok]
    rows = [asdict(check) | {"ok": check.ok} for check in checks]
    backend = backends.choose()
    summary = {"version": __version__, "backend": backend.name, "notice": backend.notice, "checks": rows}
    _show(options.json, summary | {"ok": not failed}, rows)
    print(f"{len(checks) - len(failed)} of {len(checks)} checks of the {backend.name} backend passed", file=sys.stderr)
    return 1 if failed else 0


def _starter() -> Path:
    """The application installs the starter model and says where; the library doesn't know the application."""
    command = [sys.executable, "-m", "app.engine.starter"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise TurboQuantError(f"The starter model isn't available: {done.stderr.strip()}")
    return Path(done.stdout.strip().splitlines()[-1])


def _show(as_json: bool, value: Any, rows: list[dict[str, Any]]) -> None:
    if as_json:
        print(json.dumps(value, indent=1))
    else:
        _table(rows)


def _table(rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    cells = [list(rows[0]), *[[_cell(value) for value in row.values()] for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
