"""A conversation's messages as a tree: which branch is shown, and what else could stand in a message's place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from app.library.records import Message


class Tree:
    """`messages` in the order in which they were written; damaged ones are missing.

    A message whose parent is missing hangs on the one that was written before it, so that a lost message hides none of
    those behind it. A parent is always older than its child: a damaged link can't go in circles.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = {message.id: message for message in messages}
        places = {message.id: place for place, message in enumerate(messages)}
        self._parents: dict[str, str | None] = {}
        self._children: defaultdict[str | None, list[str]] = defaultdict(list)
        for place, message in enumerate(messages):
            parent = message.parent
            if parent is not None and places.get(parent, place) >= place:
                parent = messages[place - 1].id if place else None
            self._parents[message.id] = parent
            self._children[parent].append(message.id)

    def branch(self, leaf: str | None) -> list[Message]:
        """From the first message to `leaf`; to the newest one when that is missing."""
        at = leaf if leaf is None or leaf in self._messages else next(reversed(self._messages), None)
        branch = []
        while at is not None:
            branch.append(self._messages[at])
            at = self._parents[at]
        return branch[::-1]

    def parent(self, message: str) -> str | None:
        return self._parents[message]

    def siblings(self, message: str) -> tuple[str, ...]:
        """What can stand in this message's place, itself included, the oldest first."""
        return tuple(self._children[self._parents[message]])

    def leaf(self, message: str) -> str:
        """The end of the branch that was shown last of those through `message`. Raises KeyError."""
        while children := self._children[self._messages[message].id]:
            shown = self._messages[message].shown
            message = shown if shown in children else children[-1]
        return message
