"""The column of conversations: the list, or what a search over all of them found, and the way to the models."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QModelIndex, QPoint, Qt, QTimer, Signal
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from app.library.records import Conversation
from app.library.search import Hit
from app.ui.conversations.conversation_list import ID_ROLE, PINNED_ROLE, ConversationList, ConversationModel
from app.ui.conversations.search_results import Result, ResultList, results
from app.ui.shared import theme
from app.ui.shared.cards import small_label
from app.ui.shared.search_field import SearchField

SEARCH_MS = 60  # after the last key
OPEN_MS = 150  # the same for walking through the list: what is only passed by isn't opened


class Sidebar(QWidget):
    """Emits what the user wants with a conversation; `refresh` shows the library's list.

    `searched(text)` asks for messages: `show_hits` answers. `menu_opened(menu, id)`: whoever has more to offer for a
    conversation adds it.
    """

    conversation_chosen = Signal(str)
    hit_chosen = Signal(object)  # a Result that has a message
    searched = Signal(str)
    left = Signal()  # the user is done here: a click, Enter, or Escape in the empty search
    rename_requested = Signal(str, str)
    pin_requested = Signal(str, bool)
    delete_requested = Signal(str)
    menu_opened = Signal(object, str)
    models_clicked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sidebar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 10, 8, 8)
        column.setSpacing(4)
        self.search = SearchField(self)
        self.search.setPlaceholderText(self.tr("Search"))
        self.search.setAccessibleName(self.tr("Search all conversations"))
        self.search.textChanged.connect(self.on_search_changed)
        self.search.left.connect(self.left)
        column.addWidget(self.search)
        self.model = ConversationModel(self)
        self.model.renamed.connect(self.rename_requested)
        self.list = ConversationList(self.model, self)
        self.list.itemDelegate().closeEditor.connect(self.on_editor_closed, Qt.ConnectionType.QueuedConnection)
        self.list.customContextMenuRequested.connect(self.on_menu_requested)
        self.list.delete_pressed.connect(self.on_delete)
        self.list.selectionModel().currentChanged.connect(self.on_current_changed)
        self.list.left.connect(self.on_open)
        self.list.left.connect(self.left)
        self.found = ResultList(self)
        self.found.chosen.connect(self.on_result_chosen)
        self.found.left.connect(self.search.setFocus)
        self.search.down_pressed.connect(self.found.enter)
        self.search.returnPressed.connect(self.found.choose_first)
        self.no_match = small_label(self.tr("Nothing found"), self)
        self.no_match.setContentsMargins(10, 6, 0, 0)
        for widget in (self.no_match, self.found):
            widget.hide()
        column.addWidget(self.no_match)
        column.addWidget(self.list, 1)
        column.addWidget(self.found, 1)
        self.models = QToolButton(self)
        self.models.setText(f" {self.tr('Models')}")
        self.models.setAccessibleName(self.tr("Models"))
        self.models.setProperty("role", "place")
        self.models.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.models.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.models.setCheckable(True)
        self.models.clicked.connect(self.models_clicked)
        column.addWidget(self.models)
        self._conversations: Sequence[Conversation] = ()
        self._hits: Sequence[Hit] = ()
        self._current = self._pending = ""  # pending: chosen with the keys, and not opened yet
        self._quiet = False
        self._open_timer = QTimer(self, singleShot=True, interval=OPEN_MS)
        self._open_timer.timeout.connect(self.on_open)
        self._search_timer = QTimer(self, singleShot=True, interval=SEARCH_MS)
        self._search_timer.timeout.connect(self.search_again)
        theme.theme().changed.connect(self.on_theme_changed)
        self.on_theme_changed()

    def on_theme_changed(self) -> None:
        self.models.setIcon(theme.icon("models"))
        self.list.on_fonts_changed()
        self.found.scheduleDelayedItemsLayout()

    # ------------------------------------------------------------ the list

    def refresh(self, conversations: Sequence[Conversation], current: str) -> None:
        self._conversations = conversations
        self._current = current = self._pending or current
        if self.list.editing:
            return  # a new list would take the name that is being typed; on_editor_closed comes back to it
        self._quiet = True
        self.model.set_conversations(conversations, datetime.date.today())
        row = self.model.row_of(current)
        if row >= 0:
            self.list.setCurrentIndex(self.model.index(row))
        else:
            self.list.clearSelection()
            self.list.setCurrentIndex(QModelIndex())
        self._quiet = False
        if self.searching:
            self._show_found()

    def on_editor_closed(self) -> None:
        self.refresh(self._conversations, self._current)

    def on_current_changed(self, current: QModelIndex, _previous: QModelIndex) -> None:
        chosen = current.data(ID_ROLE) if current.isValid() else None
        if chosen and not self._quiet and chosen != self._current:
            self._current = self._pending = str(chosen)
            self._open_timer.start()

    def on_open(self) -> None:
        chosen, self._pending = self._pending, ""
        if chosen:
            self.conversation_chosen.emit(chosen)

    # ------------------------------------------------------------ search

    @property
    def searching(self) -> bool:
        return bool(self.search.text().strip())

    def on_search_changed(self) -> None:
        """Titles are at hand; the messages are asked for when the fingers rest."""
        self._hits = ()
        self.list.setVisible(not self.searching)
        self.found.setVisible(self.searching)
        self.no_match.hide()
        if self.searching:
            self._show_found()
            self._search_timer.start()
        else:
            self._search_timer.stop()

    def search_again(self) -> None:
        if self.searching:
            self.searched.emit(self.search.text())

    def show_hits(self, hits: Sequence[Hit]) -> None:
        self._hits = hits
        self._show_found()
        self.no_match.setVisible(not self.found.results.results)

    def _show_found(self) -> None:
        words = self.search.text().casefold().split()
        self.found.results.set_results(results(self._conversations, self._hits, words))

    def on_result_chosen(self, result: Result) -> None:
        if result.message:
            self.hit_chosen.emit(result)
        else:
            self.conversation_chosen.emit(result.conversation)

    # ------------------------------------------------------------ what is done with one

    def on_menu_requested(self, position: QPoint) -> None:
        """For the row under the pointer; the conversation on screen stays there."""
        index = self.list.indexAt(position)
        chosen = index.data(ID_ROLE)
        if chosen is None:
            return
        menu, pinned = QMenu(self), bool(index.data(PINNED_ROLE))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self.tr("Rename"), partial(self._rename, str(chosen)))
        menu.addAction(
            self.tr("Unpin") if pinned else self.tr("Pin to the top"),
            partial(self.pin_requested.emit, str(chosen), not pinned),
        )
        self.menu_opened.emit(menu, str(chosen))
        menu.addSeparator()
        menu.addAction(self.tr("Delete"), partial(self.delete_requested.emit, str(chosen)))
        self.list.mark(index)
        menu.aboutToHide.connect(self.on_menu_closed)
        menu.popup(self.list.viewport().mapToGlobal(position))

    def on_menu_closed(self) -> None:
        self.list.mark(QModelIndex())

    def on_rename(self) -> None:
        """The one that is chosen."""
        self._rename(str(self.list.currentIndex().data(ID_ROLE)))

    def _rename(self, conversation_id: str) -> None:
        """In place. A list that a search covers comes back for it."""
        if self.list.editing:
            return
        self.search.clear()
        row = self.model.row_of(conversation_id)
        if row >= 0:
            self.list.edit(self.model.index(row))

    def on_delete(self) -> None:
        self.on_open()
        chosen = self.list.currentIndex().data(ID_ROLE)
        if chosen:
            self.delete_requested.emit(str(chosen))
