"""One field of the settings: its name, a control, a line that explains it, and the way back to the model's default."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QValidator, QWheelEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QDoubleSpinBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QSizePolicy,
    QSlider,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app import generation
from app.generation import Range, Value
from app.ui.shared import formats, theme
from app.ui.shared.cards import quiet_button, small_label

NUMBER_WIDTH = 84
SLIDER_WIDTH = 128
SEED_LETTERS = 40  # more than any has: what is typed beyond its range is told


class Field(QWidget):
    """`chosen(name, value)` when the user has set it, `reset(name)` when it shall follow the model again."""

    chosen = Signal(str, object)
    reset = Signal(str)

    def __init__(self, name: str, title: str, words: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.name = name
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(3)
        self.row = QHBoxLayout()
        self.row.setSpacing(10)
        self._title = QLabel(title, self)
        self.row.addWidget(self._title)
        self.row.addStretch(1)
        self.column.addLayout(self.row)
        below = QHBoxLayout()
        below.setSpacing(8)
        self._words = words
        self._hint = small_label(words, self)
        self._hint.setWordWrap(True)
        self._hint.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        below.addWidget(self._hint, 1)
        self.back = quiet_button(self.tr("Reset"), self)
        self.back.clicked.connect(self.on_reset)
        below.addWidget(self.back, 0, Qt.AlignmentFlag.AlignTop)
        self.column.addLayout(below)

    @property
    def title(self) -> str:
        return self._title.text()

    @property
    def hint(self) -> str:
        return self._hint.text()

    def show_value(self, value: Value | None, chosen: bool, default: str, of_model: bool) -> None:
        """What holds. `default`, in words, would hold without the user's choice; it is the model's or the program's."""
        self._title.setFont(theme.font(bold=chosen))
        self.back.setVisible(chosen)
        self.back.setText(self.tr("Reset to {0}").format(default) if default else self.tr("Reset"))
        self.back.setToolTip(self.tr("The model's default") if of_model else "")
        self.back.setAccessibleName(f"{self.title}: {self.back.text()}")
        model = self.tr("Model's default.")
        self._hint.setText(f"{self._words} {model}" if of_model and not chosen else self._words)
        self._complain("")
        self._put(value)

    def _put(self, value: Value | None) -> None:
        raise NotImplementedError

    def _describe(self, control: QWidget) -> None:
        control.setAccessibleName(self.title)
        control.setAccessibleDescription(self._words)
        self._title.setBuddy(control)

    def _complain(self, words: str) -> None:
        """What is wrong with what was typed, in place of the explanation; it isn't taken."""
        role = "bad" if words else "muted"
        if words:
            self._hint.setText(words)
        if self._hint.property("role") != role:
            self._hint.setProperty("role", role)
            self._hint.style().unpolish(self._hint)
            self._hint.style().polish(self._hint)

    def on_reset(self) -> None:
        self.reset.emit(self.name)


class NumberField(Field):
    """A number within its range, with a slider where that helps."""

    def __init__(self, name: str, title: str, words: str, parent: QWidget, slider: float = 0.0) -> None:
        """`slider`: up to which value a slider reaches; 0 for none."""
        super().__init__(name, title, words, parent)
        limits: Range = generation.RANGES[name]
        self._whole = not limits.decimals
        self._step = 10.0**-limits.decimals
        self.slider: QSlider | None = None
        if slider:
            self.slider = _Slider(Qt.Orientation.Horizontal, self)
            self.slider.setRange(round(limits.least / self._step), round(slider / self._step))
            self.slider.setPageStep(max(1, round(0.1 / self._step)))
            self.slider.setFixedSize(SLIDER_WIDTH, 22)
            self._describe(self.slider)
            self.slider.valueChanged.connect(self.on_slid)
            self.row.addWidget(self.slider)
        self.number = _Number(self)
        self.number.setLocale(formats.locale())
        self.number.setRange(limits.least, limits.most)
        self.number.setDecimals(limits.decimals)
        self.number.setSingleStep(0.05 if limits.decimals else 1)
        self.number.setGroupSeparatorShown(self._whole)
        self._describe(self.number)
        self.number.valueChanged.connect(self.on_typed)
        self.row.addWidget(self.number)

    def set_most(self, most: float) -> None:
        self.number.setMaximum(min(most, generation.RANGES[self.name].most))

    def _put(self, value: Value | None) -> None:
        assert isinstance(value, int | float)
        for control in (self.number, self.slider):
            if control is not None:
                control.blockSignals(True)
        self.number.setValue(float(value))
        if self.slider is not None:
            self.slider.setValue(round(value / self._step))
        for control in (self.number, self.slider):
            if control is not None:
                control.blockSignals(False)

    def on_slid(self, steps: int) -> None:
        self._choose(steps * self._step)

    def on_typed(self, value: float) -> None:
        self._choose(value)

    def _choose(self, value: float) -> None:
        decimals = generation.RANGES[self.name].decimals
        self.chosen.emit(self.name, round(value) if self._whole else round(value, decimals))


