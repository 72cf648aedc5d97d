"""What stands before a load: whether the model would fit."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from app.engine import fit
from app.engine.model_folder import ModelFolder
from app.errors import AppError
from app.model_events import LoadModel, ModelFit
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
        f"{found.name} wasn't loaded: it takes {fit.gigabytes(needed)} with {tokens:,} tokens {_under(scheme)}, and "
        f"{fit.gigabytes(machine.free_bytes)} of memory are free.",
        _offers(forecast, machine, scheme, tokens),
        fit=fit.fit(forecast, machine),
    )


def _offers(forecast: fit.Forecast, machine: fit.Machine, scheme: str, tokens: int) -> str:
    """What would fit: another scheme, a shorter conversation; else what could be done about it."""
    fitting = [s.name for s in schemes.SCHEMES if forecast.needed_bytes(s.name, tokens) <= machine.free_bytes]
    shorter = forecast.longest_tokens(scheme, machine.free_bytes)
    offers = []
    if fitting:
        offers.append(f"choose the scheme {fitting[0]}")
    if shorter >= fit.USEFUL:
        offers.append(f"limit conversations to {shorter:,} tokens")
    if not offers and forecast.weights_bytes + forecast.work_bytes <= machine.usable_bytes:
        offers.append("close other programs")
    return f"You can {', or '.join([*offers, 'choose a smaller model'])}."


def _under(scheme: str) -> str:
    return "uncompressed" if scheme == schemes.NONE.name else f"under {scheme}"
