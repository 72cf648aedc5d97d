"""What is said in a conversation: what the model reads of it, and what each choice of the user changes in the library.

Steps of several calls are meant to be one transaction: see Writing.now.
"""

from __future__ import annotations

from app.events import ChatMessage
from app.library.conversations import Library
from app.library.records import Message


class Said:
    def __init__(self, library: Library) -> None:
        self._library = library

    def to_read(self, conversation_id: str, until: str | None = None) -> tuple[ChatMessage, ...]:
        """What the model reads: the branch from where its context starts, without replies that say nothing."""
        messages = self._library.messages(conversation_id)
        ends = [index for index, m in enumerate(messages) if m.id == until]
        messages = messages[: ends[0] + 1] if ends else messages
        starts = [index for index, m in enumerate(messages) if m.starts_context]
        messages = messages[starts[-1] :] if starts else messages
        return tuple(m.as_chat() for m in messages if m.content)

    def message(self, message_id: str) -> Message:
        """Raises KeyError."""
        return self._library.message(message_id)

    def last_by_user(self, conversation_id: str, before: str = "") -> Message | None:
        """In the branch shown; `before` this message, if it is in it."""
        messages = self._library.messages(conversation_id)
        ends = [index for index, m in enumerate(messages) if m.id == before]
        messages = messages[: ends[0]] if ends else messages
        return next((m for m in reversed(messages) if m.role == "user"), None)

    def versions(self, message: Message) -> tuple[str, ...]:
        """All that can stand in the place of a message of the branch shown; empty where nothing else can."""
        return self._library.branch(message.conversation)[1].get(message.id, ())

    def show(self, message_id: str) -> Message:
        """Show the branch with this message."""
        message = self._library.message(message_id)
        self._library.show(message.conversation, message_id)
        return message

    # ------------------------------------------------------------ steps; each returns the place of a new reply

    def say(self, conversation_id: str, text: str, scheme: str) -> Message:
        return self.answer(self._library.add_user_message(conversation_id, text), scheme)

    def say_first(self, text: str, scheme: str, model: str) -> Message:
        """In a new conversation."""
        return self.say(self._library.create(scheme, model).id, text, scheme)

    def answer(self, message: Message, scheme: str) -> Message:
        """Once more, if it was answered before: that stays as another branch."""
        return self._library.begin_reply(message.conversation, scheme, message.id)

    def go_on(self, message: Message, scheme: str) -> Message:
        """The same reply, where it was cut."""
        return self._library.resume_reply(message, scheme)

    def edit(self, message: Message, text: str, scheme: str) -> Message:
        """Something else in its place: what was said before stays as another branch."""
        return self.answer(self._library.edit(message, text), scheme)

    def answer_from(self, start: str, message: Message, scheme: str) -> Message:
        """The model reads from `start` on."""
        self._library.start_context(start)
        return self.answer(message, scheme)

    def move(self, message: Message, scheme: str, model: str) -> Message:
        """A message without a reply goes into a new conversation."""
        self.take_back(message)
        return self.say_first(message.content, scheme, model)

    def take_back(self, message: Message) -> bool:
        """Remove a message without a reply, and a conversation that says nothing else. False: it has been answered
        before, so it stays.
        """
        try:
            self._library.remove_message(message.id)
        except KeyError:
            return False
        if self.is_empty(message.conversation):
            self._library.delete(message.conversation)
        return True

    def is_empty(self, conversation_id: str) -> bool:
        return not self._library.messages(conversation_id)