class TextField(Field):
    """Several lines below the name."""

    def __init__(self, name: str, title: str, words: str, lines: int, parent: QWidget) -> None:
        super().__init__(name, title, words, parent)
        self.text = QPlainTextEdit(self)
        self.text.setTabChangesFocus(True)
        self.text.setFrameShape(QFrame.Shape.NoFrame)
        self._lines = lines
        self._describe(self.text)
        self.text.textChanged.connect(self.on_edited)
        self.column.insertWidget(1, self.text)
        self._fit()

    def _fit(self) -> None:
        self.text.setFixedHeight(self._lines * self.text.fontMetrics().lineSpacing() + 24)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_lines"):
            self._fit()

    def _put(self, value: Value | None) -> None:
        text = self._as_text(value)
        typed = value and self._value() == value  # maybe in other words, and the cursor is within
        if not typed and self.text.toPlainText() != text:
            self.text.blockSignals(True)
            self.text.setPlainText(text)
            self.text.blockSignals(False)

    def on_edited(self) -> None:
        value = self._value()
        if not value:
            self.reset.emit(self.name)
        elif generation.valid(self.name, value):
            self.chosen.emit(self.name, value)
        else:
            self._complain(self._limit())

    def _value(self) -> Value:
        return self.text.toPlainText()

    def _as_text(self, value: Value | None) -> str:
        return str(value or "")

    def _limit(self) -> str:
        return self.tr("That is too long; nothing was changed.")


class StopsField(TextField):
    """One string a line; \\n within one stands for a line break."""

    def _value(self) -> Value:
        lines = self.text.toPlainText().split("\n")
        return tuple(_unescaped(line) for line in lines if line.strip())  # a stray blank would end every reply

    def _as_text(self, value: Value | None) -> str:
        assert isinstance(value, tuple)
        return "\n".join(stop.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t") for stop in value)

    def _limit(self) -> str:
        words = self.tr("At most {0} strings of {1} letters; nothing was changed.")
        return words.format(generation.STOPS_MOST, generation.STOP_LETTERS)


class SeedField(Field):
    """A whole number, or nothing."""

    def __init__(self, name: str, title: str, words: str, parent: QWidget) -> None:
        super().__init__(name, title, words, parent)
        self.number = QLineEdit(self)
        self.number.setFixedWidth(NUMBER_WIDTH + 40)
        self.number.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.number.setMaxLength(SEED_LETTERS)
        self.number.setPlaceholderText(self.tr("random"))
        self._describe(self.number)
        self.number.textEdited.connect(self.on_edited)
        self.row.addWidget(self.number)

    def _put(self, value: Value | None) -> None:
        text = "" if value is None else str(value)
        if self.number.text().strip() != text:
            self.number.setText(text)

    def on_edited(self, text: str) -> None:
        text = text.strip()
        value = int(text) if text.isascii() and text.isdigit() else None
        if not text:
            self.reset.emit(self.name)
        elif value is not None and generation.valid(self.name, value):
            self.chosen.emit(self.name, value)
        else:
            most = formats.count(int(generation.RANGES[self.name].most))
            self._complain(self.tr("A whole number from 0 to {0}; nothing was changed.").format(most))


class SwitchField(Field):
    """On or off."""

    def __init__(self, name: str, title: str, words: str, parent: QWidget) -> None:
        super().__init__(name, title, words, parent)
        self._group = QButtonGroup(self)
        self.buttons = {True: self._button(self.tr("On")), False: self._button(self.tr("Off"))}

    def _button(self, text: str) -> QToolButton:
        button = QToolButton(self)
        button.setText(text)
        button.setProperty("role", "tab")
        button.setCheckable(True)
        button.setAccessibleName(f"{self.title}: {text}")
        button.clicked.connect(self.on_clicked)
        self._group.addButton(button)
        self.row.addWidget(button)
        return button

    def _put(self, value: Value | None) -> None:
        self.buttons[bool(value)].setChecked(True)

    def on_clicked(self) -> None:
        self.chosen.emit(self.name, self.buttons[True].isChecked())


class _Number(QDoubleSpinBox):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setButtonSymbols(QDoubleSpinBox.ButtonSymbols.NoButtons)
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.setFixedWidth(NUMBER_WIDTH)
        self.setKeyboardTracking(False)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def validate(self, text: str, place: int) -> object:
        """A point and a comma both stand before decimals, whichever the locale writes: there are no thousands then. A
        whole number takes no decimal point: Qt would forget what stands behind it.
        """
        point = self.locale().decimalPoint()
        if self.decimals():
            text = text.replace(".", ",").replace(",", point)
        elif point in text:
            return QValidator.State.Invalid, text, place
        return super().validate(text, place)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # scrolling past must not change it


class _Slider(QSlider):
    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


def _unescaped(line: str) -> str:
    parts = (part.replace("\\n", "\n").replace("\\t", "\t") for part in line.split("\\\\"))
    return "\\".join(parts)
