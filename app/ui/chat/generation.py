"""What the replies of the conversation on screen are made with, and the profiles."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import QObject, Signal

from app import generation
from app.generation import Chosen, GenerationParams, Value
from app.library.conversations import Library
from app.library.profiles import NAME_LETTERS, Profile
from app.ui.composer.message_edit import says_something
from app.ui.models.model_link import ModelLink
from app.ui.shared import formats
from app.ui.shared.notice_bar import NoticeBar
from app.ui.shared.writing import Writing

UNDO_S = 12.0


class Generation(QObject):
    """`chosen` are the fields that the user has set; `changed` when they, the profiles or the model are others."""

    changed = Signal()

    def __init__(
        self, library: Library, writing: Writing, models: ModelLink, notices: NoticeBar, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._library, self._writing, self._models, self._notices = library, writing, models, notices
        self._conversation = ""
        self._used = ""  # the profile that was applied last
        self.for_new: Chosen = library.profiles.for_new()
        self.chosen: dict[str, Value] = dict(self.for_new)
        models.changed.connect(self.changed)

    # ------------------------------------------------------------ what holds

    @property
    def of_model(self) -> Mapping[str, Value]:
        return dict(self._models.model.generation) if self._models.model else {}

    @property
    def thinks(self) -> bool | None:
        """Whether the model thinks unless told otherwise; None where that can't be switched."""
        return self._models.model.thinking if self._models.model else None

    @property
    def context_tokens(self) -> int:
        return self._models.model.context_tokens if self._models.model else 0

    @property
    def params(self) -> GenerationParams:
        """For the conversation on screen."""
        return generation.resolve(self.chosen, self.of_model)

    def params_of(self, conversation_id: str) -> GenerationParams:
        if conversation_id == self._conversation:
            return self.params
        return generation.resolve(self._library.generation(conversation_id), self.of_model)

    def start_with(self, chosen: Chosen) -> None:
        """New conversations begin with this, until the program ends."""
        self.for_new = dict(chosen)
        if not self._conversation:
            self.apply(chosen)

    # ------------------------------------------------------------ which conversation

    def show(self, conversation_id: str) -> None:
        """Another conversation is on screen; an empty id is a new one."""
        if conversation_id and conversation_id == self._conversation:
            return
        self._conversation, self._used = conversation_id, ""
        self.chosen = self._library.generation(conversation_id) if conversation_id else dict(self.for_new)
        self.changed.emit()

    def adopt(self, conversation_id: str) -> None:
        """What is on screen goes on as this conversation, which has just been made."""
        self._conversation = conversation_id
        self._write()

    # ------------------------------------------------------------ what the user chooses

    def set(self, name: str, value: Value) -> None:
        """Raises ValueError for what the field doesn't take."""
        if not generation.valid(name, value):
            raise ValueError(f"{name}: {value!r:.60}")
        if name not in self.chosen or self.chosen[name] != value:
            self.apply({**self.chosen, name: value})

    def reset(self, name: str) -> None:
        """The field follows the model again."""
        self.apply({field: value for field, value in self.chosen.items() if field != name})

    def apply(self, chosen: Chosen) -> None:
        """All of it at once. A profile whose settings these were is the one that is changed now."""
        current = self.profile
        self._choose(chosen, current.name if current else "")

    def _choose(self, chosen: Chosen, used: str) -> None:
        self.chosen, self._used = dict(chosen), used
        self._write()
        self.changed.emit()

    def _write(self) -> None:
        if self._conversation:
            write = partial(self._library.set_generation, self._conversation, dict(self.chosen))
            self._writing.put(("generation", self._conversation), write)

    # ------------------------------------------------------------ profiles

    @property
    def profiles(self) -> list[Profile]:
        return self._library.profiles.all()

    @property
    def profile(self) -> Profile | None:
        """The one whose settings these are, or that was applied last and has been changed since."""
        profiles = self.profiles
        same = [profile for profile in profiles if profile.chosen == self.chosen]
        used = [profile for profile in profiles if profile.name == self._used]
        return next(iter([*(profile for profile in used if profile in same), *same, *used]), None)

    def use(self, name: str) -> None:
        """Apply a profile; without a name, what the model has by itself."""
        found = next((profile for profile in self.profiles if profile.name == name), None)
        self._choose(found.chosen if found else {}, name if found else "")

    def hindrance(self, name: str, instead_of: str = "") -> str:
        """Why a profile can't be called so; empty when it can. `instead_of`: the one that is renamed."""
        if not says_something(name):
            return self.tr("Give it a name.")
        if len(name.strip()) > NAME_LETTERS:
            return self.tr("That name is too long.")
        taken = {profile.name.casefold() for profile in self.profiles} - {instead_of.casefold()}
        return self.tr("There is a profile of that name.") if name.strip().casefold() in taken else ""

    def save_as(self, name: str) -> None:
        name = name.strip()
        if self._change(partial(self._library.profiles.save, name, dict(self.chosen))):
            self._used = name
            self._changed()

    def rename(self, name: str, new: str) -> None:
        new = new.strip()
        if self._change(partial(self._library.profiles.rename, name, new)):
            self._used = new if self._used == name else self._used
            self.changed.emit()

    def delete(self, name: str) -> None:
        found = next((profile for profile in self.profiles if profile.name == name), None)
        if found and self._change(partial(self._library.profiles.delete, name)):
            words = self.tr("The profile “{0}” is deleted. Conversations keep their settings.")
            undo = partial(self._bring_back, found)
            self._notices.show_notice(words.format(formats.short(name)), self.tr("Undo"), undo, timeout_s=UNDO_S)
            self._changed()

    def begin_with(self, name: str) -> None:
        """New conversations begin with this profile; without a name, with what the model has by itself."""
        if self._change(partial(self._library.profiles.begin_with, name or None)):
            self._changed()

    def _bring_back(self, profile: Profile) -> None:
        if self._change(partial(self._library.profiles.save, profile.name, profile.chosen)) and profile.first:
            self._change(partial(self._library.profiles.begin_with, profile.name))
        self._changed()

    def _change(self, write: partial[None]) -> bool:
        """Whether it is written; where the disk refuses it, that is said."""
        try:
            return self._writing.done(write)
        except sqlite3.IntegrityError:  # a name that another window has taken meanwhile
            return False

    def _changed(self) -> None:
        self.for_new = self._library.profiles.for_new()
        self.changed.emit()
