"""The window: places the widgets, connects them, and remembers how it was."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QHBoxLayout, QMainWindow, QMenu, QVBoxLayout, QWidget

from app.engine.marker import Unfinished
from app.errors import AppError
from app.events import LoadModel
from app.library.conversations import Library
from app.library.records import DEFAULT_SCHEME, is_scheme
from app.settings import Settings
from app.ui import formats, reading_order, window_state
from app.ui.actions import Actions
from app.ui.appearance import Appearance
from app.ui.browsing import Browsing
from app.ui.chat import Chat
from app.ui.columns import Columns
from app.ui.composer import Composer
from app.ui.downloads import DownloadNews, DownloadsButton
from app.ui.drop_target import DropTarget
from app.ui.find_bar import FindBar
from app.ui.generation_panel import ReplySettings
from app.ui.help import Help
from app.ui.hub_link import Hub, HubLink
from app.ui.load_guard import LoadGuard
from app.ui.memory_panel import MemoryPanel
from app.ui.model_button import ModelButton
from app.ui.model_link import ModelLink
from app.ui.models_page import ModelsPage
from app.ui.notice_bar import NoticeBar
from app.ui.pages import Pages
from app.ui.preference_pages import LOAD_LAST, OPEN_LAST, idle_minutes, usual_scheme
from app.ui.preferences import Preferences
from app.ui.resuming import Resuming
from app.ui.sidebar import Sidebar
from app.ui.starter_install import Install, StarterInstall
from app.ui.storage import Storage
from app.ui.storage_page import StoragePage
from app.ui.tool_bar import ToolBar
from app.ui.transcript import COLUMN_WIDTH, SIDE_MARGIN, Transcript
from app.ui.turn import EngineLink
from app.ui.welcome import Welcome


class MainWindow(QMainWindow):
    """`starter_installed` and `starter_install` are app.engine.starter's; tests give their own."""

    def __init__(self, library: Library, engine: EngineLink, hub: HubLink, settings: Settings,
                 starter_installed: Callable[[], Path | None], starter_install: Install) -> None:  # fmt: skip
        super().__init__()
        self.setWindowTitle(self.tr("TurboQuant Chat"))
        self.setMinimumSize(640, 420)
        self._library, self._engine, self._settings = library, engine, settings
        self._starter_installed = starter_installed
        self.appearance = Appearance(settings, self)
        self.actions_ = Actions(self)
        self.sidebar, self.transcript, self.composer = Sidebar(), Transcript(), Composer()
        self.panel, self.notices, self.welcome = MemoryPanel(), NoticeBar(), Welcome()
        self.models, self.hub = ModelLink(engine, self), Hub(hub, self)
        self.models_page = ModelsPage(self.hub, self.models, settings)
        self.guard, self._drop_target = LoadGuard(self.models, self), DropTarget(self)
        self.find_bar = FindBar(self.transcript)
        self._preferences: Preferences | None = None
        self.chat = Chat(library, engine, self.models, self.transcript, self.composer, self.panel, self.notices, self)
        self.reply_settings = ReplySettings(self.chat, self.composer, self)
        self.browsing = Browsing(library, self.chat, self.sidebar, self.actions_, settings, self)
        self.help = Help(self.actions_, self.models, self)
        self.storage = Storage(library, engine, self.chat, settings, self.notices, self)
        self.resuming = Resuming(self)
        self._installing = StarterInstall(starter_install, self.welcome, self.notices, self)
        self._news = DownloadNews(self.hub, self.models, self.notices, self)
        self._generating = False
        self._place()
        self._connect()
        window_state.restore(self, self._columns, settings)
        for notice in (library.notice, settings.notice):
            self.notices.show_notice(notice)
        self.chat.scheme = usual_scheme(settings) or settings.get("scheme", DEFAULT_SCHEME, valid=is_scheme)
        self.on_idle_changed(idle_minutes(settings))
        self.chat.new()
        self.on_model_changed()

    # ------------------------------------------------------------ building

    def _place(self) -> None:
        center = QWidget(self)
        center.setObjectName("center")
        center.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        column = QVBoxLayout(center)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self._notice_row = _Centered(self.notices, top=0, bottom=0)
        column.addWidget(self._notice_row)
        column.addWidget(self.transcript, 1)
        column.addWidget(_Centered(self.composer, top=4, bottom=16))
        self.pages = Pages(center, self.welcome, self.models_page, self)
        self._columns = Columns(self.sidebar, self.pages, self.panel, self)
        self._columns.folded.connect(self.on_folded)
        self.setCentralWidget(self._columns)
        self._place_tool_bar()
        reading_order.arrange(self)

    def _place_tool_bar(self) -> None:
        self.model_button = ModelButton(self._settings, self._starter_installed, self._fill_model_menu, self)
        self.downloads_button = DownloadsButton(self.hub, self)
        self.tool_bar = ToolBar(self.actions_, self.model_button, self.downloads_button, self)
        self.addToolBar(self.tool_bar)
        self.setUnifiedTitleAndToolBarOnMac(True)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        if self.tool_bar.menu_button is None:
            self.actions_.fill_menu_bar(self.menuBar())

    def _connect(self) -> None:
        a = self.actions_
        a.open_folder.triggered.connect(self.on_open_folder)
        a.models.triggered.connect(self.on_models)
        a.downloads.triggered.connect(self.downloads_button.click)
        a.unload.triggered.connect(self.models.unload)
        a.preferences.triggered.connect(self.on_preferences)
        a.close.triggered.connect(self.close)
        a.quit.triggered.connect(self.close)
        a.minimize.triggered.connect(self.showMinimized)
        a.sidebar.triggered.connect(self.on_toggle_sidebar)
        a.panel.triggered.connect(self.on_toggle_panel)
        a.find.triggered.connect(self.find_bar.open_bar)
        a.find_next.triggered.connect(self.find_bar.on_next)
        a.find_previous.triggered.connect(self.find_bar.on_previous)
        self.sidebar.hit_chosen.connect(self.on_hit_chosen)
        a.search.triggered.connect(self.on_search)
        a.larger.triggered.connect(self.appearance.on_larger)
        a.smaller.triggered.connect(self.appearance.on_smaller)
        a.usual_size.triggered.connect(self.appearance.on_usual_size)
        a.scheme.triggered.connect(self.on_change_scheme)
        a.send.triggered.connect(self.composer.on_submitted)
        a.attach.triggered.connect(self.composer.on_attach)
        a.reply_settings.triggered.connect(self.on_reply_settings)
        a.stop.triggered.connect(self.chat.stop)
        a.edit_last.triggered.connect(self.chat.choices.on_edit_last)
        a.again.triggered.connect(self.chat.choices.on_retry)
        self.browsing.chat_wanted.connect(self.on_to_chat)
        self.browsing.titled.connect(self.on_titled)
        self.browsing.opening.connect(self.pages.leave_models)
        self.sidebar.models_clicked.connect(self.on_models)
        self.sidebar.left.connect(self.on_to_chat)
        self.models.changed.connect(self.on_model_changed)
        self.models.progressed.connect(self.model_button.show_progress)
        self.models.failed.connect(self.on_model_failed)
        self.guard.scheme_taken.connect(self.chat.on_scheme_picked)
        self.guard.smaller_wanted.connect(self.on_models)
        self.resuming.load_wanted.connect(self.load_model)
        self.resuming.other_wanted.connect(self.on_models)
        self.resuming.report_wanted.connect(self.help.on_report)
        self.models_page.load_clicked.connect(self.load_model)
        self.models_page.account_clicked.connect(self.on_account)
        self.models_page.left.connect(self.on_to_chat)
        self.pages.turned.connect(self.on_page_turned)
        self._drop_target.dropped.connect(self.on_dropped)
        self._drop_target.takes_texts = self.takes_texts
        self._drop_target.texts_dropped.connect(self.composer.add_files)
        self._news.load_wanted.connect(self.load_model)
        self.downloads_button.card.load_clicked.connect(self.load_model)
        self.downloads_button.card.account_clicked.connect(self.on_account)
        self.hub.download_changed.connect(self.on_downloads_changed)
        self.hub.download_removed.connect(self.on_downloads_changed)
        self.on_downloads_changed()
        self.chat.turn_changed.connect(self.on_turn_changed)
        self.welcome.find_clicked.connect(self.on_models)
        self.welcome.folder_clicked.connect(self.on_open_folder)
        self._installing.finished.connect(self.load_model)
        self.model_button.chosen.connect(self.load_model)
        self.model_button.cancel_clicked.connect(self.models.cancel)

    def start(self, unfinished: Unfinished | None = None) -> None:
        """Open the conversation used last. Load the model used last, else the starter; without either the welcome page
        stays. The preferences say whether. After a run that ended in `unfinished` work no model is loaded.
        """
        if self._settings.get(OPEN_LAST, True) and (newest := self.chat.newest()):
            self.chat.open(newest)
        chosen = self._model_to_load() if self._settings.get(LOAD_LAST, True) and unfinished is None else ""
        if chosen:
            self.models.load(LoadModel(chosen, self.chat.scheme))
        self._show_page(loading=bool(chosen))
        self._focus_page()
        self.storage.tell_unsaved()
        if unfinished is not None:
            self.resuming.begin(unfinished, self.storage.title(unfinished.conversation))

    def _model_to_load(self) -> str:
        chosen = self._settings.get("model", "")
        if chosen and Path(chosen).is_dir():
            return chosen
        starter = self._starter_installed()
        return str(starter) if starter else ""

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

    def on_hit_chosen(self, _conversation: str, message_id: str) -> None:
        """It is on screen: what was searched for is marked in it."""
        self.find_bar.show_message(message_id, re.findall(r"\w+", self.sidebar.search.text()))

    def on_search(self) -> None:
        self._columns.toggle("sidebar", True)
        self.sidebar.search.setFocus()
        self.sidebar.search.selectAll()

    def on_reply_settings(self) -> None:
        self.pages.leave_models()
        self.reply_settings.on_open()

    def on_change_scheme(self) -> None:
        self.pages.leave_models()
        self._columns.toggle("panel", True)
        self.panel.picker.setFocus()
        self.panel.picker.showPopup()

    # ------------------------------------------------------------ models

    def _fill_model_menu(self, menu: QMenu) -> None:
        if self._starter_installed() is None and not self._installing.job.running:
            menu.addAction(self.tr("Install the starter model"), self._installing.start)
        menu.addAction(self.actions_.models)
        menu.addAction(self.actions_.open_folder)
        menu.addAction(self.actions_.unload)

    def on_open_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, self.tr("Choose a folder with an MLX model"))
        if folder:
            self.models_page.installed.add(Path(folder))
            self.load_model(folder)

    def load_model(self, path: str) -> None:
        self.models.load(LoadModel(path, self.chat.scheme))
        self.on_to_chat()

    def on_models(self) -> None:
        self.pages.show_models()
        self.models_page.begin(self.chat.scheme)

    def takes_texts(self) -> bool:
        """Whether there is a composer on screen that a text could be dropped for."""
        return self.composer.isVisible()

    def on_dropped(self, path: Path) -> None:
        self.pages.show_models()
        self.models_page.begin(self.chat.scheme, installed=True)
        self.models_page.installed.add(path)

    def on_downloads_changed(self) -> None:
        self.tool_bar.show_downloads(bool(self.hub.downloads))
        self.actions_.downloads.setEnabled(bool(self.hub.downloads))

    def on_idle_changed(self, minutes: int) -> None:
        self._engine.idle_unload_s = 60.0 * minutes

    def on_preferences(self) -> None:
        self._show_preferences("general")

    def on_account(self) -> None:
        self._show_preferences("models")

    def _show_preferences(self, page: str) -> None:
        if self._preferences is None:
            self._preferences = Preferences(self._settings, self.appearance, self.hub, self)
            self._preferences.models.idle_changed.connect(self.on_idle_changed)
            storage = StoragePage(self.storage, self._preferences)
            self._preferences.add_page("storage", self.tr("Storage"), "panel", storage)
            self._preferences.general.scheme_changed.connect(self.on_usual_scheme_changed)
        self._preferences.begin(page)

    def on_usual_scheme_changed(self, name: str) -> None:
        """An empty conversation takes it up."""
        if not self.chat.current:
            self.chat.on_scheme_picked(name)

    def on_model_changed(self) -> None:
        if self.models.loading:
            self.model_button.show_loading(self.models.loading)
        elif self.models.model is None:
            self.model_button.show_none()
        else:
            self.model_button.show_model(self.models.model, self.models.asleep)
        self.actions_.unload.setEnabled(self.models.model is not None and not self.models.asleep)
        self._show_page(loading=bool(self.models.loading))

    def on_model_failed(self, error: AppError) -> None:
        """With another model on its way back, or a conversation to read, a notice says why; else the welcome page."""
        if self.models.loading:
            self.notices.show_notice(self.tr("{0} {1} is loaded again.").format(error, self.models.loading))
        elif self.chat.current:
            self.notices.show_notice(str(error))
        self.welcome.show_error(error)

    def _show_page(self, loading: bool) -> None:
        """The welcome page while there is nothing to talk to and nothing to read."""
        self.pages.set_welcome(self.chat.model is None and not loading and not self.chat.current)

    def on_page_turned(self) -> None:
        self._allow_columns()
        self.sidebar.models.setChecked(self.pages.on_models)
        self.browsing.set_shown(not self.pages.on_models)
        for action in (self.actions_.find, self.actions_.find_next, self.actions_.find_previous):
            action.setEnabled(not self.pages.on_models)
        for action in (self.actions_.send, self.actions_.attach, self.actions_.edit_last, self.actions_.again):
            action.setEnabled(not self.pages.on_models)
        self._allow_stop()
        self._focus_page()

    def _focus_page(self) -> None:
        if not self.pages.on_models:
            (self if self.pages.on_welcome else self.composer.edit).setFocus()

    # ------------------------------------------------------------ what the chat says

    def on_titled(self, title: str) -> None:
        name = self.tr("TurboQuant Chat")
        self.setWindowTitle(f"{formats.short(title)} – {name}" if title else name)
        self._show_page(loading=bool(self.models.loading))

    def on_turn_changed(self) -> None:
        if self._generating and not self.chat.generating and not self._busy_elsewhere():
            self.composer.edit.setFocus()
        self._generating = self.chat.generating
        self._allow_stop()

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
        """What the next start needs: geometry, columns, scheme."""
        window_state.remember(self, self._columns, self._settings)
        self._settings.set("scheme", self.chat.scheme)
        self.chat.on_save()
        self._installing.job.shutdown(1.0)
        self.models_page.installed.job.cancel()

    def close_library(self) -> None:
        """Write down what the engine said last. Nothing may be shown after this."""
        self.chat.on_save()
        self.browsing.stop()
        self._library.close()


class _Centered(QWidget):
    """Keeps one widget in the middle, as wide as the text's column at most."""

    def __init__(self, widget: QWidget, top: int, bottom: int) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(SIDE_MARGIN, top, SIDE_MARGIN, bottom)
        widget.setMaximumWidth(COLUMN_WIDTH)
        row.addWidget(widget)
