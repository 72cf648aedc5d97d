"""The window: places the widgets, folds the side columns where there is no room, and remembers how it was."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QByteArray, QSize, Qt
from PySide6.QtGui import QAction, QCloseEvent, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QMenu,
    QMessageBox,
    QSizePolicy,
    QStackedWidget,
    QToolBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.errors import AppError
from app.library.conversations import Library
from app.library.records import DEFAULT_SCHEME, is_scheme
from app.settings import Settings
from app.ui import formats, theme
from app.ui.actions import Actions
from app.ui.chat import Chat
from app.ui.composer import Composer
from app.ui.memory_panel import MemoryPanel
from app.ui.notice_bar import Notice, NoticeBar
from app.ui.sidebar import Sidebar
from app.ui.transcript import COLUMN_WIDTH, SIDE_MARGIN, Transcript
from app.ui.turn import EngineLink
from app.ui.welcome import Install, InstallJob, Welcome

SIDEBAR_WIDTH = 244
PANEL_WIDTH = 336
CENTER_LEAST = 440
CENTER_SQUEEZED = 300  # beside a column that was asked for
RECENT_MODELS = 6
BACKENDS = {"metal": "Metal", "cuda": "CUDA", "numba": "CPU (numba)", "reference": "plain MLX"}


class MainWindow(QMainWindow):
    """`starter_installed` and `starter_install` are app.engine.starter's; tests give their own."""

    def __init__(self, library: Library, engine: EngineLink, settings: Settings,
                 starter_installed: Callable[[], Path | None], starter_install: Install) -> None:  # fmt: skip
        super().__init__()
        self.setWindowTitle(self.tr("TurboQuant Chat"))
        self.setMinimumSize(640, 420)
        self._library, self._settings = library, settings
        self._starter_installed = starter_installed
        self.actions_ = Actions(self)
        self.sidebar, self.transcript, self.composer = Sidebar(), Transcript(), Composer()
        self.panel, self.notices, self.welcome = MemoryPanel(), NoticeBar(), Welcome()
        self.chat = Chat(library, engine, self.transcript, self.composer, self.panel, self.notices, self)
        self._install = InstallJob(starter_install, self)
        self._install_notice: Notice | None = None
        self._generating = False
        # The column opened last stays when there is room for one only.
        self._preferred = "panel"
        self._asked = ""  # shown although the transcript becomes narrow
        self._place()
        self._connect()
        self._restore()
        for notice in (library.notice, settings.notice):
            self.notices.show_notice(notice)
        self.chat.scheme = settings.get("scheme", DEFAULT_SCHEME, valid=is_scheme)
        self.chat.new()
        self.on_list_changed()
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
        self._stack = QStackedWidget(self)
        self._stack.setMinimumWidth(CENTER_SQUEEZED)  # not the hidden page's
        self._stack.addWidget(center)
        self._stack.addWidget(self.welcome)
        body = QWidget(self)
        row = QHBoxLayout(body)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        self._lines = [_Line(), _Line()]
        self.sidebar.setFixedWidth(SIDEBAR_WIDTH)
        self.panel.setFixedWidth(PANEL_WIDTH)
        for widget in (self.sidebar, self._lines[0], self._stack, self._lines[1], self.panel):
            row.addWidget(widget, 1 if widget is self._stack else 0)
        self.setCentralWidget(body)
        self._place_tool_bar()

    def _place_tool_bar(self) -> None:
        bar = QToolBar(self.tr("Window"), self)
        bar.setObjectName("toolBar")
        bar.setMovable(False)
        bar.setIconSize(QSize(20, 20))
        bar.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        bar.addAction(self.actions_.sidebar)
        bar.addAction(self.actions_.new)
        bar.addWidget(_spacer())
        self._model_button = QToolButton(bar)
        self._model_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._model_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._model_button.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # the arrow stands behind the name
        self._model_button.setIconSize(QSize(14, 14))
        self._model_button.setFont(theme.font(bold=True))
        self._model_button.setMenu(QMenu(self._model_button))
        self._model_button.menu().aboutToShow.connect(self.on_model_menu)
        self._model_detail = QLabel(bar)
        self._model_detail.setProperty("role", "muted")
        bar.addWidget(self._model_button)
        bar.addWidget(self._model_detail)
        bar.addWidget(_spacer())
        bar.addAction(self.actions_.panel)
        self.addToolBar(bar)
        self.setUnifiedTitleAndToolBarOnMac(True)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        if sys.platform == "darwin":
            self.actions_.fill_menu_bar(self.menuBar())
        else:
            self._menu_button = QToolButton(bar)
            self._menu_button.setToolTip(self.tr("Menu"))
            self._menu_button.setAccessibleName(self.tr("Menu"))
            self._menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
            self._menu_button.setMenu(self.actions_.one_menu(self._menu_button))
            bar.addWidget(self._menu_button)
        theme.theme().changed.connect(self.on_theme_changed)
        self.on_theme_changed()

    def _connect(self) -> None:
        a = self.actions_
        a.new.triggered.connect(self.on_new)
        a.rename.triggered.connect(self.sidebar.on_rename)
        a.delete.triggered.connect(self.on_delete)
        a.undo.triggered.connect(self.chat.deleting.undo)
        self.chat.deleting.changed.connect(self.on_deleting_changed)
        self.on_deleting_changed()
        a.open_folder.triggered.connect(self.on_open_folder)
        a.close.triggered.connect(self.close)
        a.quit.triggered.connect(self.close)
        a.sidebar.triggered.connect(self.on_toggle_sidebar)
        a.panel.triggered.connect(self.on_toggle_panel)
        a.search.triggered.connect(self.on_search)
        a.next.triggered.connect(self.on_next)
        a.previous.triggered.connect(self.on_previous)
        a.scheme.triggered.connect(self.on_change_scheme)
        a.stop.triggered.connect(self.chat.stop)
        a.about.triggered.connect(self.on_about)
        self.sidebar.conversation_chosen.connect(self.chat.open)
        self.sidebar.rename_requested.connect(self.chat.rename)
        self.sidebar.delete_requested.connect(self.on_delete_requested)
        self.sidebar.left.connect(self.composer.edit.setFocus)
        self.chat.list_changed.connect(self.on_list_changed)
        self.chat.model_changed.connect(self.on_model_changed)
        self.chat.model_failed.connect(self.on_model_failed)
        self.chat.turn_changed.connect(self.on_turn_changed)
        self.welcome.install_clicked.connect(self.on_install)
        self.welcome.cancel_clicked.connect(self._install.cancel)
        self.welcome.folder_clicked.connect(self.on_open_folder)
        self._install.progressed.connect(self.on_install_progressed)
        self._install.finished.connect(self.on_installed)
        self._install.failed.connect(self.on_install_failed)

    def _restore(self) -> None:
        self.resize(1180, 780)
        self.restoreGeometry(QByteArray(self._settings.get_bytes("window_geometry")))
        self._wanted = {
            "sidebar": self._settings.get("sidebar_shown", True),
            "panel": self._settings.get("panel_shown", True),
        }
        self._fold()

    def start(self) -> None:
        """Open the conversation used last. Load the model used last, else the starter; without either the welcome page
        stays.
        """
        if newest := self.chat.newest():
            self.chat.open(newest)
        chosen = self._settings.get("model", "")
        if not chosen or not Path(chosen).is_dir():
            starter = self._starter_installed()
            chosen = str(starter) if starter else ""
        if chosen:
            self.chat.load_model(chosen)
        self._show_page(loading=bool(chosen))
        (self if self._stack.currentWidget() is self.welcome else self.composer.edit).setFocus()

    # ------------------------------------------------------------ side columns

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fold()

    def _fold(self) -> None:
        """Show the side columns that are wanted and fit beside a readable transcript."""
        room = self.width() - CENTER_LEAST
        widths = {"sidebar": SIDEBAR_WIDTH, "panel": PANEL_WIDTH}
        shown = {}
        welcome = self._stack.currentWidget() is self.welcome
        if welcome:  # nothing is measured there
            widths = {"sidebar": SIDEBAR_WIDTH} if self._library.conversations() else {}
        if widths.get(self._asked, 0) <= room:
            self._asked = ""
        for name in sorted(widths, key=lambda name: name != self._preferred):
            squeezed = room + (CENTER_LEAST - CENTER_SQUEEZED if name == self._asked else 0)
            shown[name] = self._wanted[name] and widths[name] <= squeezed
            room -= widths[name] if shown[name] else 0
        for name, widget, line in (("sidebar", self.sidebar, self._lines[0]), ("panel", self.panel, self._lines[1])):
            widget.setVisible(shown.get(name, False))
            line.setVisible(shown.get(name, False))
        self.actions_.sidebar.setChecked(shown.get("sidebar", False))
        self.actions_.panel.setChecked(shown.get("panel", False))
        self.actions_.panel.setEnabled(not welcome)

    def _toggle(self, name: str, shown: bool) -> None:
        self._wanted[name] = shown
        self._asked = name if shown else ""
        if shown:
            self._preferred = name
        self._fold()

    def on_toggle_sidebar(self) -> None:
        self._toggle("sidebar", self.actions_.sidebar.isChecked())

    def on_toggle_panel(self) -> None:
        self._toggle("panel", self.actions_.panel.isChecked())

    # ------------------------------------------------------------ commands

    def on_new(self) -> None:
        self.chat.new()
        self.composer.edit.setFocus()

    def on_delete(self) -> None:
        if self.chat.current:
            self.on_delete_requested(self.chat.current)

    def on_delete_requested(self, conversation_id: str) -> None:
        self.chat.delete(conversation_id)
        self.composer.edit.setFocus()

    def on_deleting_changed(self) -> None:
        title, action = self.chat.deleting.title, self.actions_.undo
        action.setEnabled(bool(title))
        action.setText(self.tr("Undo deleting “{0}”").format(formats.short(title, 24)) if title else self.tr("Undo"))

    def on_search(self) -> None:
        self._toggle("sidebar", True)
        self.sidebar.search.setFocus()
        self.sidebar.search.selectAll()

    def on_next(self) -> None:
        self._step(1)

    def on_previous(self) -> None:
        self._step(-1)

    def _step(self, step: int) -> None:
        ids = [c.id for c in self._library.conversations()]
        if ids:
            place = ids.index(self.chat.current) + step if self.chat.current in ids else 0
            self.chat.open(ids[place % len(ids)])
            self.composer.edit.setFocus()

    def on_change_scheme(self) -> None:
        self._toggle("panel", True)
        self.panel.picker.setFocus()
        self.panel.picker.showPopup()

    def on_about(self) -> None:
        QMessageBox.about(
            self,
            self.tr("TurboQuant Chat"),
            self.tr("Chat with local MLX models, and watch a TurboQuant-compressed key/value cache stay small."),
        )

    # ------------------------------------------------------------ models

    def on_model_menu(self) -> None:
        menu = self._model_button.menu()
        menu.clear()
        menu.setLayoutDirection(QApplication.layoutDirection())  # the button's own is turned round
        for path in self._recent_models():
            entry = menu.addAction(Path(path).name)
            entry.setData(path)
            entry.setToolTip(path)
            entry.setCheckable(True)
            entry.setChecked(self.chat.model is not None and self.chat.model.path == path)
            entry.triggered.connect(self.on_model_chosen)
        menu.addSeparator()
        if self._starter_installed() is None and not self._install.running:
            menu.addAction(self.tr("Install the starter model"), self.on_install)
        menu.addAction(self.actions_.open_folder)

    def on_model_chosen(self) -> None:
        action = self.sender()
        assert isinstance(action, QAction)
        if not (self.chat.model and self.chat.model.path == action.data()):
            self.chat.load_model(str(action.data()))

    def _recent_models(self) -> list[str]:
        starter = self._starter_installed()
        default = [str(path) for path in [starter] if path]
        known = self._settings.get("recent_models", default, valid=lambda found: all(type(p) is str for p in found))
        known = known + [path for path in default if path not in known]
        return [path for path in known if Path(path).is_dir()]

    def on_open_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, self.tr("Choose a folder with an MLX model"))
        if folder:
            self.chat.load_model(folder)

    def on_install(self) -> None:
        """Shown on the welcome page, and in a notice: which of them is on screen may change meanwhile."""
        if self._install.running:
            return
        self._install.start()
        words = self.tr("Installing the starter model")
        self._install_notice = self.notices.show_notice(words, self.tr("Cancel"), self._install.cancel)
        if self._install_notice is not None:
            self._install_notice.dismissed.connect(self.on_install_notice_dismissed)
        self.on_install_progressed(self.tr("Starting"), -1)

    def on_install_progressed(self, step: str, done: float) -> None:
        self.welcome.show_progress(step, done)
        if self._install_notice is not None:
            share = f" · {done:.0%}" if done >= 0 else ""
            self._install_notice.set_text(self.tr("Installing the starter model: {0}").format(step) + share)

    def on_install_notice_dismissed(self) -> None:
        self._install_notice = None

    def _end_install(self) -> None:
        self.welcome.show_idle()
        if self._install_notice is not None:
            self._install_notice.dismiss()

    def on_installed(self, path: str) -> None:
        self._end_install()
        self.chat.load_model(path)

    def on_install_failed(self, error: AppError | None) -> None:
        self._end_install()
        if error is not None:
            self.welcome.show_error(error)
            if self._stack.currentWidget() is not self.welcome:
                self.notices.show_notice(str(error))

    def on_model_changed(self) -> None:
        model = self.chat.model
        if self.chat.loading:
            self._model_button.setText(self.chat.loading)
            self._model_detail.setText(self.tr("loading…"))
        elif model is None:
            self._model_button.setText(self.tr("No model"))
            self._model_detail.clear()
        else:
            self._model_button.setText(model.name)
            backend = BACKENDS.get(model.backend, model.backend)
            size = self.tr("{0} in memory").format(formats.data_size(model.weights_bytes))
            self._model_detail.setText(f"{size} · {backend}")
            self._settings.set("model", model.path)
            recent = [model.path] + [path for path in self._recent_models() if path != model.path]
            self._settings.set("recent_models", recent[:RECENT_MODELS])
        self._model_button.setAccessibleName(self.tr("Model: {0}").format(self._model_button.text()))
        self._show_page(loading=bool(self.chat.loading))

    def on_model_failed(self, error: AppError) -> None:
        """With another model on its way back, or a conversation to read, a notice says why; else the welcome page."""
        if self.chat.loading or self.chat.current:
            self.notices.show_notice(str(error))
        self.welcome.show_error(error)

    def _show_page(self, loading: bool) -> None:
        """The welcome page while there is nothing to talk to and nothing to read."""
        welcome = self.chat.model is None and not loading and not self.chat.current
        if welcome != (self._stack.currentWidget() is self.welcome):
            self._stack.setCurrentIndex(1 if welcome else 0)
            self._fold()
            (self if welcome else self.composer.edit).setFocus()

    # ------------------------------------------------------------ what the chat says

    def on_list_changed(self) -> None:
        conversations = self._library.conversations()
        self.sidebar.refresh(conversations, self.chat.current)
        title = formats.short(next((c.title for c in conversations if c.id == self.chat.current), ""))
        self.setWindowTitle(f"{title} – {self.tr('TurboQuant Chat')}" if title else self.tr("TurboQuant Chat"))
        self.actions_.rename.setEnabled(bool(title))
        self.actions_.delete.setEnabled(bool(title))
        self._show_page(loading=bool(self.chat.loading))

    def on_turn_changed(self) -> None:
        if self._generating and not self.chat.generating and not self._busy_elsewhere():
            self.composer.edit.setFocus()
        self._generating = self.chat.generating
        self.actions_.stop.setEnabled(self.chat.generating or bool(self.panel.pending_text))

    def _busy_elsewhere(self) -> bool:
        """Whether the user is searching, renaming, walking through the list or in a popup."""
        focus = QApplication.focusWidget()
        return bool(QApplication.activePopupWidget()) or (focus is not None and self.sidebar.isAncestorOf(focus))

    def on_theme_changed(self) -> None:
        self._model_button.setIcon(theme.icon("down", theme.colors().muted))
        if sys.platform != "darwin":
            self._menu_button.setIcon(theme.icon("menu"))

    # ------------------------------------------------------------ closing

    def closeEvent(self, event: QCloseEvent) -> None:
        self.remember()
        super().closeEvent(event)

    def remember(self) -> None:
        """What the next start needs: geometry, columns, scheme."""
        self._settings.set_bytes("window_geometry", bytes(self.saveGeometry().data()))
        self._settings.set("sidebar_shown", self._wanted["sidebar"])
        self._settings.set("panel_shown", self._wanted["panel"])
        self._settings.set("scheme", self.chat.scheme)
        self.chat.on_save()
        self._install.shutdown(1.0)

    def close_library(self) -> None:
        """Write down what the engine said last. Nothing may be shown after this."""
        self.chat.on_save()
        self._library.close()


class _Centered(QWidget):
    """Keeps one widget in the middle, as wide as the text's column at most."""

    def __init__(self, widget: QWidget, top: int, bottom: int) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(SIDE_MARGIN, top, SIDE_MARGIN, bottom)
        widget.setMaximumWidth(COLUMN_WIDTH)
        row.addWidget(widget)


class _Line(QWidget):
    """A hairline between two columns."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedWidth(1)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._color()
        theme.theme().changed.connect(self._color)

    def _color(self) -> None:
        self.setStyleSheet(f"background: {theme.colors().line};")


def _spacer() -> QWidget:
    widget = QWidget()
    widget.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
    return widget
