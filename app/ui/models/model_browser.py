"""Finding models on the hub: a search with its order and filters, what it found, and the one that is looked at."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import psutil
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QApplication, QHBoxLayout, QMenu, QProgressBar, QToolButton, QVBoxLayout, QWidget

from app import hub_events as hv
from app.errors import AppError
from app.settings import Settings
from app.ui.models.download_row import share, short_name
from app.ui.models.hub_detail import HubDetail
from app.ui.models.hub_link import Hub
from app.ui.models.model_link import ModelLink
from app.ui.models.model_list import Entry, ListAndDetail, ModelList
from app.ui.shared import formats, theme
from app.ui.shared.cards import small_label
from app.ui.shared.search_field import SearchField
from app.ui.shared.tones import Tone
from app.ui.shared.trouble_card import TroubleCard

TYPING_MS = 350  # a search starts this long after the last key
PAGE = 30
SORTS: tuple[hv.Sort, ...] = ("downloads", "likes", "recent", "trending")
FILTERS = ("mlx_only", "hide_unsupported", "hide_gated", "fitting")


class ModelBrowser(QWidget):
    """`load_clicked(path)`, `account_clicked`, `left`: Escape in the empty search field.

    Nothing is asked of the hub before `begin`.
    """

    load_clicked = Signal(str)
    account_clicked = Signal()
    left = Signal()

    def __init__(self, hub: Hub, models: ModelLink, settings: Settings, path_of: Callable[[str], str],
                 parent: QWidget | None = None) -> None:  # fmt: skip
        super().__init__(parent)
        self._hub, self._settings, self._path_of = hub, settings, path_of
        self._memory_bytes = psutil.virtual_memory().total
        self._found: tuple[hv.HubModel, ...] = ()
        self._curated: tuple[hv.HubModel, ...] = ()
        self._query: hv.HubQuery | None = None  # the one whose answer is shown, or awaited
        self._limit = PAGE
        self._begun = False
        self.detail = HubDetail(hub, models, path_of)
        self.list = ModelList(self.tr("Models found"), self)
        self._place()
        self._typing = QTimer(self, singleShot=True, interval=TYPING_MS)
        self._typing.timeout.connect(self.on_search)
        self.search.textChanged.connect(self.on_text_changed)
        self.search.returnPressed.connect(self.on_search)
        self.search.left.connect(self.left)
        self.search.down_pressed.connect(self.list.setFocus)
        self.list.chosen.connect(self.on_chosen)
        self.list.end_reached.connect(self.on_end_reached)
        self.detail.load_clicked.connect(self.load_clicked)
        self.detail.account_clicked.connect(self.account_clicked)
        hub.models_found.connect(self.on_models_found)
        hub.search_failed.connect(self.on_search_failed)
        hub.curated.connect(self.on_curated)
        hub.described.connect(self.on_described)
        hub.download_changed.connect(self.on_download_changed)
        hub.download_removed.connect(self.on_download_removed)

    def _place(self) -> None:
        side = QWidget(self)
        side.setObjectName("modelSide")
        column = QVBoxLayout(side)
        column.setContentsMargins(10, 10, 10, 0)
        column.setSpacing(6)
        self.search = SearchField(side)
        self.search.setMaxLength(200)  # an address of a page is long, an address of a request mustn't be
        self.search.setPlaceholderText(self.tr("Search the Hugging Face hub"))
        self.search.setAccessibleName(self.tr("Search models on the hub"))
        column.addWidget(self.search)
        row = QHBoxLayout()
        row.setSpacing(2)
        self.sort_button, self.filter_button = _menu_button(side), _menu_button(side)
        self._fill_menus()
        row.addWidget(self.sort_button)
        row.addWidget(self.filter_button)
        row.addStretch()
        column.addLayout(row)
        self.busy = QProgressBar(side)
        self.busy.setTextVisible(False)
        self.busy.setRange(0, 0)
        self.busy.setAccessibleName(self.tr("Searching"))
        policy = self.busy.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.busy.setSizePolicy(policy)
        self.busy.hide()
        column.addWidget(self.busy)
        self._trouble_place = QVBoxLayout()
        self.trouble: TroubleCard | None = None
        column.addLayout(self._trouble_place)
        self.nothing = small_label("", side)
        self.nothing.setWordWrap(True)
        self.nothing.setContentsMargins(12, 6, 12, 0)
        self.nothing.hide()
        column.addWidget(self.nothing)
        column.addWidget(self.list, 1)
        self.panes = ListAndDetail(side, self.list, self.detail, self)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self.panes)
        order = (self.search, self.sort_button, self.filter_button, self.list, self.detail)
        for before, after in itertools.pairwise(order):
            QWidget.setTabOrder(before, after)
        self.detail.clear(self.tr("Choose a model to see whether it runs and fits on this computer."))
        theme.theme().changed.connect(self.on_theme_changed)
        self.on_theme_changed()

    def _fill_menus(self) -> None:
        sorts = {
            "downloads": self.tr("Most downloaded"),
            "likes": self.tr("Most liked"),
            "recent": self.tr("Newest"),
            "trending": self.tr("Trending"),
        }
        filters = {
            "mlx_only": self.tr("MLX models only"),
            "hide_unsupported": self.tr("Hide what can't run here"),
            "hide_gated": self.tr("Hide gated models"),
            "fitting": self.tr("Hide what this computer's memory can't hold"),
        }
        chosen = self._settings.get("models_sort", str(SORTS[0]), valid=lambda name: name in SORTS)
        on = self._settings.get("models_filters", [FILTERS[0]], valid=lambda names: set(names) <= set(FILTERS))
        group = QActionGroup(self)
        menu = self.sort_button.menu()
        self.sorts = {name: self._option(menu, words, name == chosen) for name, words in sorts.items()}
        for action in self.sorts.values():
            group.addAction(action)
        menu = self.filter_button.menu()
        self.filters = {name: self._option(menu, words, name in on) for name, words in filters.items()}
        self._name_buttons()

    def _option(self, menu: QMenu, words: str, checked: bool) -> QAction:
        action = menu.addAction(words)
        action.setCheckable(True)
        action.setChecked(checked)
        action.triggered.connect(self.on_option)
        return action

    def _name_buttons(self) -> None:
        self.sort_button.setText(self.sorts[self._sort()].text())
        self.sort_button.setAccessibleName(self.tr("Order: {0}").format(self.sort_button.text()))
        on = sum(action.isChecked() for action in self.filters.values())
        self.filter_button.setText(self.tr("Filters · {0}").format(on) if on else self.tr("Filters"))

    # ------------------------------------------------------------ asking

    def begin(self) -> None:
        """The page is shown: ask for the list that needs no search, and for the first results."""
        self.search.setFocus()
        if not self._begun:
            self._begun = True
            self._hub.ask(hv.Curate())
            self.on_search()

    def _sort(self) -> hv.Sort:
        return next(name for name in SORTS if self.sorts[name].isChecked())

    def _wanted(self) -> hv.HubQuery:
        on = {name: action.isChecked() for name, action in self.filters.items()}
        return hv.HubQuery(
            text=self.search.text().strip(),
            sort=self._sort(),
            mlx_only=on["mlx_only"],
            hide_gated=on["hide_gated"],
            hide_unsupported=on["hide_unsupported"],
            max_bytes=self._memory_bytes if on["fitting"] else 0,
            limit=self._limit,
        )

    def on_text_changed(self) -> None:
        self._typing.start()

    def on_option(self) -> None:
        self._name_buttons()
        self._settings.set("models_sort", self._sort())
        self._settings.set("models_filters", [name for name, action in self.filters.items() if action.isChecked()])
        self.on_search()

    def on_search(self) -> None:
        self._typing.stop()
        if self._query is None or self._wanted() != self._query:
            self._limit = PAGE
            self._ask()

    def on_end_reached(self) -> None:
        """More of the same, unless all has come."""
        if not self.busy.isVisibleTo(self) and len(self._found) >= self._limit:
            self._limit += PAGE
            self._ask()

    def on_again(self) -> None:
        self._ask()
        if not any(model.downloads for model in self._curated):
            self._hub.ask(hv.Curate())

    def _ask(self) -> None:
        self._query = self._wanted()
        self._drop_trouble()
        self.busy.show()
        self._hub.ask(hv.Search(self._query))

    # ------------------------------------------------------------ answers

    def on_models_found(self, event: hv.ModelsFound) -> None:
        if event.query == self._query:
            self._found = event.models
            self.busy.setVisible(not event.complete)
            self._show_rows()

    def on_search_failed(self, event: hv.SearchFailed) -> None:
        if event.query == self._query:
            self._found = ()
            self.busy.hide()
            self._show_trouble(event.error)
            self._show_rows()

    def on_curated(self, event: hv.CuratedModels) -> None:
        self._curated = event.models
        self._show_rows()

    def on_described(self, event: hv.ModelDescribed) -> None:
        """What the details say is known in the list as well."""
        known = event.details.model
        self._found, self._curated = (
            tuple(known if model.repo_id == known.repo_id else model for model in models)
            for models in (self._found, self._curated)
        )
        self._show_rows()

    def on_download_changed(self, status: hv.DownloadStatus) -> None:
        self.on_download_removed(status.repo_id)

    def on_download_removed(self, repo_id: str) -> None:
        model = self._model(repo_id)
        if model is not None:
            self.list.set_entry(self.entry(model))

    def _model(self, repo_id: str) -> hv.HubModel | None:
        return next((m for m in (*self._curated, *self._found) if m.repo_id == repo_id), None)

    def refresh(self) -> None:
        """Other models are installed than before."""
        self._show_rows()
        self.detail.refresh()

    def _show_rows(self) -> None:
        rows: list[str | Entry] = []
        searched = bool(self._query and self._query.text)
        chosen = () if searched else self._curated
        if chosen:
            rows.append(self.tr("Good to start with"))
            rows += [self.entry(model) for model in chosen]
        names = {model.repo_id for model in chosen}
        others = [model for model in self._found if model.repo_id not in names]
        if chosen and others:
            rows.append(self.sort_button.text())
        rows += [self.entry(model) for model in others]
        self.list.set_rows(rows)
        nothing = searched and not rows and not self.trouble and not self.busy.isVisibleTo(self)
        self.nothing.setText(self.tr("Nothing on the hub matches. Try fewer words, or fewer filters."))
        self.nothing.setVisible(nothing)

    def entry(self, model: hv.HubModel) -> Entry:
        size = formats.data_size(model.weights_bytes) if model.weights_bytes else ""
        context = self.tr("{0} context").format(formats.tokens(model.context_tokens)) if model.context_tokens else ""
        facts = (model.quantisation, size, context, model.licence)
        popular = f"↓ {formats.about(model.downloads)}   ♥ {formats.about(model.likes)}"
        more = (
            self.tr("gated") if model.gated else "",
            popular if model.downloads or model.likes else "",
            model.repo_id.partition("/")[0] if "/" in model.repo_id else "",
        )
        badge, tone = self._badge(model)
        return Entry(model.repo_id, short_name(model.repo_id), _line(facts), _line(more), badge, tone)

    def _badge(self, model: hv.HubModel) -> tuple[str, Tone]:
        status = self._hub.downloads.get(model.repo_id)
        if status is not None and status.state == "failed":
            return self.tr("failed"), "bad"
        if status is not None and status.state != "done":
            return f"{share(status):.0%}", "warn" if status.state == "paused" else "good"
        if self._path_of(model.repo_id) or status is not None:
            return self.tr("installed"), "good"
        if model.support == "unsupported":
            return self.tr("can't run"), "muted"
        if model.weights_bytes and model.weights_bytes > self._memory_bytes:
            return self.tr("too large"), "bad"
        return (self.tr("runs"), "good") if model.support == "supported" else ("", "muted")

    def on_chosen(self, repo_id: str) -> None:
        model = self._model(repo_id)
        if model is not None:
            self.detail.show_model(model)

    def _show_trouble(self, error: AppError) -> None:
        self._drop_trouble()
        self.trouble = TroubleCard(error)
        self.trouble.account_clicked.connect(self.account_clicked)
        self.trouble.again_clicked.connect(self.on_again)
        self._trouble_place.addWidget(self.trouble)

    def _drop_trouble(self) -> None:
        if self.trouble is not None:
            self.trouble.hide()
            self.trouble.deleteLater()
            self.trouble = None

    def on_theme_changed(self) -> None:
        for button in (self.sort_button, self.filter_button):
            button.setIcon(theme.icon("down", theme.colors().muted))


def _line(parts: tuple[str, ...]) -> str:
    return " · ".join(part for part in parts if part)


def _reversed() -> Qt.LayoutDirection:
    right = QApplication.layoutDirection() == Qt.LayoutDirection.RightToLeft
    return Qt.LayoutDirection.LeftToRight if right else Qt.LayoutDirection.RightToLeft


def _menu_button(parent: QWidget) -> QToolButton:
    button = QToolButton(parent)
    button.setProperty("role", "quiet")
    button.setFont(theme.font(theme.SMALL))
    button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    button.setLayoutDirection(_reversed())  # the arrow stands behind the words
    button.setMenu(QMenu(button))
    button.menu().setLayoutDirection(QApplication.layoutDirection())
    return button
