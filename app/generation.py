"""What a reply is made with: the fields, their limits, and what holds where the user has chosen nothing.

A conversation and a profile keep only what was chosen, as one JSON object. All else follows the model's
generation_config.json, and where that is silent the program's defaults.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

log = logging.getLogger(__name__)

Value = str | float | int | bool | tuple[str, ...]
Chosen = Mapping[str, Value]  # field of GenerationParams → what the user wants


@dataclass(frozen=True)
class GenerationParams:
    """`seed` None: another reply each time. `thinking` None: as the chat template has it. `repetition_context`: so many
    of the last tokens are held down by `repetition_penalty`.
    """

    system_prompt: str = ""
    temperature: float = 0.7
    top_p: float = 0.95
    top_k: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    repetition_context: int = 64
    max_tokens: int = 2048
    seed: int | None = None
    stop: tuple[str, ...] = ()
    thinking: bool | None = None


DEFAULTS = GenerationParams()


@dataclass(frozen=True)
class Range:
    """The numbers that a field takes, both ends among them. `decimals` 0: whole numbers."""

    least: float
    most: float
    decimals: int = 0

    def holds(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        whole = self.decimals > 0 or isinstance(value, int)
        return whole and self.least <= value <= self.most  # neither holds of a NaN


RANGES = {
    "temperature": Range(0.0, 2.0, 2),
    "top_p": Range(0.01, 1.0, 2),
    "top_k": Range(0, 1000),
    "min_p": Range(0.0, 1.0, 2),
    "repetition_penalty": Range(0.5, 2.0, 2),
    "repetition_context": Range(1, 4096),
    "max_tokens": Range(1, 1 << 20),
    "seed": Range(0, (1 << 32) - 1),
}
STOPS_MOST = 16  # strings
STOP_LETTERS = 200
PROMPT_LETTERS = 100_000


def valid(name: str, value: object) -> bool:
    if name in RANGES:
        return RANGES[name].holds(value)
    match name, value:
        case "system_prompt", str():
            return len(value) <= PROMPT_LETTERS and _is_whole(value)
        case "thinking", bool():
            return True
        case "stop", tuple():
            return len(value) <= STOPS_MOST and all(
                isinstance(part, str) and 0 < len(part) <= STOP_LETTERS and _is_whole(part) for part in value
            )
    return False


def read(text: str) -> dict[str, Value]:
    """What `write` wrote. A field that is damaged, or that this version doesn't know, isn't chosen; others are."""
    if not text:
        return {}
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        log.warning("damaged settings of a conversation are left out: %.60r", text)
        return {}
    return _sound(document)


def write(chosen: Chosen) -> str:
    """As JSON; empty where nothing is chosen."""
    return json.dumps(dict(chosen), ensure_ascii=False, sort_keys=True) if chosen else ""


def of_model(document: Mapping[str, Any]) -> dict[str, Value]:
    """What a model's generation_config.json asks for; a field out of its range isn't taken."""
    names = {"temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "min_p": "min_p",
             "repetition_penalty": "repetition_penalty", "max_new_tokens": "max_tokens"}  # fmt: skip
    found = {ours: document[theirs] for theirs, ours in names.items() if document.get(theirs) is not None}
    if document.get("do_sample") is False:
        found["temperature"] = 0.0
    return _sound(found)


def resolve(chosen: Chosen, model: Chosen) -> GenerationParams:
    """What holds: the user's choice, else the model's own, else the program's."""
    merged: dict[str, Any] = {**model, **chosen}
    return replace(DEFAULTS, **merged)


def _is_whole(text: str) -> bool:
    """Half a letter of UTF-16, which JSON can name, can't be stored or read by a model."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def _sound(document: Mapping[str, Any]) -> dict[str, Value]:
    sound: dict[str, Value] = {}
    for name, value in document.items():
        if isinstance(value, list):
            value = tuple(value)
        if valid(name, value):
            sound[name] = float(value) if name in RANGES and RANGES[name].decimals else value
        else:
            log.warning("an odd setting is left out: %s is %.60r", name, value)
    return sound
