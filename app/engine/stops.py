"""Strings that end a reply: found wherever the tokens' edges lie, never shown."""

from __future__ import annotations

from collections.abc import Sequence


class StopFinder:
    """Passes text on, but for what may be the beginning of a stop string. `found` once one has come: nothing of it, or
    behind it, is passed on. `before` is what the text goes on from: `held` of its letters may begin a stop string, and
    come again.
    """

    def __init__(self, stops: Sequence[str], before: str = "") -> None:
        self._stops = tuple(stop for stop in stops if stop)
        self.held = max((_begun(stop, before) for stop in self._stops), default=0)
        self._held = before[len(before) - self.held :]
        self.found = False

    def push(self, text: str) -> str:
        """More of the reply; returns what can be shown by now."""
        if self.found:
            return ""
        text = self._held + text
        places = [place for stop in self._stops if (place := text.find(stop)) >= 0]
        if places:
            self.found = True
            cut = min(places)
        else:
            cut = len(text) - max((_begun(stop, text) for stop in self._stops), default=0)
        self._held = "" if self.found else text[cut:]
        return text[:cut]

    def finish(self) -> str:
        """What was held back: a stop string whose end never came."""
        text, self._held = self._held, ""
        return text


def _begun(stop: str, text: str) -> int:
    """How many letters at the end of `text` are the beginning of `stop`."""
    return next((size for size in range(min(len(stop) - 1, len(text)), 0, -1) if text.endswith(stop[:size])), 0)
