"""How close each scheme stays to the uncompressed cache, as it was measured (`python -m turboquant report`).

Pure Python: the figures lie in fidelity.json beside this file, in sections of runs, each of one model and version.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from turboquant.schemes import SCHEMES, Scheme, parse

DATA = "fidelity.json"
DIM = 64  # sizes are compared at this head dim; the order is the same at every one


@dataclass(frozen=True)
class Fidelity:
    """Means over `tokens` tokens of `texts` texts: `kld` in nats a token, `top1` the share of the same likeliest token.

    `better`: the name of a scheme that is closer and no larger, where there is one.
    """

    kld: float
    top1: float
    tokens: int
    texts: int
    model: str
    version: str
    better: str


@cache
def measured() -> dict[str, Fidelity]:
    """By name, calibrated; schemes that weren't measured are missing."""
    sections = json.loads(files(__package__).joinpath(DATA).read_text(encoding="utf-8"))["sections"]
    run: dict[str, Any] = next(iter(sections.get("schemes", [])), {"rows": []})
    of: dict[str, list[dict[str, Any]]] = {}
    for row in run["rows"]:
        if row["calibrate"] and not row["policy"]:
            of.setdefault(row["scheme"], []).append(row)
    divergences = {name: mean(own, "kld") for name, own in of.items()}
    return {
        name: Fidelity(
            kld=divergences[name],
            top1=mean(own, "top1"),
            tokens=sum(row["tokens"] for row in own),
            texts=len(own),
            model=run["model"],
            version=run["version"],
            better=better(parse(name), divergences),
        )
        for name, own in of.items()
    }


def mean(rows: list[dict[str, Any]], figure: str) -> float:
    """Of a figure, over all tokens of the rows."""
    return float(sum(row[figure] * row["tokens"] for row in rows) / sum(row["tokens"] for row in rows))


def better(scheme: Scheme, divergences: dict[str, float]) -> str:
    """The closest scheme that is no larger than this one and closer; empty where there is none."""
    ours = divergences[scheme.name]
    closer = [other for other in SCHEMES if divergences.get(other.name, ours) < ours]
    fitting = [other for other in closer if other.bytes_per_token(DIM) <= scheme.bytes_per_token(DIM)]
    return min(fitting, key=lambda other: divergences[other.name]).name if fitting else ""
