"""What stands before a load: whether the model would fit."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from app.engine import fit
from app.engine.model_folder import ModelFolder
from app.errors import AppError
from app.model_events import LoadModel, ModelFit
from app.words import number, say, size
from turboquant import schemes
from turboquant.errors import UnsupportedModel

log = logging.getLogger(__name__)


@dataclass
class TooLarge(AppError):
    """A load that wouldn't fit was not tried. `fit` holds the numbers."""

    fit: ModelFit | None = None


def check_memory(found: ModelFolder, config: dict[str, Any], command: LoadModel, machine: fit.Machine) -> None:
    """Raise TooLarge where the model with the conversation that the command asks for doesn't fit in free memory.

    What the loaded model takes counts as free. A model that can't be forecast isn't held up: its load says why.
    """
    try:
        forecast = fit.Forecast(config, found.weights_bytes)
    except UnsupportedModel as error:
        log.warning("%s can't be forecast: %s", found.path, error)
        return
    scheme = schemes.parse(command.scheme).name
    tokens = command.context_tokens or min(fit.SHORT, forecast.context_tokens or fit.SHORT)
    needed = forecast.needed_bytes(scheme, tokens)
    if needed <= machine.free_bytes:
        return
    raise TooLarge(
        _reason(found.name, needed, tokens, scheme, machine),
        _offers(forecast, machine, scheme, tokens),
        fit=fit.fit(forecast, machine),
    )


def _reason(name: str, needed: int, tokens: int, scheme: str, machine: fit.Machine) -> str:
    figures = name, size(needed), number(tokens), size(machine.free_bytes)
    if scheme == schemes.NONE.name:
        return say(
            "{0} wasn't loaded: with {2} uncompressed tokens of conversation it takes {1}, and {3} of memory are free.",
            *figures,
        )
    return say(
        "{0} wasn't loaded: with {2} tokens of conversation under {4} it takes {1}, and {3} of memory are free.",
        *figures,
        scheme,
    )


def _offers(forecast: fit.Forecast, machine: fit.Machine, scheme: str, tokens: int) -> str:
    """What would fit: another scheme, a shorter conversation; else what could be done about it."""
    fitting = [s.name for s in schemes.SCHEMES if forecast.needed_bytes(s.name, tokens) <= machine.free_bytes]
    shorter = forecast.longest_tokens(scheme, machine.free_bytes)
    match bool(fitting), shorter >= fit.USEFUL:
        case True, True:
            return say(
                "Choose the scheme {0}, limit conversations to {1} tokens, or choose a smaller model.",
                fitting[0],
                number(shorter),
            )
        case True, False:
            return say("Choose the scheme {0}, or a smaller model.", fitting[0])
        case False, True:
            return say("Limit conversations to {0} tokens, or choose a smaller model.", number(shorter))
    if forecast.weights_bytes + forecast.work_bytes <= machine.usable_bytes:
        return say("Close other programs, or choose a smaller model.")
    return say("Choose a smaller model.")
