"""What the user is told after a run that ended unexpectedly, and the report to read or pass on."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app import paths
from app.ui.shared import theme
from app.ui.shared.dialog import Dialog
from app.ui.shared.question import Question


class CrashNotice(Question):
    """`report_wanted`, `folder_wanted`: the two ways on."""

    report_wanted = Signal()
    folder_wanted = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, warns=True, news=True)
        words = self.tr(
            "Your conversations are kept. A report holds the last lines of the program's log, and where the code "
            "was if that is known; nothing that you or a model wrote. It stays on this computer: nothing was sent."
        )
        self.say(self.tr("The program ended unexpectedly."), words)
        self.show_button = self.add_button(self.tr("Show report"))
        self.folder_button = self.add_button(self.tr("Open log folder"))
        self.show_button.clicked.connect(self.report_wanted)
        self.folder_button.clicked.connect(self.folder_wanted)


class ReportView(Dialog):
    def __init__(self, report: Path, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Crash report"))
        self.fit()
        try:
            text = report.read_text("utf-8", "replace")
        except OSError as error:
            text = self.tr("The report can't be read: {0}").format(error)
        self.text = QPlainTextEdit(text, self)
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self.text.setFont(theme.mono_font(theme.SMALL))
        self.text.setAccessibleName(self.windowTitle())
        place = QLabel(self.tr("It is kept as {0}").format(paths.shown(report)), self)
        place.setProperty("role", "muted")
        place.setWordWrap(True)
        copy = QPushButton(self.tr("Copy"), self)
        copy.setAutoDefault(False)
        copy.clicked.connect(self.on_copy)
        close = QPushButton(self.tr("Close"), self)
        close.clicked.connect(self.close)
        row = QHBoxLayout()
        row.setContentsMargins(16, 4, 16, 14)
        row.addWidget(place, 1)
        row.addWidget(copy)
        row.addWidget(close)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.text, 1)
        column.addLayout(row)

    def usual_size(self) -> QSize:
        return QSize(theme.at_scale(760), theme.at_scale(520))

    def on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text.toPlainText())
