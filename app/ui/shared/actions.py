"""Every command of the window once: its words, its shortcut, its place in the menus."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QAction, QKeySequence, QShowEvent
from PySide6.QtWidgets import QApplication, QMenu, QMenuBar, QWidget

from app.ui.shared import edit_commands, theme

Keys = QKeySequence.StandardKey
EDGE = 8  # pixels between a menu and the window's edge


class Actions(QObject):
    """The actions, owned by `window`. Whoever knows what one does connects to its `triggered`; `edit_opening`: the Edit
    menu is about to be seen.
    """

    edit_opening = Signal()

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._icons: dict[QAction, str] = {}
        self.new = self._action(self.tr("New conversation"), "Ctrl+N", "compose")
        self.rename = self._action(self.tr("Rename…"), "F2")
        self.pin = self._action(self.tr("Pin to the top"), "Ctrl+Shift+P")
        self.delete = self._action(self.tr("Delete conversation"), "Ctrl+Shift+D")  # nothing in a text field
        self.import_ = self._action(self.tr("Import…"), "Ctrl+Shift+I")
        self.export_markdown = self._action(self.tr("Export as Markdown…"), "Ctrl+Shift+E")
        self.export_json = self._action(self.tr("Export as JSON…"))
        self.export_chat = self._action(self.tr("Export with its cache…"))
        self.models = self._action(self.tr("Find and manage models…"), "Ctrl+Shift+L", "models")
        self.downloads = self._action(self.tr("Downloads"), "Ctrl+J")
        self.open_folder = self._action(self.tr("Open a model folder…"), "Ctrl+O", "folder")
        self.unload = self._action(self.tr("Unload the model"))
        self.preferences = self._action(self.tr("Preferences…"), "Ctrl+,", role=QAction.MenuRole.PreferencesRole)
        self.close = self._action(self.tr("Close window"), "Ctrl+W")
        self.quit = self._action(self.tr("Quit"), "Ctrl+Q", role=QAction.MenuRole.QuitRole)
        self.undo = self._action(self.tr("Undo"), Keys.Undo)
        self.redo = self._edit_action(self.tr("Redo"), "redo", Keys.Redo)
        self.cut = self._edit_action(self.tr("Cut"), "cut", Keys.Cut)
        self.copy = self._edit_action(self.tr("Copy"), "copy", Keys.Copy)
        self.paste = self._edit_action(self.tr("Paste"), "paste", Keys.Paste)
        self.select_all = self._edit_action(self.tr("Select all"), "selectAll", Keys.SelectAll)
        self.find = self._action(self.tr("Find in this conversation"), "Ctrl+F")
        self.find_next = self._action(self.tr("Next hit"), ("Ctrl+G", "F3"))
        self.find_previous = self._action(self.tr("Previous hit"), ("Ctrl+Shift+G", "Shift+F3"))
        self.search = self._action(self.tr("Search all conversations"), ("Ctrl+Shift+F", "Ctrl+K"))
        self.sidebar = self._action(self.tr("Conversations"), "Ctrl+Shift+S", "sidebar", checkable=True)
        self.panel = self._action(self.tr("Memory"), "Ctrl+Shift+M", "panel", checkable=True)
        self.next = self._action(self.tr("Next conversation"), "Ctrl+PgDown")
        self.previous = self._action(self.tr("Previous conversation"), "Ctrl+PgUp")
        self.larger = self._action(self.tr("Larger text"), ("Ctrl++", "Ctrl+="))
        self.smaller = self._action(self.tr("Smaller text"), "Ctrl+-")
        self.usual_size = self._action(self.tr("Usual text size"), "Ctrl+0")
        self.minimize = self._action(self.tr("Minimise"), "Ctrl+M" if sys.platform == "darwin" else ())
        self.scheme = self._action(self.tr("Change the scheme…"), "Ctrl+Shift+K")
        mac = sys.platform == "darwin"
        enter = ("Ctrl+Return", "Ctrl+Enter") if mac else ("Ctrl+Enter", "Ctrl+Return")
        self.send = self._action(self.tr("Send"), enter)
        self.attach = self._action(self.tr("Attach text files…"), "Ctrl+Shift+A")
        self.reply_settings = self._action(self.tr("Reply settings…"), "Ctrl+Shift+R")
        self.stop = self._action(self.tr("Stop"), ("Esc", "Ctrl+."))
        self.edit_last = self._action(self.tr("Edit the last message"), "Ctrl+E")
        self.again = self._action(self.tr("Answer again"), "Ctrl+R")
        self.go_on = self._action(self.tr("Continue the reply"))
        self.shortcuts = self._action(self.tr("Keyboard shortcuts"), ("Ctrl+/", "F1") if mac else ("F1", "Ctrl+/"))
        self.log_folder = self._action(self.tr("Show the log folder"))
        self.crash_report = self._action(self.tr("Last crash report…"))
        self.about = self._action(self.tr("About TurboQuant Chat"), role=QAction.MenuRole.AboutRole)
        theme.theme().changed.connect(self.on_theme_changed)
        self.on_theme_changed()

    def _action(self, text: str, keys: Keys | str | Sequence[str] = (), icon: str = "", *, checkable: bool = False,
                role: QAction.MenuRole = QAction.MenuRole.NoRole) -> QAction:  # fmt: skip
        """Of several `keys` the first one is shown. They work in this window only, not in its dialogs."""
        action = QAction(text, self._window, checkable=checkable)
        action.setMenuRole(role)
        several = [keys] if isinstance(keys, Keys | str) else keys
        action.setShortcuts([QKeySequence(one) for one in several])
        if shown := action.shortcut().toString(QKeySequence.SequenceFormat.NativeText):
            action.setToolTip(f"{text} ({shown})")
        if icon:
            self._icons[action] = icon
        self._window.addAction(action)
        return action

    def _edit_action(self, text: str, slot: str, keys: Keys) -> QAction:
        """Does `slot` in the widget that has the focus. The widget's own shortcut does the same: the menu shows it."""
        action = QAction(text, self._window)
        action.setShortcut(QKeySequence(keys))
        action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        action.setData(slot)
        action.triggered.connect(self.on_edit)
        return action

    def on_edit(self) -> None:
        action = self.sender()
        assert isinstance(action, QAction)
        edit_commands.do(QApplication.focusWidget(), str(action.data()))

    def on_edit_opening(self) -> None:
        """What the widget with the focus has nothing for is grey."""
        for action in (self.redo, self.cut, self.copy, self.paste, self.select_all):
            action.setEnabled(edit_commands.can(QApplication.focusWidget(), str(action.data())))
        self.edit_opening.emit()

    def on_theme_changed(self) -> None:
        for action, name in self._icons.items():
            action.setIcon(theme.icon(name))

    def layout(self) -> list[tuple[str, list[QAction | None]]]:
        """Each menu's title and entries, in order; None is a line between groups."""
        file = [self.new, None, self.rename, self.pin, self.delete, None]
        file += [self.import_, self.export_markdown, self.export_json, self.export_chat, None]
        file += [self.preferences, None, self.close, self.quit]
        edit = [self.undo, self.redo, None, self.cut, self.copy, self.paste, self.select_all, None, self.find]
        edit += [self.find_next, self.find_previous, self.search]
        view = [self.sidebar, self.panel, None, self.next, self.previous, None]
        view += [self.larger, self.smaller, self.usual_size]
        chat = [self.send, self.stop, None, self.edit_last, self.again, self.go_on, None]
        chat += [self.attach, self.reply_settings, None, self.scheme]
        model = [self.models, self.downloads, None, self.open_folder, self.unload]
        about = [self.shortcuts, None, self.log_folder, self.crash_report, None, self.about]
        if sys.platform == "darwin":
            view += [None, self.minimize]
        return [
            (self.tr("File"), file),
            (self.tr("Edit"), edit),
            (self.tr("View"), view),
            (self.tr("Chat"), chat),
            (self.tr("Model"), model),
            (self.tr("Help"), about),
        ]

    def menus(self, parent: QWidget) -> list[QMenu]:
        """The menus, in order."""
        made = []
        for title, entries in self.layout():
            menu = QMenu(title, parent)
            if self.undo in entries:
                menu.aboutToShow.connect(self.on_edit_opening)
            for entry in entries:
                if entry is None:
                    menu.addSeparator()
                else:
                    menu.addAction(entry)
                    entry.setIconVisibleInMenu(False)
            made.append(menu)
        return made

    def fill_menu_bar(self, bar: QMenuBar) -> None:
        for menu in self.menus(bar):
            bar.addMenu(menu)

    def one_menu(self, parent: QWidget) -> QMenu:
        """All of it behind one button, where the platform has no menu bar of its own."""
        menu = _InsideMenu(parent)
        for part in self.menus(menu):
            menu.addMenu(part)
        return menu


class _InsideMenu(QMenu):
    """Opens below its button, and no further out than the window's edges."""

    def showEvent(self, event: QShowEvent) -> None:
        button = self.parentWidget()
        assert button is not None
        window = button.window().geometry()
        if window.width() >= self.width():
            self.move(min(max(self.x(), window.left()), window.right() - self.width() - EDGE), self.y())
        super().showEvent(event)
