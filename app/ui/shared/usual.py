"""What a person usually wants: settings that the preferences write and the rest of the window reads."""

from __future__ import annotations

from app.library.records import is_scheme
from app.settings import Settings

USUAL_SCHEME = "usual_scheme"  # empty: a new conversation has the one chosen last
OPEN_LAST = "open_last_conversation"
LOAD_LAST = "load_last_model"
IDLE_MINUTES = "idle_unload_minutes"  # 0: never


def usual_scheme(settings: Settings) -> str:
    """For new conversations; empty: the one chosen last."""
    return settings.get(USUAL_SCHEME, "", valid=lambda name: not name or is_scheme(name))


def idle_minutes(settings: Settings) -> int:
    return settings.get(IDLE_MINUTES, 0, valid=lambda minutes: minutes >= 0)
