"""Colours, text sizes and icons. Follows the system's light or dark while the program runs; one accent colour."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache

from PySide6.QtCore import QByteArray, QDir, QEvent, QObject, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractItemView, QAbstractScrollArea, QApplication

from app.paths import RESOURCES

# Where Qt's style sheets keep the font that a widget had at first, and put back with each new sheet.
_SAVED_FONT = "_q_styleSheetWidgetFont"
SMALL = 0.86
LARGE = 2.0
LEAST_POINTS = 9.75  # a Linux machine without a desktop reports 9, which is too small to read at length


@dataclass(frozen=True)
class Colors:
    background: str
    side: str
    panel: str
    line: str
    text: str
    muted: str
    accent: str
    on_accent: str
    accent_focus: str
    bubble: str
    code: str
    selected: str
    hover: str
    found: str  # behind what a search found
    what_if: str
    ceiling: str
    good: str
    warn: str
    bad: str
    # syntax highlighting
    keyword: str
    string: str
    number: str
    name: str
    comment: str
    tick: str  # the picture on `accent`


LIGHT = Colors(
    background="#ffffff", side="#f4f5f7", panel="#fafbfc", line="#e1e4e9", text="#1d2129", muted="#5a6170",
    accent="#2f62e8", on_accent="#ffffff", accent_focus="#16389a",
    bubble="#eaf0fd", code="#f3f4f6", selected="#d9e3fb", hover="#e9ebef", found="#ffe9a8",
    what_if="#838c99", ceiling="#aab1bc", good="#157a4b", warn="#8f5c00", bad="#c0312b",
    keyword="#2457d6", string="#1c7347", number="#9a4b00", name="#7a3db8", comment="#646b77", tick="tick-white.svg",
)  # fmt: skip
DARK = Colors(
    background="#1e2024", side="#181a1d", panel="#222529", line="#353a41", text="#e7e9ec", muted="#9fa6b1",
    accent="#7aa2ff", on_accent="#101624", accent_focus="#d3e0ff",
    bubble="#2a3142", code="#292c31", selected="#2c3850", hover="#282b30", found="#5c4a12",
    what_if="#828b98", ceiling="#666d78", good="#4cc38a", warn="#e0b04c", bad="#ff8a80",
    keyword="#86adff", string="#8fd3a5", number="#f0b072", name="#cfa8ff", comment="#99a1ac", tick="tick-black.svg",
)  # fmt: skip


SCROLL_BAR = 10  # pixels


class Theme(QObject):
    """The colours in use. `changed` is emitted after the system, or `force`, has chosen another set."""

    changed = Signal()

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._app = app
        self._forced: bool | None = None
        self._points = max(app.font().pointSizeF(), LEAST_POINTS)
        self.scale = 0.0
        self.colors = LIGHT
        if sys.platform != "darwin":
            app.setStyle("fusion")
        app.styleHints().colorSchemeChanged.connect(self.on_color_scheme_changed)
        self.set_scale(1.0)

    @property
    def dark(self) -> bool:
        return self.colors is DARK

    def force(self, dark: bool | None) -> None:
        """Light or dark whatever the system says; None follows it again."""
        self._forced = dark
        scheme = {None: Qt.ColorScheme.Unknown, False: Qt.ColorScheme.Light, True: Qt.ColorScheme.Dark}[dark]
        self._app.styleHints().setColorScheme(scheme)  # for what the system draws: title bars, its own dialogs
        self._apply()

    @property
    def points(self) -> float:
        """The size of running text."""
        return self._points * self.scale

    def set_scale(self, scale: float) -> None:
        """All text `scale` times as large as the system's, on screen too."""
        before, self.scale = self.scale, scale
        if scale == before:
            return
        # The sizes first: setting the application's font, and its style sheet, resets those of widgets.
        own = {
            widget: widget.font().pointSizeF() * scale / before
            for widget in self._app.allWidgets()
            if before and widget.testAttribute(Qt.WidgetAttribute.WA_SetFont)  # it hears nothing of the application's
        }
        font = QFont(self._app.font())
        font.setPointSizeF(self.points)
        self._app.setFont(font)
        self._dress()
        for widget, points in own.items():
            font = QFont(widget.font())
            font.setPointSizeF(points)
            widget.setProperty(_SAVED_FONT, None)
            if isinstance(widget, QAbstractScrollArea):  # its viewport, which a text's placeholder is drawn in
                widget.viewport().setProperty(_SAVED_FONT, None)
                widget.viewport().setFont(font)
            widget.setFont(font)
        for widget in self._app.allWidgets():
            if isinstance(widget, QAbstractItemView):
                widget.scheduleDelayedItemsLayout()
        self.changed.emit()

    def on_color_scheme_changed(self, _scheme: Qt.ColorScheme) -> None:
        self._apply()

    def _apply(self) -> None:
        self._dress()
        self.changed.emit()

    def _dress(self) -> None:
        dark = self._forced
        if dark is None:
            dark = self._app.styleHints().colorScheme() == Qt.ColorScheme.Dark
        self.colors = DARK if dark else LIGHT
        self._app.setPalette(_palette(self.colors))
        self._app.setStyleSheet(_style_sheet(self.colors, self.scale))


