"""What lies over the transcript's top: the find bar in its corner, the notices in its middle, below that bar."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject

from app.ui.shared.notice_bar import NoticeBar
from app.ui.transcript.find_bar import MARGIN, FindBar
from app.ui.transcript.transcript import Transcript

_CHANGES = (QEvent.Type.Resize, QEvent.Type.Show, QEvent.Type.Hide, QEvent.Type.LayoutRequest, QEvent.Type.Move)


class Over(QObject):
    """They come and go over the text, which stays where it is. The transcript has its parent by now."""

    def __init__(self, transcript: Transcript, find_bar: FindBar, notices: NoticeBar) -> None:
        super().__init__(transcript)
        self._transcript, self._find_bar, self._notices = transcript, find_bar, notices
        transcript.installEventFilter(self)
        for widget in (find_bar, notices):
            widget.setParent(transcript.parentWidget())  # a scroll area tells assistive tools of its content only
            widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _CHANGES:
            self._place()
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        bar, notices, below = self._find_bar, self._notices, 0
        if not bar.isHidden():
            below = bar.y() - self._transcript.y() + bar.height()
        layout = notices.layout()
        if not notices.isHidden() and layout is not None:
            left, _, width = self._transcript.sides()
            height = layout.totalHeightForWidth(width)
            notices.setGeometry(self._transcript.x() + left, self._transcript.y() + below, width, height)
            notices.raise_()
            below += height
        self._transcript.set_covered(below + MARGIN if below else 0)
