"""The Hugging Face account: the token in use, where it is kept, and whether the hub takes it."""

from __future__ import annotations

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app import hub_events as hv
from app.ui.models.hub_link import Hub
from app.ui.shared import theme
from app.ui.shared.cards import small_label
from app.ui.shared.tones import StatusLine


class AccountBox(QWidget):
    """The token is never shown again once it is stored."""

    def __init__(self, hub: Hub, parent: QWidget) -> None:
        super().__init__(parent)
        self._hub = hub
        self._page = ""
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        title = QLabel(self.tr("Hugging Face account"), self)
        title.setFont(theme.font(bold=True))
        column.addWidget(title)
        why = small_label(
            self.tr("Most models need none. Gated ones are given to accounts that accepted their terms."), self
        )
        why.setWordWrap(True)
        column.addWidget(why)
        self.status = StatusLine(self)
        column.addWidget(self.status)
        self.place = small_label("", self)
        self.place.setWordWrap(True)
        column.addWidget(self.place)
        row = QHBoxLayout()
        self.field = QLineEdit(self)
        self.field.setEchoMode(QLineEdit.EchoMode.Password)
        self.field.setPlaceholderText("hf_…")
        self.field.setAccessibleName(self.tr("Access token"))
        self.field.textChanged.connect(self.on_text_changed)
        self.field.returnPressed.connect(self.on_save)
        self.save = QPushButton(self.tr("Store and test"), self)
        self.save.setProperty("role", "primary")
        self.save.setAutoDefault(False)  # Enter in the field has stored the token already
        self.save.clicked.connect(self.on_save)
        row.addWidget(self.field, 1)
        row.addWidget(self.save)
        column.addLayout(row)
        row = QHBoxLayout()
        self.test = QPushButton(self.tr("Test"), self)
        self.test.clicked.connect(self.on_test)
        self.remove = QPushButton(self.tr("Remove the token"), self)
        self.remove.clicked.connect(self.on_remove)
        self.page = QPushButton(self.tr("Make a token on the web"), self)
        self.page.clicked.connect(self.on_page)
        for button in (self.test, self.remove, self.page):
            button.setAutoDefault(False)
            row.addWidget(button)
        row.addStretch()
        column.addLayout(row)
        self.endpoint = small_label("", self)
        self.endpoint.setWordWrap(True)
        column.addWidget(self.endpoint)
        hub.account_changed.connect(self.on_account_changed)
        self._show(hub.account)

    def begin(self) -> None:
        """It comes on screen: ask how things stand."""
        self._hub.ask(hv.CheckAccount())

    # ------------------------------------------------------------ what is shown

    def on_account_changed(self, status: hv.AccountStatus) -> None:
        if status.error is None:
            self.field.clear()
        self._show(status)

    def _show(self, status: hv.AccountStatus | None) -> None:
        self.on_text_changed()
        has_token = status is not None and bool(status.source)
        self.test.setVisible(has_token)
        self.remove.setVisible(status is not None and status.source in ("keychain", "file"))
        self.page.setVisible(status is not None)
        self.place.setVisible(has_token)
        self.endpoint.setVisible(status is not None)
        if status is None:
            self.status.show_status(self.tr("Looking for a token…"), "muted")
            return
        self._page = f"{status.endpoint.rstrip('/')}/settings/tokens"
        if status.error is not None:
            self.status.show_status(str(status.error), "bad")
        elif not has_token:
            self.status.show_status(self.tr("No token: downloads are anonymous"), "muted")
        elif status.checked:
            self.status.show_status(self.tr("The hub takes the token: you are {0}").format(status.user), "good")
        elif status.checked is False:
            self.status.show_status(self.tr("The hub doesn't take this token: make a new one"), "bad")
        else:
            self.status.show_status(self.tr("There is a token; it hasn't been tested since the start"), "muted")
        self.place.setText(self.tr("It is kept in {0}.").format(status.place))
        words = self.tr("Hub: {0}").format(status.endpoint)
        if status.offline:
            words += " · " + self.tr("offline mode: HF_HUB_OFFLINE is set, so nothing is asked of it")
        self.endpoint.setText(words)

    def on_text_changed(self) -> None:
        self.save.setEnabled(bool(self.field.text().strip()))

    # ------------------------------------------------------------ what the user does

    def on_save(self) -> None:
        if token := self.field.text().strip():
            self.status.show_status(self.tr("Testing the token…"), "muted")
            self._hub.ask(hv.SetToken(token))

    def on_test(self) -> None:
        self.status.show_status(self.tr("Testing the token…"), "muted")
        self._hub.ask(hv.CheckAccount(ask_hub=True))

    def on_remove(self) -> None:
        self._hub.ask(hv.SetToken(""))

    def on_page(self) -> None:
        QDesktopServices.openUrl(QUrl(self._page))
