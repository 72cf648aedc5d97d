"""What the Help menu opens, and what is said after a crash."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from app import crashes, paths
from app.ui.models.model_link import ModelLink
from app.ui.shared.actions import Actions
from app.ui.shared.shortcuts import Shortcuts
from app.ui.window.about import About
from app.ui.window.crash_view import CrashNotice, ReportView


class Help(QObject):
    """Its windows are made when they are first wanted; `notice` is open after a crash."""

    def __init__(self, actions: Actions, models: ModelLink, window: QWidget) -> None:
        super().__init__(window)
        self._actions, self._models, self._window = actions, models, window
        self.about: About | None = None
        self.shortcuts: Shortcuts | None = None
        self.notice: CrashNotice | None = None
        self.report: ReportView | None = None
        actions.about.triggered.connect(self.on_about)
        actions.shortcuts.triggered.connect(self.on_shortcuts)
        actions.log_folder.triggered.connect(self.on_log_folder)
        actions.crash_report.triggered.connect(self.on_report)
        actions.crash_report.setEnabled(bool(crashes.reports(paths.logs_dir())))

    def on_about(self) -> None:
        if self.about is None:
            self.about = About(self._window)
        self.about.begin(self._models.model)

    def on_shortcuts(self) -> None:
        if self.shortcuts is None:
            self.shortcuts = Shortcuts(self._actions, self._window)
        self.shortcuts.bring_up()

    def on_log_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(paths.logs_dir())))

    def tell_of_crash(self, _report: Path) -> None:
        """The last run ended unexpectedly and left this report."""
        self._actions.crash_report.setEnabled(True)
        self.notice = CrashNotice(self._window)
        self.notice.report_wanted.connect(self.on_report)
        self.notice.folder_wanted.connect(self.on_log_folder)
        self.notice.open()

    def on_report(self) -> None:
        """The newest one."""
        if found := crashes.reports(paths.logs_dir()):
            self.report = ReportView(found[0], self._window)
            self.report.bring_up()
