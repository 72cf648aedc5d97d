"""The command about a model that needn't be there yet: inspect."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from turboquant import terminal
from turboquant.errors import TurboQuantError
from turboquant.measuring import model_folder


def add_commands(commands: Any) -> None:
    """`commands`: what argparse's add_subparsers returned."""
    command = commands.add_parser("inspect", help="what each layer of a model keeps, and its bytes, without weights")
    command.add_argument("model", help="'starter', a folder with an MLX model, or a config.json")
    command.add_argument("--scheme", default="turbo4", help="a scheme's name (%(default)s)")
    command.add_argument("--tokens", type=terminal.positive, default=4096, help="of one conversation (%(default)s)")
    command.set_defaults(run=_inspect)


def _inspect(options: argparse.Namespace) -> int:
    from turboquant import inspect

    file = Path(options.model) if options.model.endswith(".json") else model_folder(options.model) / "config.json"
    try:
        config = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise TurboQuantError(f"{file} can't be read: {terminal.why(error)}.") from error
    traces = inspect.examine_config(config)
    layers, plain = (inspect.forecast(traces, scheme, options.tokens) for scheme in (options.scheme, "none"))
    summary = {
        "model": file.parent.name,
        "model_type": config.get("model_type"),
        "scheme": options.scheme,
        "tokens": options.tokens,
        "layers_compressed": sum(layer.scheme is not None for layer in layers),
        "used_bytes": sum(layer.used_bytes for layer in layers),
        "allocated_bytes": sum(layer.allocated_bytes for layer in layers),
        "none_used_bytes": sum(layer.used_bytes for layer in plain),
        "layers": [asdict(layer) for layer in layers],
    }
    if options.json:
        print(json.dumps(summary, indent=1))
        return 0
    terminal.table(_alike(summary["layers"], options.tokens))
    print(
        f"\n{summary['layers_compressed']} of {len(layers)} layers compressed with {options.scheme}; all layers "
        f"together, at {options.tokens} tokens: {_mb(summary['used_bytes'])} MB used, "
        f"{_mb(summary['allocated_bytes'])} allocated, {_mb(summary['none_used_bytes'])} uncompressed"
    )
    return 0


def _alike(layers: list[dict[str, Any]], tokens: int) -> terminal.Rows:
    """One row for all layers that differ in nothing but their place; bytes are each one's."""
    rows: dict[tuple[Any, ...], list[int]] = {}
    for layer in layers:
        rows.setdefault(tuple(layer.items())[1:], []).append(layer["index"])
    return [
        {
            "layers": _ranges(places),
            "kind": layer["kind"],
            "kv heads × key/value dim": f"{layer['kv_heads']} × {layer['key_dim']}/{layer['value_dim']}"
            if layer["kv_heads"]
            else "",
            "window, tokens": layer["window"] or "",
            "scheme": layer["scheme"] or "none",
            f"MB a layer at {tokens} tokens": _mb(layer["used_bytes"]),
            "MB allocated": _mb(layer["allocated_bytes"]),
            "stays raw because, or note": layer["reason"] or layer["note"],
        }
        for layer, places in ((dict(row), places) for row, places in rows.items())
    ]


def _ranges(places: Iterable[int]) -> str:
    """0–4, 6–10, 12"""
    runs = [list(run) for _, run in groupby(enumerate(places), lambda place: place[1] - place[0])]
    return ", ".join(f"{run[0][1]}–{run[-1][1]}" if len(run) > 1 else str(run[0][1]) for run in runs)


def _mb(count: int) -> str:
    return f"{count / 1e6:.2f}"
