"""Frozen values about models that cross between the window and the engine thread: what one takes, loading, unloading.

Sizes are bytes. Predictions all of them, from a model's config.json, but for the machine's own memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# ---------------------------------------------------------------- what a model takes on this machine


@dataclass(frozen=True)
class SchemeFit:
    """One scheme. `cache_bytes` stand beside ModelFit's `lengths`. `longest_tokens`: the longest context that fits in
    the memory that is free now, at most the model's own; 0 where not even a short one does.
    """

    scheme: str
    cache_bytes: tuple[int, ...]
    longest_tokens: int
    layers_compressed: int


@dataclass(frozen=True)
class ModelFit:
    """What a model takes in memory here, and what that means.

    `weights_bytes` as they lie in memory: where MLX runs on the CPU they become float32. `work_bytes`: what computing
    takes beside them. `usable_bytes` of `total_bytes` is what models may take at all, `free_bytes` what they may take
    now. `context_tokens`: the longest that the model was trained for. `notes`: kinds of layers that stay raw, and why.

    `verdict`: fits; tight (only when other programs give memory back, or with a short context); too large. `words`
    says it in a sentence or two.
    """

    weights_bytes: int
    work_bytes: int
    total_bytes: int
    usable_bytes: int
    free_bytes: int
    context_tokens: int
    lengths: tuple[int, ...]
    schemes: tuple[SchemeFit, ...]
    layers_total: int
    verdict: Literal["fits", "tight", "too large"]
    words: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class JudgeFit:
    """Answered by FitJudged, also while a reply is running. `model` is handed back; `config` is config.json's text.

    `weights_bytes`: of the weight files, where they are known; else it follows from the config.
    """

    model: str
    config: str
    weights_bytes: int = 0


@dataclass(frozen=True)
class FitJudged:
    """`fit` is None where nothing can be said, for `reason`."""

    model: str
    fit: ModelFit | None
    reason: str = ""


# ---------------------------------------------------------------- loading


@dataclass(frozen=True)
class LoadModel:
    """Load the model in the folder `path` in place of the one at hand.

    `scheme` and `context_tokens` (0: a short one) are what it must have memory for; a positive `context_tokens` is also
    the most that a conversation may use. `anyway`: although it seems not to fit.
    """

    path: str
    scheme: str = "none"
    context_tokens: int = 0
    anyway: bool = False


@dataclass(frozen=True)
class UnloadModel:
    """Give the model's memory back. The next reply or switch loads it again. `idle`: nobody asked for it."""

    idle: bool = False


@dataclass(frozen=True)
class ModelLoadProgress:
    """Weights read so far, of all."""

    path: str
    done_bytes: int
    total_bytes: int


@dataclass(frozen=True)
class ModelUnloaded:
    """Its memory was given back; caches are saved. `idle`: because nothing was asked for so long."""

    path: str
    name: str
    idle: bool
