"""The settings of the replies: a card above the composer's button, grouped, each field explained and to be reset."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.generation import DEFAULTS, RANGES, Value
from app.library.profiles import NAME_LETTERS
from app.ui.chat.chat import Chat
from app.ui.chat.generation import Generation
from app.ui.composer.composer import Composer
from app.ui.replies.generation_fields import Field, NumberField, SeedField, StopsField, SwitchField, TextField
from app.ui.shared import formats, theme
from app.ui.shared.cards import small_label
from app.ui.shared.popover import Popover

WIDTH = 460
PADDING = 18


class ReplySettings(QObject):
    """The composer's button that opens the card, coloured while something is chosen."""

    def __init__(self, chat: Chat, composer: Composer, window: QWidget) -> None:
        super().__init__(window)
        self._chat, self._composer = chat, composer
        self.panel = GenerationPanel(chat.generation, window)
        self.panel.closed.connect(composer.edit.setFocus)
        composer.settings.clicked.connect(self.on_open)
        chat.turn_changed.connect(self.on_turn_changed)
        chat.generation.changed.connect(self.on_changed)
        self.on_changed()

    def on_open(self) -> None:
        self.panel.open_at(self._composer.settings)

    def on_turn_changed(self) -> None:
        self.panel.set_generating(self._chat.generating)

    def on_changed(self) -> None:
        chosen, profile = self._chat.generation.chosen, self._chat.generation.profile
        words = self.panel.title
        if chosen:
            count = self.tr("{0} chosen by you").format(formats.count(len(chosen)))
            words += "\n" + (profile.name if profile else count)
        self._composer.mark_settings(bool(chosen), words)


