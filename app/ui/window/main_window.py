"""The window: places the widgets, connects them, and remembers how it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QCloseEvent, QKeyEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QMainWindow, QVBoxLayout, QWidget

from app.engine.marker import Unfinished
from app.library.archive import ENDING as CHAT_ENDING
from app.library.conversations import Library
from app.library.records import DEFAULT_SCHEME, is_scheme
from app.library.search import words
from app.settings import Settings
from app.ui.chat.chat import Chat
from app.ui.composer.composer import Composer
from app.ui.conversations.browsing import Browsing
from app.ui.conversations.exchange import Exchange
from app.ui.conversations.search_results import Result
from app.ui.conversations.sidebar import Sidebar
from app.ui.conversations.storage import Storage
from app.ui.memory.memory_panel import MemoryPanel
from app.ui.models.downloads import DownloadNews, DownloadsButton
from app.ui.models.hub_link import Hub, HubLink
from app.ui.models.load_guard import LoadGuard
from app.ui.models.model_link import ModelLink
from app.ui.models.models_page import ModelsPage
from app.ui.replies.generation_panel import ReplySettings
from app.ui.shared import formats, reading_order
from app.ui.shared.actions import Actions
from app.ui.shared.columns import Columns
from app.ui.shared.drop_target import DropTarget
from app.ui.shared.notice_bar import NoticeBar
from app.ui.shared.pages import Pages
from app.ui.shared.turn import EngineLink
from app.ui.shared.usual import LOAD_LAST, OPEN_LAST, usual_scheme
from app.ui.transcript.find_bar import FindBar
from app.ui.transcript.over import Over
from app.ui.transcript.transcript import COLUMN_WIDTH, SIDE_MARGIN, Transcript
from app.ui.window import window_state
from app.ui.window.configuring import Configuring
from app.ui.window.help import Help
from app.ui.window.loading import Loading
from app.ui.window.resuming import Resuming
from app.ui.window.starter_install import Install, StarterInstall
from app.ui.window.tool_bar import ToolBar
from app.ui.window.welcome import Welcome


class MainWindow(QMainWindow):
    """`starter_installed` and `starter_install` are app.engine.starter's; tests give their own."""

    def __init__(self, library: Library, engine: EngineLink, hub: HubLink, settings: Settings,
                 starter_installed: Callable[[], Path | None], starter_install: Install) -> None:  # fmt: skip
        super().__init__()
        self.setWindowTitle(self.tr("TurboQuant Chat"))
        self.setMinimumSize(640, 420)
        self._library, self._engine, self._settings = library, engine, settings
        self.actions_ = Actions(self)
        self.sidebar, self.transcript, self.composer = Sidebar(), Transcript(), Composer()
        self.panel, self.notices, self.welcome = MemoryPanel(), NoticeBar(), Welcome()
        self.models, self.hub = ModelLink(engine, self), Hub(hub, self)
        self.models_page = ModelsPage(self.hub, self.models, settings)
        self.guard, self._drop_target = LoadGuard(self.models, self), DropTarget(self)
        self.find_bar = FindBar(self.transcript)
        self.chat = Chat(library, engine, self.models, self.transcript, self.composer, self.panel, self.notices, self)
        self.reply_settings = ReplySettings(self.chat, self.composer, self)
        self.browsing = Browsing(library, self.chat, self.sidebar, self.actions_, self)
        self.help = Help(self.actions_, self.models, self)
        self.storage = Storage(library, engine, self.chat, settings, self.notices, self)
        self.resuming = Resuming(self)
        self.exchange = Exchange(library, engine, self.chat, self.models, self.storage, settings, self.actions_,
                                 self.notices, self)  # fmt: skip
        self._installing = StarterInstall(starter_install, self.welcome, self.notices, self)
        self.loading = Loading(self.models, self.models_page, self.chat, self.welcome, self.notices, self._installing,
                               starter_installed, settings, self.actions_, self)  # fmt: skip
        self.configuring = Configuring(settings, engine, self.hub, self.chat, self.storage, self.actions_, self)
        self._news = DownloadNews(self.hub, self.models, self.notices, self)
        self._generating = False
        self._place()
        self._connect()
        window_state.restore(self, self._columns, settings)
        for notice in (library.notice, settings.notice):
            self.notices.show_notice(notice, trouble=True)
        self.chat.usual = usual_scheme(settings)
        self.chat.picked = settings.get("scheme", DEFAULT_SCHEME, valid=is_scheme)
        self.chat.new()

    # ------------------------------------------------------------ building

    def _place(self) -> None:
        center = QWidget(self)
        center.setObjectName("center")
        center.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        column = QVBoxLayout(center)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.transcript, 1)
        Over(self.transcript, self.find_bar, self.notices)
        column.addWidget(_Centered(self.composer, top=4, bottom=16))
        self.pages = Pages(center, self.welcome, self.models_page, self)
        self._columns = Columns(self.sidebar, self.pages, self.panel, self)
        self._columns.folded.connect(self.on_folded)
        self.setCentralWidget(self._columns)
        self._place_tool_bar()
        reading_order.arrange(self)

    def _place_tool_bar(self) -> None:
        self.downloads_button = DownloadsButton(self.hub, self)
        self.tool_bar = ToolBar(self.actions_, self.loading.button, self.downloads_button, self)
        self.addToolBar(self.tool_bar)
        self.setUnifiedTitleAndToolBarOnMac(True)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        if self.tool_bar.menu_button is None:
            self.actions_.fill_menu_bar(self.menuBar())

    def _connect(self) -> None:
        a = self.actions_
        a.models.triggered.connect(self.on_models)
        a.downloads.triggered.connect(self.downloads_button.click)
        a.close.triggered.connect(self.close)
        a.quit.triggered.connect(self.close)
        a.minimize.triggered.connect(self.showMinimized)
        a.sidebar.triggered.connect(self.on_toggle_sidebar)
        a.panel.triggered.connect(self.on_toggle_panel)
        a.find.triggered.connect(self.find_bar.open_bar)
        a.find_next.triggered.connect(self.find_bar.on_next)
        a.find_previous.triggered.connect(self.find_bar.on_previous)
        self.chat.list_changed.connect(self.on_conversation_shown)
        self.sidebar.search.textChanged.connect(self.find_bar.on_search_changed)
        self.sidebar.hit_chosen.connect(self.on_hit_chosen)
        a.search.triggered.connect(self.on_search)
        a.scheme.triggered.connect(self.on_change_scheme)
        a.send.triggered.connect(self.composer.on_submitted)
        a.attach.triggered.connect(self.composer.on_attach)
        a.reply_settings.triggered.connect(self.on_reply_settings)
        a.stop.triggered.connect(self.chat.stop)
        a.edit_last.triggered.connect(self.chat.choices.on_edit_last)
        a.again.triggered.connect(self.chat.choices.on_retry)
        a.go_on.triggered.connect(self.chat.choices.on_go_on_last)
        self.browsing.chat_wanted.connect(self.on_to_chat)
        self.browsing.list_wanted.connect(self.on_list_wanted)
        self.browsing.titled.connect(self.on_titled)
        self.browsing.opening.connect(self.pages.leave_models)
        self.sidebar.models_clicked.connect(self.on_models)
        self.sidebar.left.connect(self.on_to_chat)
        self.loading.begun.connect(self.on_to_chat)
        self.loading.changed.connect(self._show_page)
        self.guard.scheme_taken.connect(self.chat.on_scheme_picked)
        for picked in (self.panel.picker.scheme_picked, self.guard.scheme_taken):
            picked.connect(self.on_scheme_picked)
        self.guard.smaller_wanted.connect(self.on_models)
        self.exchange.opened.connect(self.on_to_chat)
        self.sidebar.menu_opened.connect(self.exchange.fill)
        self.resuming.load_wanted.connect(self.load_model)
        self.resuming.other_wanted.connect(self.on_models)
        self.resuming.report_wanted.connect(self.help.on_report)
        self.resuming.left.connect(self.loading.on_missing)
        self.models_page.account_clicked.connect(self.configuring.on_account)
        self.models_page.left.connect(self.on_to_chat)
        self.pages.turned.connect(self.on_page_turned)
        self._drop_target.dropped.connect(self.on_dropped)
        self._drop_target.takes_texts = self.takes_texts
        self._drop_target.texts_dropped.connect(self.composer.add_files)
        self._news.load_wanted.connect(self.load_model)
        self.downloads_button.card.load_clicked.connect(self.load_model)
        self.downloads_button.card.account_clicked.connect(self.configuring.on_account)
        self.hub.download_changed.connect(self.on_downloads_changed)
        self.hub.download_removed.connect(self.on_downloads_changed)
        self.on_downloads_changed()
        self.chat.turn_changed.connect(self.on_turn_changed)
        self.welcome.find_clicked.connect(self.on_models)
        self.composer.sendable_changed.connect(self._allow_commands)

    def start(self, unfinished: Unfinished | None = None) -> None:
        """Open the conversation used last. Load the model used last, else the starter; without either the welcome page
        stays. The preferences say whether. After a run that ended in `unfinished` work no model is loaded.
        """
        if self._settings.get(OPEN_LAST, True) and (newest := self.chat.newest()):
            self.chat.open(newest)
        if self._settings.get(LOAD_LAST, True) and unfinished is None:
            self.loading.load_usual()
        self._show_page()
        self._focus_page()
        self.storage.tell_unsaved()
        if unfinished is not None:
            self.resuming.begin(unfinished, self.storage.title(unfinished.conversation))

    # ------------------------------------------------------------ side columns

    def _allow_columns(self) -> None:
        """Memory is measured beside the chat only; the list has no place beside the welcome page while it is empty."""
        if self.pages.on_welcome:
            self._columns.allow(("sidebar",) if self._library.conversations() else ())
        else:
            self._columns.allow(("sidebar",) if self.pages.on_models else ("sidebar", "panel"))

    def on_folded(self) -> None:
        shown = self._columns.shown
        self.actions_.sidebar.setChecked(shown["sidebar"])
        self.actions_.panel.setChecked(shown["panel"])
        self.actions_.panel.setEnabled(not (self.pages.on_welcome or self.pages.on_models))

    def on_toggle_sidebar(self) -> None:
        self._columns.toggle("sidebar", self.actions_.sidebar.isChecked())

    def on_toggle_panel(self) -> None:
        self._columns.toggle("panel", self.actions_.panel.isChecked())

    # ------------------------------------------------------------ commands

    def on_to_chat(self) -> None:
        self.pages.leave_models()
        self._focus_page()

    def on_hit_chosen(self, result: Result) -> None:
        """It is on screen: what was searched for is marked in it."""
        self.find_bar.show_message(result.message, words(self.sidebar.search.text()), result.around)

    def on_conversation_shown(self) -> None:
        self.find_bar.show_conversation(self.chat.current)

    def on_list_wanted(self) -> None:
        self._columns.toggle("sidebar", True)

    def on_search(self) -> None:
        self.on_list_wanted()
        self.sidebar.search.setFocus()
        self.sidebar.search.selectAll()

    def on_reply_settings(self) -> None:
        self.pages.leave_models()
        self.reply_settings.on_open()

    def on_change_scheme(self) -> None:
        self.pages.leave_models()
        self._columns.toggle("panel", True)
        self.panel.picker.showPopup()

    def on_scheme_picked(self, name: str) -> None:
        self._settings.set("scheme", name)  # at once: a crash forgets no choice

    # ------------------------------------------------------------ models

    def load_model(self, path: str) -> None:
        self.loading.load(path)

    def on_models(self) -> None:
        self.pages.show_models()
        self.models_page.begin(self.chat.scheme)

    def takes_texts(self) -> bool:
        """Whether there is a composer on screen that a text could be dropped for."""
        return self.composer.isVisible()

    def on_dropped(self, path: Path) -> None:
        """A file from the desktop, however it came: a conversation, else a model."""
        if path.suffix.lower() == CHAT_ENDING:
            self.exchange.import_files([path])
            return
        self.pages.show_models()
        self.models_page.begin(self.chat.scheme, installed=True)
        self.models_page.installed.add(path)

    def on_downloads_changed(self) -> None:
        self.tool_bar.show_downloads(bool(self.hub.downloads))
        self.actions_.downloads.setEnabled(bool(self.hub.downloads))

    def _show_page(self) -> None:
        """The welcome page while there is nothing to talk to and nothing to read."""
        self.pages.set_welcome(self.chat.model is None and not self.models.loading and not self.chat.current)
        self._allow_commands()

    def on_page_turned(self) -> None:
        self._allow_columns()
        self.sidebar.models.setChecked(self.pages.on_models)
        self.browsing.set_shown(not self.pages.on_models)
        self._allow_commands()
        self._allow_stop()
        self._focus_page()

    def _allow_commands(self) -> None:
        """What is done to something needs it to be there, and on screen."""
        a, pages = self.actions_, self.pages
        a.attach.setEnabled(not (pages.on_models or pages.on_welcome))
        a.send.setEnabled(a.attach.isEnabled() and self.composer.can_send)
        for action in (a.find, a.find_next, a.find_previous, a.edit_last, a.again):
            action.setEnabled(bool(self.chat.current) and not pages.on_models)
        a.go_on.setEnabled(a.again.isEnabled() and self.chat.choices.can_go_on)
        for action in (a.reply_settings, a.scheme):  # they leave the models
            action.setEnabled(not pages.welcome_waits)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """A letter that nothing in the transcript takes, after a press into its empty part say, begins the message."""
        focus, edit = QApplication.focusWidget(), self.composer.edit
        reading = focus is None or focus in (self, self.transcript) or self.transcript.isAncestorOf(focus)
        commands = (
            Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier
        )
        letters = event.text().strip() and event.text().isprintable() and not event.modifiers() & commands
        if reading and letters and edit.isVisible():
            edit.setFocus()
            QApplication.sendEvent(edit, event)
        else:
            super().keyPressEvent(event)

    def _focus_page(self) -> None:
        if not self.pages.on_models:
            (self if self.pages.on_welcome else self.composer.edit).setFocus()

    # ------------------------------------------------------------ what the chat says

    def on_titled(self, title: str) -> None:
        name = self.tr("TurboQuant Chat")
        self.setWindowTitle(f"{formats.short(title)} – {name}" if title else name)
        self._show_page()

    def on_turn_changed(self) -> None:
        if self._generating and not self.chat.generating and not self._busy_elsewhere():
            self.composer.edit.setFocus()
        self._generating = self.chat.generating
        self._allow_stop()
        self._allow_commands()

    def _allow_stop(self) -> None:
        """Where nobody sees what is running, Escape mustn't stop it."""
        runs = self.chat.generating or bool(self.panel.pending_text)
        self.actions_.stop.setEnabled(runs and not self.pages.on_models)

    def _busy_elsewhere(self) -> bool:
        """Whether the user is searching, renaming, walking through the list or in a popup."""
        focus = QApplication.focusWidget()
        return bool(QApplication.activePopupWidget()) or (focus is not None and self.sidebar.isAncestorOf(focus))

    def focusNextPrevChild(self, forward: bool) -> bool:
        return reading_order.step(self, forward)

    # ------------------------------------------------------------ closing

    def closeEvent(self, event: QCloseEvent) -> None:
        self.remember()
        super().closeEvent(event)

    def remember(self) -> None:
        """What the next start needs: geometry and columns."""
        window_state.remember(self, self._columns, self._settings)
        self.chat.end()
        self._installing.job.shutdown(1.0)
        self.models_page.installed.job.cancel()

    def close_library(self) -> None:
        """Write down what the engine said last. Nothing may be shown after this."""
        self.chat.on_save()
        self.browsing.stop()
        self.exchange.shutdown()
        self._library.close()


class _Centered(QWidget):
    """Keeps one widget in the middle, as wide as the text's column at most."""

    def __init__(self, widget: QWidget, top: int, bottom: int) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(SIDE_MARGIN, top, SIDE_MARGIN, bottom)
        widget.setMaximumWidth(COLUMN_WIDTH)
        row.addWidget(widget)
