"""The branch of a conversation in the transcript."""

from __future__ import annotations

from app.library.conversations import Library
from app.ui.chat.cache_view import CacheView
from app.ui.chat.chat_items import ChatItems
from app.ui.transcript.pieces import MESSAGE
from app.ui.transcript.reply_view import ReplyView
from app.ui.transcript.transcript import Transcript


class Shown:
    """`messages` are the ids of those in it."""

    def __init__(self, library: Library, cache: CacheView, items: ChatItems, transcript: Transcript) -> None:
        self._library, self._cache, self._items, self._transcript = library, cache, items, transcript
        self.messages: list[str] = []

    def clear(self) -> None:
        self.messages = []
        self._transcript.show_items([])

    def show(self, conversation_id: str) -> None:
        """All of it."""
        messages, versions = self._library.branch(conversation_id)
        self.messages = [message.id for message in messages]
        self._transcript.show_items(self._items.makers(messages, versions, self._cache.switches(conversation_id)))

    def go_on(self, conversation_id: str) -> bool:
        """The branch has grown, or is another one from some message on: only what is new of it is made anew. Returns
        whether something of the old one is gone.
        """
        before, (messages, versions) = self.messages, self._library.branch(conversation_id)
        self.messages = [message.id for message in messages]
        pairs = enumerate(zip(before, self.messages, strict=False))
        common = next((place for place, (old, new) in pairs if old != new), min(len(before), len(messages)))
        if common < len(before):
            self._cache.branched(conversation_id)
        items = self._transcript.items()
        for item in items:
            if isinstance(item, ReplyView):
                item.drop_retry()
        behind = self.messages[common - 1] if common else None
        known = [item.property(MESSAGE) for item in items]
        if behind is None or behind in known:
            makers = self._items.makers(messages, versions, self._cache.switches(conversation_id), behind)
            self._transcript.replace_from(known.index(behind) + 1 if behind else 0, makers)
        else:  # it isn't made yet
            self.show(conversation_id)
        return common < len(before)
