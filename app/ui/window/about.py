"""About: the version, what computes, the licence and those of everything that comes with the program."""

from __future__ import annotations

import platform
from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, qVersion
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QListWidget,
    QPlainTextEdit,
    QPushButton,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from app import licences
from app.errors import AppError
from app.events import ModelInfo
from app.licences import Licence
from app.ui.models.model_button import BACKENDS
from app.ui.shared import theme
from app.ui.shared.cards import small_label
from app.ui.shared.dialog import Dialog
from app.version import version
from app.work.tasks import Tasks


class About(Dialog):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("About TurboQuant Chat"))
        column = QVBoxLayout(self)
        column.setContentsMargins(28, 26, 28, 20)
        column.setSpacing(8)
        icon = QLabel(self)
        icon.setPixmap(theme.app_icon().pixmap(72, 72))
        name = QLabel(self.tr("TurboQuant Chat"), self)
        name.setFont(theme.font(1.5, bold=True))
        number = small_label(self.tr("Version {0}").format(version()), self)
        words = QLabel(
            self.tr("Chat with local MLX models, and watch a TurboQuant-compressed key/value cache stay small."), self
        )
        words.setWordWrap(True)
        for label in (icon, name, number, words):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            column.addWidget(label)
        column.addSpacing(8)
        self.facts = small_label("", self)
        self.facts.setWordWrap(True)
        self.facts.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.facts.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        column.addWidget(self.facts)
        column.addSpacing(10)
        row = QHBoxLayout()
        shown = QPushButton(self.tr("Licences…"), self)
        shown.setAutoDefault(False)
        shown.clicked.connect(self.on_licences)
        close = QPushButton(self.tr("Close"), self)
        close.clicked.connect(self.close)
        row.addWidget(shown)
        row.addStretch()
        row.addWidget(close)
        column.addLayout(row)
        self.licences: Licences | None = None

    def begin(self, model: ModelInfo | None) -> None:
        """`model` says which backend is in use."""
        backend = BACKENDS.get(model.backend, model.backend) if model else self.tr("no model is loaded")
        lines = [
            self.tr("Computes with: {0}").format(backend),
            f"Python {platform.python_version()} · Qt {qVersion()} · {platform.system()} {platform.machine()}",
            self.tr("Licence: Apache-2.0, a copy of which comes with the program"),
            self.tr("Its source: the Python files of app and turboquant in the program's folder"),
        ]
        self.facts.setText("\n".join(lines))
        self.fit()
        self.bring_up()

    def usual_size(self) -> QSize:
        width = theme.at_scale(460)
        return QSize(width, self.heightForWidth(width))

    def fit(self) -> None:
        self.setFixedSize(self.usual_size())

    def on_licences(self) -> None:
        if self.licences is None:
            self.licences = Licences(self)
        self.licences.bring_up()


class Licences(Dialog):
    """A list of packages; beside it the text of the one that is chosen."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Licences"))
        self.fit()
        self._shown: Sequence[Licence] = ()
        self.list = QListWidget(self)
        self.list.setAccessibleName(self.tr("Packages"))
        self.list.setObjectName("plainList")
        self.list.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.currentRowChanged.connect(self.on_chosen)
        self.text = QPlainTextEdit(self)
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setFont(theme.mono_font(theme.SMALL))
        self.text.setAccessibleName(self.tr("Text of the licence"))
        split = QSplitter(self)
        split.setHandleWidth(1)
        split.addWidget(self.list)
        split.addWidget(self.text)
        split.setSizes([300, 560])
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(split)
        self._tasks = Tasks(self)
        self._tasks.run(licences.shipped, self.on_read, self.on_failed)  # reads hundreds of small files

    def usual_size(self) -> QSize:
        return QSize(theme.at_scale(860), theme.at_scale(560))

    def on_read(self, found: Sequence[Licence]) -> None:
        self._shown = found
        for licence in found:
            self.list.addItem(f"{licence.name} {licence.version}  ·  {licence.licence}")
        self.list.setCurrentRow(0)

    def on_failed(self, error: AppError) -> None:
        self.text.setPlainText(str(error))

    def on_chosen(self, row: int) -> None:
        text = self._shown[row].text
        self.text.setPlainText(text or self.tr("This package names its licence and carries no text of it."))