class GenerationPanel(Popover):
    """Whatever is set holds from the next reply on; there is nothing to confirm."""

    def __init__(self, generation: Generation, window: QWidget) -> None:
        super().__init__(WIDTH, window)
        self.title = self.tr("Reply settings")
        self.setAccessibleName(self.title)
        self._generation = generation
        self.fields: dict[str, Field] = {}
        self._generating = False
        column = QVBoxLayout(self)
        column.setSpacing(0)
        self._top = self._head()
        column.addWidget(self._top)
        self._scroll = QScrollArea(self)
        self._scroll.setObjectName("popoverScroll")
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # its controls have it
        body = QWidget(self._scroll)
        body.setObjectName("popoverBody")
        self._column = QVBoxLayout(body)
        self._column.setContentsMargins(PADDING, 4, PADDING, PADDING)
        self._column.setSpacing(14)
        self._build(body)
        self._scroll.setWidget(body)
        body.installEventFilter(self)
        column.addWidget(self._scroll, 1)
        generation.changed.connect(self.on_changed)
        theme.theme().changed.connect(self.on_theme_changed)
        self.on_theme_changed()
        self.on_changed()

    # ------------------------------------------------------------ building

    def _head(self) -> QWidget:
        head = QWidget(self)
        column = QVBoxLayout(head)
        column.setContentsMargins(PADDING, 14, 12, 8)
        column.setSpacing(8)
        row = QHBoxLayout()
        self._title = QLabel(self.title, head)
        self._title.setFont(theme.font(1.08, bold=True))
        self.profile = QToolButton(head)
        self.profile.setProperty("role", "tab")
        self.profile.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.profile.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.profile.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # the arrow stands behind the name
        self.profile.setMenu(QMenu(self.profile))
        self.profile.menu().setLayoutDirection(QGuiApplication.layoutDirection())
        self.profile.menu().aboutToShow.connect(self.on_menu)
        row.addWidget(self._title)
        row.addStretch(1)
        row.addWidget(self.profile)
        column.addLayout(row)
        self._now = small_label("", head)
        self._now.setWordWrap(True)
        column.addWidget(self._now)
        self._naming = QWidget(head)
        naming = QHBoxLayout(self._naming)
        naming.setContentsMargins(0, 0, 6, 0)
        self.name = QLineEdit(self._naming)
        self.name.setMaxLength(NAME_LETTERS)
        self.name.setPlaceholderText(self.tr("Name of the profile"))
        self.name.setAccessibleName(self.name.placeholderText())
        self.name.textChanged.connect(self.on_name_edited)
        self.name.returnPressed.connect(self.on_named)
        self.save = QPushButton(self.tr("Save"), self._naming)
        self.save.setProperty("role", "primary")
        self.save.clicked.connect(self.on_named)
        cancel = QPushButton(self.tr("Cancel"), self._naming)
        cancel.clicked.connect(self.on_naming_over)
        for part in (self.name, self.save, cancel):
            naming.addWidget(part)
        self._naming.hide()
        self._renamed = ""  # the profile that gets another name; empty: a new one is made
        column.addWidget(self._naming)
        return head

    def _build(self, body: QWidget) -> None:
        number = partial(NumberField, parent=body)
        self._add(
            TextField(
                "system_prompt",
                self.tr("System prompt"),
                self.tr("Who the model is and how it answers. After a change it reads the conversation again."),
                4,
                body,
            ),
            SwitchField("thinking", self.tr("Thinking"), self.tr("Whether it may think before it answers."), body),
        )
        self._section(self.tr("Choice of words"), body)
        self._add(
            number(
                "temperature",
                self.tr("Temperature"),
                self.tr("0 takes the likeliest word each time; more makes it more varied."),
                slider=2.0,
            ),
            number(
                "top_p",
                self.tr("Top-p"),
                self.tr("Only the likeliest words that make up this share together; 1: all."),
                slider=1.0,
            ),
            number("top_k", self.tr("Top-k"), self.tr("Only so many of the likeliest words; 0: no limit.")),
            number(
                "min_p",
                self.tr("Min-p"),
                self.tr("Only words at least this likely, beside the likeliest one; 0: off."),
                slider=1.0,
            ),
        )
        self._section(self.tr("Repetition"), body)
        self._add(
            number(
                "repetition_penalty",
                self.tr("Penalty"),
                self.tr("Above 1, words that were used come less often; 1: off."),
                slider=2.0,
            ),
            number("repetition_context", self.tr("Looks back"), self.tr("So many of the last tokens count as used.")),
        )
        self._section(self.tr("Where it ends"), body)
        self._add(
            number("max_tokens", self.tr("Longest reply"), self.tr("In tokens, thoughts included.")),
            StopsField(
                "stop",
                self.tr("Stop strings"),
                self.tr("A reply ends before any of these, one a line; \\n stands for a line break."),
                2,
                body,
            ),
            SeedField(
                "seed",
                self.tr("Seed"),
                self.tr("The same number gives the same reply to the same text; empty: another each time."),
                body,
            ),
        )
        self._column.addStretch(1)

    def _section(self, title: str, body: QWidget) -> None:
        label = QLabel(title, body)
        label.setProperty("role", "section")
        label.setFont(theme.font(theme.SMALL, bold=True))
        label.setContentsMargins(0, 8, 0, 0)
        self._column.addWidget(label)

    def _add(self, *fields: Field) -> None:
        for field in fields:
            self.fields[field.name] = field
            field.chosen.connect(self.on_chosen)
            field.reset.connect(self._generation.reset)
            self._column.addWidget(field)

    # ------------------------------------------------------------ opening

    def open_at(self, anchor: QWidget) -> None:
        self.on_changed()
        super().open_at(anchor)
        self._scroll.verticalScrollBar().setValue(0)
        self.fields["system_prompt"].text.setFocus(Qt.FocusReason.PopupFocusReason)  # type: ignore[attr-defined]

    def close_card(self) -> None:
        self.on_naming_over()
        super().close_card()

    def wanted_height(self) -> int:
        return self._top.sizeHint().height() + self._column.totalHeightForWidth(self.card_width)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._scroll.widget() and event.type() == QEvent.Type.LayoutRequest and self.isVisible():
            self.place()
        return super().eventFilter(watched, event)

    def set_generating(self, generating: bool) -> None:
        self._generating = generating
        self._show_now()

    # ------------------------------------------------------------ what holds

    def on_changed(self) -> None:
        generation = self._generation
        params = generation.params
        longest = self.fields["max_tokens"]
        assert isinstance(longest, NumberField)
        longest.set_most(max(generation.context_tokens, params.max_tokens) if generation.context_tokens else 1 << 20)
        for name, field in self.fields.items():
            value = getattr(params, name)
            if name == "thinking":
                field.setVisible(generation.thinks is not None)
                value = generation.thinks if value is None else value
            field.show_value(value, name in generation.chosen, *self._default(name))
        profile = generation.profile
        words = profile.name if profile else self.tr("No profile") if not generation.chosen else self.tr("Own settings")
        if profile and profile.chosen != generation.chosen:
            words = self.tr("{0} (changed)").format(profile.name)
        room = self.card_width - 2 * PADDING - self._title.sizeHint().width() - 64  # the arrow, what stands around it
        shown = self.profile.fontMetrics().elidedText(words, Qt.TextElideMode.ElideMiddle, room)
        self.profile.setText(shown.replace("&", "&&"))
        self.profile.setAccessibleName(self.tr("Profile: {0}").format(words))
        self._show_now()

    def _default(self, name: str) -> tuple[str, bool]:
        """What a field would be without the user's choice, in words; whether the model says so."""
        generation = self._generation
        if name == "thinking":
            return (self.tr("on") if generation.thinks else self.tr("off")), True
        if name in generation.of_model:
            return _number(name, generation.of_model[name]), True
        if name in RANGES and getattr(DEFAULTS, name) is not None:
            return _number(name, getattr(DEFAULTS, name)), False
        return "", False

    def _show_now(self) -> None:
        words = self.tr("For this conversation. What you haven't set follows the model.")
        if self._generating:
            words = self.tr("A reply is being written: what you change holds from the next one on.")
        if self._naming.isVisibleTo(self) and self.name.text():
            words = self._generation.hindrance(self.name.text(), self._renamed) or words
        self._now.setText(words)

    def on_chosen(self, name: str, value: Value) -> None:
        self._generation.set(name, value)

    # ------------------------------------------------------------ profiles

    def on_menu(self) -> None:
        generation, menu = self._generation, self.profile.menu()
        menu.clear()
        current, profiles = generation.profile, generation.profiles
        none = self._entry(menu, self.tr("No profile: as the model has it"), partial(generation.use, ""))
        none.setCheckable(True)
        none.setChecked(current is None and not generation.chosen)
        for profile in profiles:
            name = formats.short(profile.name, 40).replace("&", "&&")
            entry = self._entry(menu, name, partial(generation.use, profile.name))
            entry.setCheckable(True)
            entry.setChecked(current is not None and current.name == profile.name)
        menu.addSeparator()
        if current is not None:
            name = formats.short(current.name, 28).replace("&", "&&")
            if current.chosen != generation.chosen:
                update = partial(generation.save_as, current.name)
                self._entry(menu, self.tr("Save the changes to “{0}”").format(name), update)
        self._entry(menu, self.tr("Save as a new profile…"), self.on_save_as)
        if current is not None:
            self._entry(menu, self.tr("Rename “{0}”…").format(name), partial(self._begin_naming, current.name))
            self._entry(menu, self.tr("Delete “{0}”").format(name), partial(generation.delete, current.name))
            first = self._entry(
                menu, self.tr("New conversations begin with “{0}”").format(name),
                partial(generation.begin_with, "" if current.first else current.name),
            )  # fmt: skip
            first.setCheckable(True)
            first.setChecked(current.first)

    def _entry(self, menu: QMenu, text: str, do: Callable[[], object]) -> QAction:
        return menu.addAction(text, do)

    def on_save_as(self) -> None:
        self._begin_naming("")

    def _begin_naming(self, renamed: str) -> None:
        self._renamed = renamed
        self.name.setText(renamed)
        self.save.setText(self.tr("Rename") if renamed else self.tr("Save"))
        self._naming.show()
        self.name.selectAll()
        self.name.setFocus()
        self.on_name_edited()
        self.place()

    def on_name_edited(self) -> None:
        wrong = self._generation.hindrance(self.name.text(), self._renamed)
        self.save.setEnabled(not wrong)
        self.save.setToolTip(formats.tip(wrong))
        self._show_now()

    def on_named(self) -> None:
        if self._generation.hindrance(self.name.text(), self._renamed):
            return
        if self._renamed:
            self._generation.rename(self._renamed, self.name.text())
        else:
            self._generation.save_as(self.name.text())
        self.on_naming_over()

    def on_naming_over(self) -> None:
        self._naming.hide()
        self.name.clear()
        self._show_now()
        self.place()

    def on_theme_changed(self) -> None:
        c = theme.colors()
        self.profile.setIcon(theme.icon("down", c.muted))
        knob = 2 * theme.sized(7)
        self.setStyleSheet(
            f"QPlainTextEdit, QDoubleSpinBox {{ border: 1px solid {c.line}; border-radius: 7px; padding: 4px 6px;"
            f" background: {c.background}; color: {c.text}; selection-background-color: {c.accent};"
            f" selection-color: {c.on_accent}; }}"
            f"QPlainTextEdit:focus, QDoubleSpinBox:focus {{ border-color: {c.accent}; }}"
            f"QSlider {{ min-height: {knob + 4}px; }}"
            f"QSlider::groove:horizontal {{ height: 4px; border-radius: 2px; background: {c.line}; }}"
            f"QSlider::sub-page:horizontal {{ height: 4px; border-radius: 2px; background: {c.accent}; }}"
            f"QSlider::handle:horizontal {{ width: {knob}px; height: {knob}px; margin: -{knob // 2 - 1}px 0;"
            f" border-radius: {knob // 2 + 1}px; background: {c.background}; border: 1px solid {c.what_if}; }}"
            f"QSlider::handle:horizontal:focus, QSlider::handle:horizontal:hover {{ border: 2px solid {c.accent};"
            f" width: {knob - 2}px; height: {knob - 2}px; }}"
        )


def _number(name: str, value: Value) -> str:
    assert isinstance(value, int | float)
    decimals = RANGES[name].decimals
    return formats.decimal(value, decimals) if decimals else formats.count(int(value))
