"""Every command of the window once: its words, its shortcut, its place in the menus."""

from __future__ import annotations

from PySide6.QtCore import QMetaObject, QObject, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QApplication, QMenu, QMenuBar, QWidget

from app.ui import theme

Keys = QKeySequence.StandardKey


class Actions(QObject):
    """The actions, owned by `window`. Whoever knows what one does connects to its `triggered`."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._icons: dict[QAction, str] = {}
        tr = self.tr
        self.new = self._action(tr("New conversation"), Keys.New, "compose")
        self.rename = self._action(tr("Rename…"), "F2")
        self.delete = self._action(tr("Delete conversation"), "Ctrl+Shift+Backspace")
        self.models = self._action(tr("Find and manage models…"), "Ctrl+Shift+L", "models")
        self.downloads = self._action(tr("Downloads"), "Ctrl+J")
        self.open_folder = self._action(tr("Open a model folder…"), Keys.Open, "folder")
        self.unload = self._action(tr("Unload the model"), None)
        self.preferences = self._action(tr("Preferences…"), "Ctrl+,", role=QAction.MenuRole.PreferencesRole)
        self.close = self._action(tr("Close window"), Keys.Close)
        self.quit = self._action(tr("Quit"), Keys.Quit, role=QAction.MenuRole.QuitRole)
        self.undo = self._action(tr("Undo"), Keys.Undo)
        self.cut = self._edit_action(tr("Cut"), "cut")
        self.copy = self._edit_action(tr("Copy"), "copy")
        self.paste = self._edit_action(tr("Paste"), "paste")
        self.select_all = self._edit_action(tr("Select all"), "selectAll")
        self.sidebar = self._action(tr("Conversations"), "Ctrl+Shift+S", "sidebar", checkable=True)
        self.panel = self._action(tr("Memory"), "Ctrl+Shift+M", "panel", checkable=True)
        self.search = self._action(tr("Search conversations"), "Ctrl+K")
        self.next = self._action(tr("Next conversation"), "Ctrl+PgDown")
        self.previous = self._action(tr("Previous conversation"), "Ctrl+PgUp")
        self.scheme = self._action(tr("Change the scheme…"), "Ctrl+Shift+K")
        self.stop = self._action(tr("Stop"), "Esc")
        self.about = self._action(tr("About TurboQuant Chat"), None, role=QAction.MenuRole.AboutRole)
        theme.theme().changed.connect(self.on_theme_changed)
        self.on_theme_changed()

    def _action(self, text: str, keys: Keys | str | None, icon: str = "", *, checkable: bool = False,
                role: QAction.MenuRole = QAction.MenuRole.NoRole) -> QAction:  # fmt: skip
        action = QAction(text, self._window, checkable=checkable)
        action.setMenuRole(role)
        if keys is not None:
            action.setShortcut(QKeySequence(keys))
            shown = QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
            action.setToolTip(f"{text} ({shown})" if shown else text)
        if icon:
            self._icons[action] = icon
        self._window.addAction(action)
        return action

    def _edit_action(self, text: str, slot: str) -> QAction:
        """Does `slot` in the widget that has the focus. The widget's own shortcut does the same."""
        action = QAction(text, self._window)
        action.setData(slot)
        action.triggered.connect(self.on_edit)
        return action

    def on_edit(self) -> None:
        widget, action = QApplication.focusWidget(), self.sender()
        assert isinstance(action, QAction)
        if widget is not None and widget.metaObject().indexOfSlot(f"{action.data()}()") >= 0:
            QMetaObject.invokeMethod(widget, action.data(), Qt.ConnectionType.DirectConnection)

    def on_theme_changed(self) -> None:
        for action, name in self._icons.items():
            action.setIcon(theme.icon(name))

    def menus(self, parent: QWidget) -> list[QMenu]:
        """The menus, in order."""
        tr = self.tr
        layout: list[tuple[str, list[QAction | None]]] = [
            (
                tr("File"),
                [self.new, None, self.rename, self.delete, None, self.preferences, None, self.close, self.quit],
            ),
            (tr("Edit"), [self.undo, None, self.cut, self.copy, self.paste, self.select_all, None, self.search]),
            (tr("View"), [self.sidebar, self.panel, None, self.next, self.previous]),
            (tr("Chat"), [self.scheme, self.stop]),
            (tr("Model"), [self.models, self.downloads, None, self.open_folder, self.unload]),
            (tr("Help"), [self.about]),
        ]
        made = []
        for title, entries in layout:
            menu = QMenu(title, parent)
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
        menu = QMenu(parent)
        for part in self.menus(menu):
            menu.addMenu(part)
        return menu
