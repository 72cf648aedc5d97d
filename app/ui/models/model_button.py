"""The model in the tool bar: its name with a menu of others, what it takes, and how far a load is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QMenu, QProgressBar, QToolButton, QWidget

from app.engine.model_folder import display_name
from app.events import ModelInfo
from app.settings import Settings
from app.ui.shared import formats, theme
from app.ui.shared.cards import quiet_button

RECENT_MODELS = 6
NAME_LEAST = 120
SPACING = 6
BACKENDS = {"metal": "Metal", "cuda": "CUDA", "numba": "CPU (numba)", "reference": "plain MLX"}


class ModelButton(QWidget):
    """`chosen(path)` of a model used before; `cancel_clicked` while one loads. `fill(menu)` adds what else there is to
    choose. `starter_installed` is app.engine.starter's.
    """

    chosen = Signal(str)
    cancel_clicked = Signal()

    def __init__(self, settings: Settings, starter_installed: Callable[[], Path | None],
                 fill: Callable[[QMenu], None], parent: QWidget) -> None:  # fmt: skip
        super().__init__(parent)
        self._settings, self._starter_installed, self._fill = settings, starter_installed, fill
        self._current = ""
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACING)
        self.button = QToolButton(self)
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.button.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # the arrow stands behind the name
        self.button.setFont(theme.font(bold=True))
        self.button.setMenu(QMenu(self.button))
        self.button.menu().aboutToShow.connect(self.on_menu)
        self.detail = QLabel(self)
        self.detail.setProperty("role", "muted")
        self.bar = QProgressBar(self)
        self.bar.setTextVisible(False)
        self.bar.setFixedWidth(90)
        self.bar.setAccessibleName(self.tr("Loading the model"))
        self.cancel = quiet_button(self.tr("Cancel"), self)
        self.cancel.clicked.connect(self.cancel_clicked)
        for widget in (self.button, self.detail, self.bar, self.cancel):
            row.addWidget(widget)
        self._name = ""
        theme.theme().changed.connect(self.on_theme_changed)
        self.on_theme_changed()
        self.show_none()

    # ------------------------------------------------------------ what is shown

    def show_none(self) -> None:
        self._current = ""
        self._show(self.tr("No model"), "")

    def show_loading(self, name: str) -> None:
        self._show(name, self.tr("loading…"), loading=True)
        self.bar.setRange(0, 0)

    def show_progress(self, done: int, total: int) -> None:
        """`done` of `total` bytes are in memory."""
        self.bar.setRange(0, 1000)
        self.bar.setValue(1000 * done // max(total, 1))

    def show_model(self, model: ModelInfo, asleep: bool) -> None:
        """A loaded one, or one that gave its memory back; the next start and the menu know it from now on."""
        self._current = model.path
        size = self.tr("{0} in memory").format(formats.data_size(model.weights_bytes))
        words = f"{size} · {BACKENDS.get(model.backend, model.backend)}"
        self._show(model.name, self.tr("unloaded; the next message loads it again") if asleep else words)
        self._settings.set("model", model.path)
        recent = [model.path] + [path for path in self.recent() if path != model.path]
        self._settings.set("recent_models", recent[:RECENT_MODELS])

    def _show(self, name: str, detail: str, loading: bool = False) -> None:
        self._name = formats.short(name, 40)
        self.button.setToolTip(formats.tip(name))
        self.button.setAccessibleName(self.tr("Model: {0}").format(name))
        self.detail.setText(detail)
        self.bar.setVisible(loading)
        self.cancel.setVisible(loading)
        self.updateGeometry()
        self._squeeze()

    # ------------------------------------------------------------ in a narrow window

    def _width(self, detail: bool) -> int:
        """What name, bar and button take, and the detail too if asked."""
        metrics = self.button.fontMetrics()
        around = self.button.sizeHint().width() - metrics.horizontalAdvance(self.button.text())  # padding and arrow
        name = metrics.horizontalAdvance(self._name) + around
        parts: list[QWidget] = [w for w in (self.bar, self.cancel) if not w.isHidden()]
        parts += [self.detail] if detail else []
        return name + sum(part.sizeHint().width() + SPACING for part in parts)

    def sizeHint(self) -> QSize:
        return QSize(self._width(detail=bool(self.detail.text())), super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(NAME_LEAST, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._squeeze()

    def _squeeze(self) -> None:
        """Without room for all, the detail goes first, then the name's end."""
        self.detail.setVisible(bool(self.detail.text()) and self._width(detail=True) <= self.width())
        room = self.width() - (self._width(detail=False) - self.button.fontMetrics().horizontalAdvance(self._name))
        text = self.button.fontMetrics().elidedText(self._name, Qt.TextElideMode.ElideRight, max(room, 40))
        self.button.setText(text)

    # ------------------------------------------------------------ the menu

    def on_menu(self) -> None:
        menu = self.button.menu()
        menu.clear()
        menu.setLayoutDirection(QApplication.layoutDirection())  # the button's own is turned round
        for path in self.recent():
            entry = menu.addAction(display_name(Path(path)))
            entry.setData(path)
            entry.setToolTip(path)
            entry.setCheckable(True)
            entry.setChecked(path == self._current)
            entry.triggered.connect(self.on_chosen)
        menu.addSeparator()
        self._fill(menu)

    def on_chosen(self) -> None:
        action = self.sender()
        assert isinstance(action, QAction)
        if action.data() != self._current:
            self.chosen.emit(str(action.data()))

    def recent(self) -> list[str]:
        """Models used before that are still there, the latest first; the starter among them."""
        starter = self._starter_installed()
        default = [str(path) for path in [starter] if path]
        known = self._settings.get("recent_models", default, valid=lambda found: all(type(p) is str for p in found))
        known = known + [path for path in default if path not in known]
        return [path for path in known if Path(path).is_dir()]

    def on_theme_changed(self) -> None:
        self.button.setIcon(theme.icon("down", theme.colors().muted))
