"""The page of the preferences about saved caches: their room, and each of them with what it costs and spares."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFormLayout,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QProgressBar,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.library.records import StoredCache
from app.ui.conversations.storage import Storage
from app.ui.shared import formats
from app.ui.shared.cards import small_label
from app.ui.shared.choice import Choice
from app.ui.shared.question import Question

ID_ROLE = Qt.ItemDataRole.UserRole
CHOICES = tuple(size * 1_000_000_000 for size in (1, 2, 4, 8, 16, 32, 64))
LIST_HEIGHT = 200


class StoragePage(QWidget):
    def __init__(self, storage: Storage, parent: QWidget) -> None:
        super().__init__(parent)
        self._storage = storage
        self._files: list[StoredCache] = []
        self.box: Question | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(10)
        words = small_label(
            self.tr(
                "A saved cache lets a conversation go on without reading its text again. The text is kept in any case."
            ),
            self,
        )
        words.setWordWrap(True)
        column.addWidget(words)
        form = QFormLayout()
        form.setHorizontalSpacing(18)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.FieldsStayAtSizeHint)
        label, self.quota = QLabel(self.tr("Room for saved caches"), self), Choice(self)
        label.setBuddy(self.quota)
        self.quota.setAccessibleName(label.text())
        for size in sorted({*CHOICES, storage.quota_bytes}):
            self.quota.addItem(formats.data_size(size), size)
        self.quota.setCurrentIndex(self.quota.findData(storage.quota_bytes))
        self.quota.setToolTip(formats.tip(self.tr("When it is full, what was used longest ago goes first")))
        self.quota.activated.connect(self.on_quota)
        form.addRow(label, self.quota)
        column.addLayout(form)
        self.bar = QProgressBar(self)
        self.bar.setTextVisible(False)
        self.total = small_label("", self)
        column.addWidget(self.bar)
        column.addWidget(self.total)
        self.list = QTreeWidget(self)
        self.list.setAccessibleName(self.tr("Saved caches, the largest first"))
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # a title's end may be the number that tells it apart
        self.list.setMinimumHeight(LIST_HEIGHT)
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.list.setHeaderLabels(
            [
                self.tr("Conversation"),
                self.tr("Scheme"),
                self.tr("Tokens"),
                self.tr("Size"),
                self.tr("Loading"),
                self.tr("Reading again"),
            ]
        )
        header = self.list.header()
        for place in range(2, 6):
            self.list.headerItem().setTextAlignment(
                place, Qt.AlignmentFlag.AlignTrailing | Qt.AlignmentFlag.AlignVCenter
            )
        header.setStretchLastSection(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        measured = self.tr("Measured when it was loaded last, else when it was saved")
        self.list.headerItem().setToolTip(4, formats.tip(measured))
        estimated = self.tr("An estimate, from the speed at which the model last read a prompt")
        self.list.headerItem().setToolTip(5, formats.tip(estimated))
        self.list.itemSelectionChanged.connect(self.on_selected)
        column.addWidget(self.list)
        row = QHBoxLayout()
        self.discard = QPushButton(self.tr("Discard the cache, keep the text"), self)
        self.discard_all = QPushButton(self.tr("Discard all saved caches…"), self)
        for button in (self.discard, self.discard_all):
            button.setAutoDefault(False)
            row.addWidget(button)
        row.addStretch()
        self.discard.clicked.connect(self.on_discard)
        self.discard_all.clicked.connect(self.on_discard_all)
        column.addLayout(row)
        row = QHBoxLayout()
        self.discarded = small_label("", self)
        self.discarded.setWordWrap(True)
        self.undo = QPushButton(self.tr("Undo"), self)
        self.undo.setAutoDefault(False)
        self.undo.clicked.connect(storage.discarding.undo)
        row.addWidget(self.discarded, 1)
        row.addWidget(self.undo)
        column.addLayout(row)
        storage.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """A row for each conversation: its branches' files go together."""
        self._files = self._storage.files()
        rows: dict[str, list[StoredCache]] = {}
        for file in self._files:
            rows.setdefault(file.conversation, []).append(file)
        chosen = self._chosen()
        self.list.clear()
        for conversation, files in sorted(rows.items(), key=lambda row: _size(row[1]), reverse=True):
            latest = max(files, key=lambda file: file.used)
            title, seconds = self._storage.title(conversation), latest.load_s or latest.save_s
            size = formats.data_size(_size(files))
            item = QTreeWidgetItem(
                [
                    title,
                    ", ".join(dict.fromkeys(file.scheme for file in files)),
                    formats.count(latest.tokens) if latest.tokens else "–",
                    self.tr("%n cache(s), {0}", "", len(files)).format(size) if len(files) > 1 else size,
                    formats.spell(seconds) if seconds else "–",
                    self.tr("about {0}").format(formats.spell(latest.prefill_s)) if latest.prefill_s else "–",
                ]
            )
            item.setData(0, ID_ROLE, conversation)
            item.setToolTip(0, formats.tip(item.text(0)))
            for place in range(2, 6):
                item.setTextAlignment(place, Qt.AlignmentFlag.AlignTrailing | Qt.AlignmentFlag.AlignVCenter)
            self.list.addTopLevelItem(item)
            item.setSelected(conversation in chosen)
        words = self._storage.discarding.words
        self.discarded.setText(words)
        self.undo.setVisible(bool(words))
        self._show_total()
        self.on_selected()

    def _chosen(self) -> set[str]:
        return {str(item.data(0, ID_ROLE)) for item in self.list.selectedItems()}

    def _show_total(self) -> None:
        total, quota = self._total(), self._storage.quota_bytes
        self.bar.setRange(0, 1000)
        self.bar.setValue(min(1000, 1000 * total // quota))
        words = self.tr("%n saved cache(s), {0} of {1}", "", len(self._files))
        self.total.setText(words.format(formats.data_size(total), formats.data_size(quota)))
        self.bar.setAccessibleName(self.total.text())
        self.discard_all.setEnabled(bool(self._files))

    def _total(self) -> int:
        return _size(self._files)

    def on_selected(self) -> None:
        self.discard.setEnabled(bool(self.list.selectedItems()))

    def on_quota(self) -> None:
        self._storage.set_quota(int(self.quota.currentData()))
        self._show_total()

    def on_discard(self) -> None:
        self._storage.discard(self._chosen())

    def on_discard_all(self) -> None:
        words = self.tr(
            "{0} become free. The text of every conversation is kept; going on with one reads it again first."
        )
        words = words.format(formats.data_size(self._total()))
        self.box = box = Question(self, self.tr("Discard all saved caches?"), words)
        box.add_button(self.tr("Discard all")).clicked.connect(self._storage.discard_all)
        box.open()


def _size(files: Sequence[StoredCache]) -> int:
    return sum(file.size_bytes for file in files)