def theme() -> Theme:
    """The application's theme, made on first use."""
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    found = app.findChild(Theme)
    return found if isinstance(found, Theme) else Theme(app)


def at_scale(width: int) -> int:
    """What is that wide at the usual size of text, at the present one: larger text takes more."""
    return round(width * max(theme().scale, 1.0))


def sized(width: int) -> int:
    """The same for icons and marks, which go with the text: smaller too."""
    return round(width * theme().scale)


def colors() -> Colors:
    return theme().colors


def font(scale: float = 1.0, *, bold: bool = False, italic: bool = False) -> QFont:
    """The platform's own font, at `scale` times its size."""
    made = QFont(QGuiApplication.font())
    made.setPointSizeF(theme().points * scale)
    made.setWeight(QFont.Weight.DemiBold if bold else QFont.Weight.Normal)
    made.setItalic(italic)
    return made


def mono_font(scale: float = 1.0) -> QFont:
    made = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    made.setStyleHint(QFont.StyleHint.Monospace)
    made.setPointSizeF(theme().points * scale)
    return made


def icon(name: str, color: str | None = None) -> QIcon:
    """An icon of resources/icons in one colour (the text's), sharp at 100, 200 and 300 %, as large as text is now."""
    normal = color or colors().text
    made = QIcon()
    for size in map(sized, (16, 20, 32, 40, 60)):
        made.addPixmap(_pixmap(name, normal, size))
        made.addPixmap(_pixmap(name, colors().muted, size, 0.5), QIcon.Mode.Disabled)
    return made


@lru_cache(maxsize=256)
def _pixmap(name: str, color: str, size: int, opacity: float = 1.0) -> QPixmap:
    source = (RESOURCES / "icons" / f"{name}.svg").read_text(encoding="utf-8").replace("currentColor", color)
    pixmap = QPixmap(QSize(size, size))
    pixmap.fill(Qt.GlobalColor.transparent)
    with QPainter(pixmap) as painter:
        painter.setOpacity(opacity)
        QSvgRenderer(QByteArray(source.encode())).render(painter, QRectF(0, 0, size, size))
    return pixmap


def app_icon() -> QIcon:
    made = QIcon()
    for size in (16, 32, 64, 128, 256):
        made.addPixmap(_pixmap("app", "#ffffff", size))
    return made


def is_theme_change(event: QEvent) -> bool:
    return event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange)


def _palette(c: Colors) -> QPalette:
    role = QPalette.ColorRole
    palette = QPalette()
    pairs = {
        role.Window: c.panel, role.WindowText: c.text, role.Base: c.background, role.AlternateBase: c.side,
        role.Text: c.text, role.Button: c.background, role.ButtonText: c.text, role.BrightText: c.bad,
        role.PlaceholderText: c.muted, role.ToolTipBase: c.panel, role.ToolTipText: c.text,
        role.Highlight: c.accent, role.HighlightedText: c.on_accent, role.Link: c.accent, role.LinkVisited: c.accent,
        role.Accent: c.accent, role.Mid: c.line, role.Dark: c.line, role.Light: c.background, role.Midlight: c.hover,
    }  # fmt: skip
    for key, value in pairs.items():
        palette.setColor(key, QColor(value))
    for key in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, key, QColor(c.muted))
    return palette


