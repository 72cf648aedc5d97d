"""Which cache begins a prompt: of those in memory and on disk, the one that spares most of its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.engine import prompt, shelf
from app.engine.loader import LoadedModel
from app.engine.session import MIN_KEPT_TOKENS, Session, least_kept
from app.engine.shelf import Stored, Tokens
from app.errors import AppError
from app.events import Generate, OpenConversation, SwitchScheme

# A file that is read for less than this part of it costs more than it spares.
LEAST_PART = 1 / 16
# Spelling out a cache's text costs milliseconds: only for so many of a conversation's own files.
_LOOKED_INTO = 4


@dataclass(frozen=True)
class Offer:
    """`reach`: so many of the prompt's first tokens are in the cache, and can be had from it."""

    reach: int
    source: Session | Stored


class Wanted:
    """The prompt that a command leads to. `ids` is None where that isn't known: nothing is said yet, or the model can't
    be spoken to in this way.
    """

    def __init__(self, loaded: LoadedModel, command: OpenConversation | Generate | SwitchScheme) -> None:
        self._tokenizer = loaded.tokenizer
        self.ids: Tokens | None = None
        if command.messages:
            try:
                self._text = loaded.format.prompt(command).text
            except AppError:  # the turn will say so
                return
            self.ids = np.asarray(prompt.encode(self._tokenizer, self._text), np.int64)

    def shared(self, tokens: Sequence[int] | Tokens) -> int:
        """How many tokens the prompt shares with a cache's, both as the tokenizer writes them."""
        return 0 if self.ids is None else shelf.shared(np.asarray(tokens, np.int64), self.ids)

    def reach(self, tokens: Sequence[int] | Tokens) -> int:
        """How many tokens of a cache the prompt can keep, also where a reply was sampled in other tokens."""
        shared = self.shared(tokens)
        if self.ids is None or shared == min(len(tokens), len(self.ids)):
            return shared
        held = [int(token) for token in tokens]
        return prompt.common_prefix(held, prompt.continue_from(self._tokenizer, held, self._text))

    def offers(
        self, sessions: Sequence[Session], own: Sequence[Stored], others: Sequence[Stored], least: int
    ) -> list[Offer]:
        """The caches that serve for more than `least` tokens, best first: other conversations' in memory, this
        conversation's files, other conversations' files.
        """
        memory = [Offer(useful(self.shared(s.tokens), len(s.tokens), s.can_trim, s.scheme), s) for s in sessions]
        memory = [offer for offer in memory if offer.reach >= MIN_KEPT_TOKENS]
        near = sorted(own, key=lambda entry: self.shared(entry.tokens), reverse=True)
        mine = [
            Offer(useful(self.reach(entry.tokens), len(entry.tokens), not entry.whole, entry.scheme), entry)
            for entry in [entry for entry in near if len(entry.tokens) > least][:_LOOKED_INTO]
        ]
        mine = [o for o in mine if o.reach >= min(MIN_KEPT_TOKENS, LEAST_PART * len(o.source.tokens))]
        foreign = [Offer(useful(self.shared(e.tokens), len(e.tokens), not e.whole, e.scheme), e) for e in others]
        foreign = [
            offer
            for offer, entry in zip(foreign, others, strict=True)
            if offer.reach >= max(MIN_KEPT_TOKENS, LEAST_PART * len(entry.tokens))
        ]
        found = [offer for offer in (*memory, *mine, *foreign) if offer.reach > least]
        return sorted(found, key=lambda offer: offer.reach, reverse=True)  # stable: of equals the nearest comes first


def useful(reach: int, held: int, can_trim: bool, scheme: str) -> int:
    """`reach`, or 0 where a cache of `held` tokens under `scheme` can't be cut back to that."""
    return reach if reach == held or (can_trim and reach >= least_kept(scheme)) else 0
