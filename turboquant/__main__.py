"""The command line. Results go to stdout (JSON with --json), everything else to stderr."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from turboquant import inspecting, measuring, terminal, timing
from turboquant.errors import TurboQuantError
from turboquant.schemes import SCHEMES


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
    words = "Key/value caches of MLX models, compressed. Results go to stdout, everything else to stderr."
    parser = argparse.ArgumentParser(prog="python -m turboquant", description=words)
    commands = parser.add_subparsers(required=True, metavar="command")

    command = commands.add_parser("schemes", help="the schemes with their sizes")
    command.add_argument("--head-dim", type=int, default=128, help="that bytes are counted for (%(default)s)")
    command.set_defaults(run=_schemes)

    measuring.add_commands(commands)

    timing.add_commands(commands)

    inspecting.add_commands(commands)

    for command in commands.choices.values():
        command.add_argument("--json", action="store_true", help="everything, for programs")
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
    if not options.json:
        print(
            f"\nOne key and one value of {options.head_dim} channels (--head-dim); ratio: of float16's bytes to these."
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
