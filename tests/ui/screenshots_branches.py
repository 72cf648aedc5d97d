"""Pictures of the tools of a message: its versions, its editor."""

from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication

from app.ui.transcript.message_editor import MessageEditor
from app.ui.transcript.reply_view import ReplyView
from app.ui.transcript.user_bubble import UserBubble
from tests.ui.scene import Scene


def play(scene: Scene) -> None:
    window = scene.window
    window.resize(1280, 800)
    window.show()
    window.load_model("/models/SmolLM2-135M-Instruct")
    scene.wait()

    def items(kind: type) -> list:
        return [item for item in window.transcript.items() if isinstance(item, kind)]

    scene.say("What is a barometer? Please answer in two sentences.")
    scene.say("What shall I take along to a small island?")
    items(ReplyView)[1].tools.again.click()
    scene.wait()
    bubble = items(UserBubble)[0]
    QApplication.sendEvent(bubble, QEvent(QEvent.Type.Enter))
    scene.shoot("versions")
    items(UserBubble)[1].tools.edit.click()
    (editor,) = items(MessageEditor)
    editor.edit.setPlainText("What shall I take along to a small island in winter?\nI go for a week.")
    scene.shoot("edit")
    editor.save.click()
    scene.wait()
    scene.shoot("edited")
    window.resize(700, 600)
    QApplication.sendEvent(items(UserBubble)[-1], QEvent(QEvent.Type.Enter))
    scene.shoot("edited-narrow")
    window.resize(1280, 800)
    scene.say('```python title="tide.py"\ndef tide(hour):\n    return hour % 12\n```\n\nWhat does it return at noon?')
    items(UserBubble)[-1].tools.edit.click()
    scene.shoot("edit-with-a-file")
