"""What went wrong, in its place on a page, with what mends it: a web page, the account, another try."""

from __future__ import annotations

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from app.errors import AppError, HubError
from app.ui.shared import formats
from app.ui.shared.cards import Card


class TroubleCard(Card):
    """`account_clicked`, `again_clicked`: each has its button where it helps."""

    account_clicked = Signal()
    again_clicked = Signal()

    def __init__(self, error: AppError, parent: QWidget | None = None) -> None:
        super().__init__(error.message, error.hint, "warn", parent)
        self.setToolTip(formats.tip(error.detail))
        self._page = error.page if isinstance(error, HubError) else ""
        kind = error.kind if isinstance(error, HubError) else ""
        if self._page:
            self.add_button(self.tr("Open the page"), primary=True).clicked.connect(self.on_page)
        if kind in ("no_token", "bad_token", "denied"):
            self.add_button(self.tr("Account…")).clicked.connect(self.account_clicked)
        self.add_button(self.tr("Try again")).clicked.connect(self.again_clicked)

    def on_page(self) -> None:
        QDesktopServices.openUrl(QUrl(self._page))
