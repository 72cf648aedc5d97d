"""Pictures of the composer with files, of a message that carries some, and of the reply settings."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtTest import QTest

from app.attachments import Attachment
from app.ui.transcript.user_bubble import UserBubble
from tests.ui.fake_engine import MODEL
from tests.ui.scene import FILLER, Scene

HEADER = Attachment("parse_header.py", "def parse_header(data: bytes) -> Header:\n    ...\n" * 12)
LOG = Attachment("a-rather-long-name-of-a-file-that-a-build-has-written.log", "ok\n" * 900)


def play(scene: Scene) -> None:
    window = scene.window
    window.resize(1180, 780)
    window.show()
    window.load_model(MODEL)
    scene.wait()
    window.models.model = replace(window.models.model, generation=(("temperature", 0.6), ("top_k", 20)), thinking=True)
    window.models.changed.emit()
    composer, generation = window.composer, window.chat.generation
    scene.say("What do the tests of this module look like?")
    composer.files.add(HEADER)
    composer.on_long_text(FILLER)
    composer.files.add(LOG)
    composer.edit.setPlainText("Which of these says most about the module?\nAnd why?")
    QTest.qWait(400)
    scene.shoot("composer-files")
    composer.on_submitted()
    scene.wait()
    window.transcript.verticalScrollBar().setValue(160)
    bubble = [item for item in window.transcript.items() if isinstance(item, UserBubble)][-1]
    assert bubble.files is not None
    bubble.files.buttons[0].click()
    QTest.qWait(60)
    scene.shoot("message-files")
    composer.edit.setPlainText("word " * 9000)
    QTest.qWait(400)
    scene.shoot("composer-too-long")
    composer.clear()
    generation.set("system_prompt", "You are a careful reviewer. Answer in at most three sentences.")
    generation.set("temperature", 0.35)
    generation.save_as("Careful review")
    generation.set("stop", ("\n\nUser:", "END"))
    window.on_reply_settings()
    panel = window.reply_settings.panel
    QTest.qWait(60)
    scene.shoot("reply-settings")
    panel._scroll.verticalScrollBar().setValue(10_000)
    panel.on_save_as()
    panel.name.setText("Careful Review")
    QTest.qWait(60)
    scene.shoot("reply-settings-profile")
    panel.close_card()
