"""The command line. Results go to stdout (JSON with --json), everything else to stderr."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict

from turboquant import measuring, terminal
from turboquant.errors import TurboQuantError
from turboquant.schemes import SCHEMES, parse


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

    measuring.add_commands(commands)

    command = commands.add_parser("bench", help="decode attention side by side with MLX's own")
    command.add_argument(
        "--tokens", type=terminal.lengths, default="1024,4096,16384", help="cache lengths, separated by commas"
    )
    command.add_argument("--schemes", default="turbo4,turbo3,turbo2,turbo0v4", help="names, separated by commas")
    command.add_argument("--head-dim", type=terminal.positive, default=128)
    command.add_argument("--kv-heads", type=terminal.positive, default=8)
    command.add_argument("--group", type=terminal.positive, default=3, help="query heads that share a kv head")
    command.add_argument("--repeats", type=terminal.positive, default=15)
    command.set_defaults(run=_bench)

    command = commands.add_parser("selftest", help="every operation of this machine's backend against the reference")
    command.set_defaults(run=_selftest)

    for command in commands.choices.values():
        command.add_argument("--json", action="store_true")
    return parser


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
    terminal.show(options, rows, rows)
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
    terminal.show(options, summary, measured)
    if not options.json:
        print()
        terminal.table(operations)
    return 0


def _selftest(options: argparse.Namespace) -> int:
    from turboquant import backends, selftest
    from turboquant.version import __version__

    checks = list(selftest.run())
    failed = [check for check in checks if not check.ok]
    rows = [asdict(check) | {"ok": check.ok} for check in checks]
    backend = backends.choose()
    summary = {"version": __version__, "backend": backend.name, "notice": backend.notice, "checks": rows}
    terminal.show(options, summary | {"ok": not failed}, rows)
    print(f"{len(checks) - len(failed)} of {len(checks)} checks of the {backend.name} backend passed", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