def _style_sheet(c: Colors, scale: float) -> str:
    """Only what a palette can't say. Names are the widgets' objectName or their `role` property."""

    def px(width: int) -> str:
        """Of icons and marks, which go with the text."""
        return f"{round(width * scale)}px"

    # A style sheet's pictures are files. Through a search path: no sheet takes every letter that a folder may have.
    QDir.setSearchPaths("icons", [str(RESOURCES / "icons")])
    return f"""
    QMainWindow {{ background: {c.background}; }}
    QToolBar {{ background: {c.side}; border: none; border-bottom: 1px solid {c.line};
        padding: 5px 10px; spacing: 6px; }}
    QAbstractButton {{ icon-size: {px(16)}; }}
    ModelButton QToolButton, QToolButton[role="quiet"] {{ icon-size: {px(14)}; }}
    QToolButton[role="place"], #preferenceList, Composer QToolButton {{ icon-size: {px(18)}; }}
    QToolButton {{ border: 1px solid transparent; border-radius: 7px; padding: 4px 7px;
        background: transparent; color: {c.text}; }}
    QToolButton:hover {{ background: {c.hover}; }}
    QToolButton:checked {{ background: {c.hover}; }}
    QToolButton:pressed {{ background: {c.selected}; }}
    QToolButton:focus {{ border-color: {c.accent}; }}
    QToolButton:disabled {{ color: {c.muted}; }}
    QToolButton::menu-indicator {{ image: none; }}
    QToolButton[role="quiet"] {{ color: {c.muted}; padding: 1px 5px; border-radius: 5px; }}
    QToolButton[role="tool"] {{ padding: 3px; border-radius: 6px; }}
    QToolButton[role="quiet"]:hover {{ color: {c.text}; }}
    QToolButton[role="link"] {{ color: {c.muted}; padding: 1px 0; border: none; border-bottom: 1px solid {c.line};
        border-radius: 0; background: transparent; }}
    QToolButton[role="link"]:hover, QToolButton[role="link"]:focus {{ color: {c.accent};
        border-color: {c.accent}; }}
    QPushButton {{ border: 1px solid {c.line}; border-radius: 7px; padding: 5px 14px;
        background: {c.background}; color: {c.text}; }}
    QPushButton:hover {{ background: {c.hover}; }}
    QPushButton:focus {{ border-color: {c.accent}; }}
    QPushButton:disabled {{ color: {c.muted}; }}
    QPushButton[role="primary"] {{ background: {c.accent}; border-color: {c.accent};
        color: {c.on_accent}; font-weight: 600; }}
    QPushButton[role="primary"]:focus {{ border: 2px solid {c.accent_focus}; padding: 4px 13px; }}
    QPushButton[role="primary"]:disabled {{ background: {c.hover}; border-color: {c.line}; color: {c.muted}; }}
    QLineEdit {{ border: 1px solid {c.line}; border-radius: 7px; padding: 6px 8px;
        background: {c.background}; color: {c.text};
        selection-background-color: {c.accent}; selection-color: {c.on_accent}; }}
    QLineEdit:focus {{ border-color: {c.accent}; }}
    QDialog {{ background: {c.panel}; }}
    QDialog QComboBox {{ border: 1px solid {c.line}; border-radius: 7px; padding: 4px 10px;
        background: {c.background}; color: {c.text}; }}
    QDialog QComboBox:focus {{ border-color: {c.accent}; }}
    QDialog QComboBox::drop-down {{ border: none; width: {px(22)}; }}
    QDialog QComboBox::down-arrow {{ image: url(icons:menu-down.svg); width: {px(14)}; height: {px(14)}; }}
    #choice {{ combobox-popup: 0; }}
    #choice QListView {{ background: {c.background}; border: 1px solid {c.line}; border-radius: 9px; padding: 5px;
        outline: none; }}
    #choice QListView::item {{ padding: 5px 10px; border-radius: 6px; color: {c.text}; }}
    #choice QListView::item:selected {{ background: {c.selected}; color: {c.text}; }}
    QToolButton[role="tab"] {{ padding: 4px 12px; color: {c.muted}; }}
    QToolButton[role="tab"]:checked {{ background: {c.selected}; color: {c.text}; }}
    QToolButton[role="place"] {{ padding: 7px 9px; text-align: left; }}
    QToolButton[role="place"]:checked {{ background: {c.selected}; }}
    QLabel[role="muted"] {{ color: {c.muted}; }}
    QLabel[role="section"] {{ color: {c.muted}; }}
    QLabel[role="bad"] {{ color: {c.bad}; }}
    QCheckBox {{ spacing: 8px; color: {c.text}; }}
    QCheckBox::indicator {{ width: {px(15)}; height: {px(15)}; border: 1px solid {c.what_if}; border-radius: 4px;
        background: {c.background}; }}
    QCheckBox::indicator:checked {{ background: {c.accent}; border-color: {c.accent}; image: url(icons:{c.tick}); }}
    QCheckBox::indicator:focus {{ border: 2px solid {c.accent_focus}; width: {px(15 - 2)}; height: {px(15 - 2)}; }}
    QCheckBox::indicator:disabled {{ background: {c.hover}; border-color: {c.line}; }}
    QProgressBar {{ border: none; border-radius: 2px; background: {c.line}; max-height: 4px; min-height: 4px; }}
    QProgressBar::chunk {{ border-radius: 2px; background: {c.accent}; }}
    #sidebar {{ background: {c.side}; }}
    #panel, #panel QScrollArea, #panelBody {{ background: {c.panel}; border: none; }}
    #modelsHead {{ background: {c.background}; border-bottom: 1px solid {c.line}; }}
    #modelSide {{ background: {c.panel}; }}
    #modelList {{ background: transparent; border: none; outline: none; }}
    #fitTable {{ background: transparent; border: none; }}
    #fitTable QHeaderView, #fitTable QHeaderView::section {{ background: transparent; border: none;
        color: {c.muted}; padding: 2px 3px; }}
    #fitTable QHeaderView {{ border-bottom: 1px solid {c.line}; }}
    #popoverScroll, #popoverBody {{ background: transparent; }}
    #plainScroll, #plainBody {{ background: {c.panel}; border: none; }}
    #preferenceList, #plainList {{ background: {c.side}; border: none; outline: none; padding: 10px 8px; }}
    #preferenceList::item {{ padding: 7px 8px; border-radius: 7px; color: {c.text}; }}
    #plainList::item {{ padding: 3px 6px; border-radius: 5px; color: {c.text}; }}
    #preferenceList::item:selected, #plainList::item:selected {{ background: {c.selected}; color: {c.text}; }}
    QDialog QTreeView {{ background: {c.background}; border: 1px solid {c.line}; border-radius: 7px; outline: none;
        padding: 2px; }}
    QDialog QTreeView::item {{ padding: 4px 1px; color: {c.text}; }}
    QDialog QTreeView::item:selected {{ background: {c.selected}; color: {c.text}; }}
    QDialog QHeaderView {{ background: transparent; border: none; border-bottom: 1px solid {c.line}; }}
    QDialog QHeaderView::section {{ background: transparent; border: none; color: {c.muted}; padding: 5px 4px; }}
    QDialog QPlainTextEdit {{ background: {c.background}; color: {c.text}; border: none; }}
    #modelsPage, #modelDetail, #modelDetailBody {{ background: {c.background}; border: none; }}
    #center, #transcript, #transcriptColumn, #welcome {{ background: {c.background}; border: none; }}
    QSplitter::handle {{ background: {c.line}; }}
    #sidebar QTableView::item {{ border: none; }}
    #sidebar QTableView {{ selection-background-color: transparent; }}
    #sidebar QAbstractItemView, SchemeList QListView {{ background: transparent; border: none; outline: none; }}
    QMenu {{ background: {c.background}; border: 1px solid {c.line}; border-radius: 9px; padding: 5px; }}
    QMenu::item {{ padding: 6px {px(26)} 6px 12px; border-radius: 6px; color: {c.text}; }}
    QMenu::item:selected {{ background: {c.selected}; }}
    QMenu::item:disabled {{ color: {c.muted}; background: transparent; }}
    QMenu::separator {{ height: 1px; background: {c.line}; margin: 5px 8px; }}
    QMenu::indicator {{ width: {px(16)}; height: {px(16)}; left: 8px; }}
    QMenu::indicator:checked {{ image: url(icons:menu-check.svg); }}
    QMenu::right-arrow {{ image: url(icons:menu-arrow.svg); width: {px(14)}; height: {px(14)}; right: 8px; }}
    QToolTip {{ background: {c.panel}; color: {c.text}; border: 1px solid {c.line}; padding: 6px; }}
    QScrollBar:vertical {{ background: transparent; width: {SCROLL_BAR}px; margin: 0; }}
    QScrollBar::handle:vertical {{ background: {c.line}; border-radius: 3px; min-height: 32px; margin: 2px; }}
    QScrollBar::handle:vertical:hover {{ background: {c.what_if}; }}
    QScrollBar:horizontal {{ background: transparent; height: {SCROLL_BAR}px; margin: 0; }}
    QScrollBar::handle:horizontal {{ background: {c.line}; border-radius: 3px; min-width: 32px; margin: 2px; }}
    QScrollBar::handle:horizontal:hover {{ background: {c.what_if}; }}
    QScrollBar::add-line, QScrollBar::sub-line {{ height: 0; width: 0; }}
    QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
    """
