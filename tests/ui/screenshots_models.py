"""The models' pages in their states, for tests.ui.screenshots."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.errors import HubError
from app.hub_events import FileProgress
from app.ui.shared import theme
from tests.ui.fake_engine import fit
from tests.ui.scene import Scene
from tests.unit.app.engine.gguf_writer import llama_metadata, llama_tensors, write

QWEN = "mlx-community/Qwen3-4B-4bit"
GEMMA = "mlx-community/gemma-3-12b-it-4bit"
LLAMA = "mlx-community/Llama-3.3-70B-Instruct-4bit"


def shoot_over(scene: Scene, name: str, popup: QWidget) -> None:
    """The window with a window of its own above it."""
    for dark in (False, True):
        theme.theme().force(dark)
        QTest.qWait(40)
        picture = scene.window.grab()
        with QPainter(picture) as painter:
            painter.drawPixmap(scene.window.mapFromGlobal(popup.mapToGlobal(QPoint(0, 0))), popup.grab())
        picture.save(str(scene.folder / f"{name}-{'dark' if dark else 'light'}.png"))
    theme.theme().force(False)


def play(scene: Scene) -> None:
    window, hub = scene.window, scene.hub
    scene.engine.fits = {
        QWEN: fit(2_263_000_000),
        GEMMA: fit(7_600_000_000),
        LLAMA: fit(39_700_000_000),
        "mlx-community/SmolLM2-360M-Instruct": fit(724_000_000, context=8192),
    }
    window.resize(1280, 800)
    window.show()
    window.load_model("/models/SmolLM2-135M-Instruct")
    scene.wait()
    scene.say("Hello")
    window.on_models()
    scene.wait()
    scene.shoot("models")
    window.models_page.browser.list.choose(QWEN)
    scene.wait()
    scene.wait()
    scene.shoot("models-fits")
    hub.access[GEMMA] = HubError(
        "gemma-3-12b-it-4bit is gated, and this program has no token.",
        "Accept its terms on its page, then store a token in the preferences.",
        kind="no_token", page=f"https://huggingface.co/{GEMMA}",
    )  # fmt: skip
    window.models_page.browser.list.choose(GEMMA)
    scene.wait()
    scene.wait()
    scene.shoot("models-gated")
    window.models_page.browser.list.choose(LLAMA)
    scene.wait()
    scene.wait()
    scene.shoot("models-too-large")
    window.models_page.browser.list.choose(QWEN)
    window.models_page.browser.detail.download.click()
    scene.wait()
    files = (
        FileProgress("model.safetensors", 1_240_000_000, 2_263_000_000),
        FileProgress("config.json", 900, 900, True),
        FileProgress("tokenizer.json", 11_400_000, 11_400_000, True),
    )
    hub.advance(
        QWEN, done_bytes=1_251_400_900, total_bytes=2_274_400_900, speed_bytes_per_s=23.4e6, eta_s=44.0, files=files
    )
    scene.shoot("models-downloading")
    hub.advance(LLAMA, state="failed", done_bytes=9_000_000_000, total_bytes=39_700_000_000, error=HubError(
        "The disk is full: 30.7 GB more are needed and 4.10 GB are free. What was fetched is kept.",
        "Make room, then try again.", kind="disk"))  # fmt: skip
    hub.advance("mlx-community/Qwen3-1.7B-4bit", state="paused", done_bytes=300_000_000, total_bytes=980_000_000)
    hub.advance("mlx-community/SmolLM2-360M-Instruct", state="done", done_bytes=730_000_000, total_bytes=730_000_000,
                path="/hub/SmolLM2")  # fmt: skip
    window.on_to_chat()
    scene.wait()
    window.downloads_button.click()
    QTest.qWait(50)
    window.downloads_button.card.rows[QWEN].files_button.setChecked(True)
    QTest.qWait(50)
    scene.shoot("downloads")
    window.downloads_button.card.close_card()
    window.on_models()
    hint = "Check the connection. Installed models work without it."
    hub.offline = HubError("The hub can't be reached: no network.", hint, kind="offline")
    window.models_page.browser.search.setText("mistral")
    window.models_page.browser.on_search()
    scene.wait()
    scene.shoot("models-offline")
    hub.offline = None
    window.models_page.browser.search.setText("nothing like it")
    window.models_page.browser.on_search()
    scene.wait()
    scene.shoot("models-nothing")
    window.models_page.browser.search.clear()
    window.models_page.browser.on_search()
    scene.wait()
    window.resize(900, 600)
    scene.shoot("models-small")
    window.resize(640, 480)
    window.models_page.browser.list.opened.emit(QWEN)
    scene.shoot("models-tiny")
    window.models_page.browser.panes.on_back()
    window.resize(1280, 800)
    window.configuring.on_general()
    scene.wait()
    QTest.qWait(50)
    shoot_over(scene, "preferences", window.configuring.window)
    window.configuring.window.close()
    scene.engine.refused.add("/models/Big-70B")
    window.load_model("/models/Big-70B")
    scene.wait()
    QTest.qWait(50)
    shoot_over(scene, "guard", window.guard.box)
    window.guard.box.reject()
    window.on_models()
    QApplication.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    scene.shoot("models-right-to-left")
    QApplication.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
    installed(scene)


def listed(scene: Scene) -> None:
    """Until the folders have been looked at."""
    while scene.window.models_page.on_this_computer._listing is not None:
        QTest.qWait(20)


def installed(scene: Scene) -> None:
    """Real folders and files: a whole model, half a download, a base model, a GGUF file."""
    from tests.engine_kit import make_model  # its imports read where the hub's cache is, which the scene sets

    home = scene.home
    page, window = scene.window.models_page, scene.window
    snapshots = []
    for name in ("mlx-community--Qwen3-4B-4bit", "mlx-community--Half-7B-8bit"):
        snapshots.append(Path(os.environ["HF_HUB_CACHE"]) / f"models--{name}" / "snapshots" / ("c" * 40))
        make_model(snapshots[-1])
    (snapshots[1] / "model.safetensors").unlink()
    page.on_this_computer.add(make_model(home / "Models" / "Tiny-Base", chat_template=None))
    write(home / "Models" / "Imported-by-hand.gguf", llama_metadata(), llama_tensors())
    page.on_this_computer.add(home / "Models" / "Imported-by-hand.gguf")
    scene.engine.fits[str(snapshots[0])] = fit(2_263_000_000)
    window.on_models()
    page.installed_tab.click()
    for name, title in (
        ("installed", "Qwen3-4B-4bit"),
        ("installed-incomplete", "Half-7B-8bit"),
        ("installed-base", "Tiny-Base"),
        ("installed-gguf", "Imported-by-hand"),
    ):
        listed(scene)
        page.installed.list.choose(next(e.key for e in page.installed.list.entries() if e.title == title))
        QTest.qWait(300)
        scene.wait()
        scene.shoot(name)
    window.resize(900, 600)
    page.installed.list.opened.emit(str(snapshots[0]))
    page.installed.list.choose(str(snapshots[0]))
    scene.wait()
    scene.shoot("installed-small")
    window.resize(640, 480)
    scene.shoot("installed-tiny")
    window.resize(1280, 800)
    window._drop_target._cover("Drop it to add the model")
    scene.shoot("drop")
    window._drop_target.hide()
    page.on_this_computer.forget(home / "Models" / "Tiny-Base")
    page.on_this_computer.forget(home / "Models" / "Imported-by-hand.gguf")
    listed(scene)
