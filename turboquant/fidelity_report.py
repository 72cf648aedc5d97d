"""Measures what docs/fidelity.md says and writes it, one section at a time.

The figures go to fidelity.json, each with the version that it was measured with; the document is written from that
file alone, so that a section may be measured again without the others.
"""

from __future__ import annotations

import datetime
import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from turboquant import backends
from turboquant.bench import machine
from turboquant.errors import TurboQuantError
from turboquant.evaluate import evaluate
from turboquant.needle import needle
from turboquant.plan import attended, obstacle
from turboquant.schemes import SCHEMES, parse
from turboquant.segments import Policy
from turboquant.side_by_side import Variant
from turboquant.terminal import Rows, why
from turboquant.trace import examine
from turboquant.version import __version__

PROMPT, TOKENS = 256, 256
COMPARED = ("turbo4", "turbo3", "turbo2")
CONTEXTS, LAST = (512, 1024, 2048, 4096), 512
NEEDLE_LENGTHS, NEEDLE_DEPTHS = (512, 1024, 2048, 4096), (0, 10, 25, 50, 75, 90, 100)
NEEDLE_SCHEMES = ("turbo8v4", "turbo0v4", "turbo4", "turbo3", "turbo2")
LONG_TEXT = "genesis"
BARE = "nothing raw"
POLICIES = {"": Policy(), BARE: Policy(first=0, tail=0)}


@dataclass
class Bench:
    """What sections measure with: a model, its tokenizer, and texts by name."""

    name: str
    model: Any
    tokenizer: Any
    texts: dict[str, str]
    progress: Callable[[int], None]
    ids: dict[str, list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self.ids = {name: self.tokenizer.encode(text) for name, text in self.texts.items()}

    @property
    def head_dim(self) -> int:
        """Of the first layer that can be packed; 0 where none can."""
        return next((attended(group).key_dim for group in examine(self.model) if not obstacle(group)), 0)

    def run(self, texts: dict[str, list[int]], variants: dict[str, Sequence[Variant]], **options: Any) -> Rows:
        """Evaluations of `texts` as rows; `variants` by the name of their policy."""
        flat = [(name, variant) for name, own in variants.items() for variant in own]
        tokens = options.pop("tokens", TOKENS)
        results = evaluate(
            self.model, list(texts.values()), PROMPT, tokens, [v for _, v in flat], progress=self.progress, **options
        )
        names = list(texts)
        return [
            asdict(result) | {"text": names[result.text], "policy": flat[i % len(flat)][0]}
            for i, result in enumerate(results)
        ]


def _schemes(bench: Bench) -> Rows:
    plain = [Variant(parse(name), calibrate=False) for name in COMPARED]
    bare = [Variant(parse(name), False, POLICIES[BARE]) for name in COMPARED]
    return bench.run(bench.ids, {"": [*map(Variant, SCHEMES), *plain], BARE: bare})


def _models(bench: Bench) -> Rows:
    wanted = [Variant(parse(name)) for name in ("none", "turbo0v4", "turbo4")]
    return bench.run(bench.ids, {"": [*wanted, Variant(parse("turbo4"), calibrate=False)]})


def _contexts(bench: Bench) -> Rows:
    variants = [Variant(parse(name), calibrate) for name in COMPARED for calibrate in (True, False)]
    length = {"tokens": CONTEXTS[-1] - PROMPT, "contexts": CONTEXTS, "last": LAST}
    return bench.run({LONG_TEXT: bench.ids[LONG_TEXT]}, {"": variants}, **length)


def _cross(bench: Bench) -> Rows:
    variants = [Variant(parse(name), calibrate) for name in COMPARED for calibrate in (True, False)]
    measured: Rows = []
    for prompt, ids in bench.ids.items():
        changed = {name: ids[:PROMPT] + own[PROMPT:] for name, own in bench.ids.items()}
        measured += [row | {"prompt": prompt} for row in bench.run(changed, {"": variants})]
    return measured


def _needles(bench: Bench) -> Rows:
    def encode(text: str) -> list[int]:
        return list(bench.tokenizer.encode(text, add_special_tokens=False))

    variants = [Variant(parse(name)) for name in NEEDLE_SCHEMES]
    text = bench.texts[LONG_TEXT]
    return [
        asdict(recall) for recall in needle(bench.model, encode, encode(text), NEEDLE_LENGTHS, NEEDLE_DEPTHS, variants)
    ]


SECTIONS: dict[str, Callable[[Bench], Rows]] = {
    "schemes": _schemes,
    "models": _models,
    "contexts": _contexts,
    "cross": _cross,
    "needle": _needles,
}


def measure(bench: Bench, sections: Sequence[str], data: Path) -> None:
    """Measure these sections and put the runs into `data`, in place of those of the same section and model."""
    for section in sections:
        run = {
            "model": bench.name,
            "version": __version__,
            "date": datetime.date.today().isoformat(),
            "backend": backends.choose().name,
            "machine": machine(),
            "head_dim": bench.head_dim,
            "rows": [_rounded(row) for row in SECTIONS[section](bench)],
        }
        held = read(data)
        runs = [other for other in held["sections"].get(section, []) if other["model"] != bench.name]
        held["sections"][section] = [*runs, run]
        write(data, _one_row_a_line(held))


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {key: float(f"{value:.6g}") if isinstance(value, float) else value for key, value in row.items()}


def _one_row_a_line(held: dict[str, Any]) -> str:
    """JSON that a difference between two versions can be read in."""
    return re.sub(r"{[^{}[\]]*}", lambda row: " ".join(row[0].split()), json.dumps(held, indent=1)) + "\n"


def read(data: Path) -> dict[str, Any]:
    """What `data` holds; empty sections where there is no such file. Raises TurboQuantError where it's unreadable."""
    if not data.exists():
        return {"sections": {}}
    try:
        held: dict[str, Any] = json.loads(data.read_text(encoding="utf-8"))
        held["sections"].items()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise TurboQuantError(f"{data} isn't a file of measurements: {why(error)}. It was left as it is.") from error
    return held


def write(path: Path, text: str) -> None:
    """Temporary file, then replace. Raises TurboQuantError."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)
    except OSError as error:
        raise TurboQuantError(f"{path} can't be written: {why(error)}.") from error
