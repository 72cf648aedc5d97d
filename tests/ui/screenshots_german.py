"""The window in German, for tests.ui.screenshots: its pages, and what is said where something is wrong."""

from __future__ import annotations

import errno
from pathlib import Path

import httpx2
from PySide6.QtCore import QCoreApplication, QLocale, QTranslator
from PySide6.QtTest import QTest

from app import events as ev
from app.engine import fit, model_folder
from app.engine.engine import _explained
from app.engine.hub.errors import explain, on_disk
from app.errors import AppError
from app.ui.shared import language, theme
from tests.ui.scene import Scene
from tests.ui.screenshots_desktop import centred, fill
from tests.ui.screenshots_models import GEMMA, LLAMA, QWEN, shoot_over

SIZES = {QWEN: (2560, 36, 2_263_000_000), GEMMA: (3840, 48, 7_600_000_000), LLAMA: (8192, 80, 39_700_000_000)}


def play(folder: Path) -> None:
    app, before = QCoreApplication.instance(), QLocale()
    assert app is not None
    language.install(app, "de")
    try:
        _play(Scene(folder))
    finally:
        for translator in app.findChildren(QTranslator)[-2:]:
            app.removeTranslator(translator)
        QLocale.setDefault(before)
        theme.theme().force(False)


def _play(scene: Scene) -> None:
    window = scene.window
    window.resize(1280, 800)
    window.show()
    window.load_model("/models/SmolLM2-135M-Instruct")
    scene.wait()
    fill(scene)
    scene.shoot("german")
    scene.engine.fail_next = _explained(MemoryError("no room for 1,2 GB"))
    scene.say("Und noch eine Frage?")
    scene.engine.event_emitted.emit(ev.SnapshotRejected(window.chat.current, "a checksum", "damaged"))
    scene.shoot("german-failed")
    (scene.home / "kein-modell").mkdir(exist_ok=True)
    for name in ("kein-modell", "verschoben"):
        folder = scene.home / name
        try:
            model_folder.require(folder)
        except AppError as error:
            scene.engine.model_errors[str(folder)] = error
        window.load_model(str(folder))
        scene.wait()
    scene.shoot("german-not-loaded")
    _models(scene)
    window.configuring.on_general()
    scene.wait()
    assert window.configuring.window is not None
    shoot_over(scene, "german-preferences", centred(window.configuring.window, window))


def _models(scene: Scene) -> None:
    window, hub, machine = scene.window, scene.hub, fit.Machine.of(17_200_000_000, 9_300_000_000, 12_900_000_000)
    for name, (width, layers, size) in SIZES.items():
        config = {
            "model_type": "llama", "hidden_size": width, "num_hidden_layers": layers, "intermediate_size": 4 * width,
            "num_attention_heads": width // 128, "num_key_value_heads": 2, "rms_norm_eps": 1e-5, "vocab_size": 128_256,
            "max_position_embeddings": 131_072, "quantization": {"group_size": 64, "bits": 4},
        }  # fmt: skip
        scene.engine.fits[name] = fit.fit(fit.Forecast(config, size, cpu=False), machine)
    window.on_models()
    scene.wait()
    for name, repo_id in (("german-models", QWEN), ("german-too-large", LLAMA)):
        window.models_page.browser.list.choose(repo_id)
        scene.wait()
        scene.wait()
        scene.shoot(name)
    window.models_page.browser.list.choose(QWEN)
    window.models_page.browser.detail.download.click()
    scene.wait()
    full = OSError(errno.ENOSPC, "No space left on device", str(scene.home / "hub" / "models--x"))
    hub.advance(QWEN, state="failed", done_bytes=1_200_000_000, total_bytes=2_263_000_000, error=on_disk(full))
    scene.shoot("german-no-room")
    hub.offline = explain(httpx2.ConnectError("no route"))
    window.models_page.browser.search.setText("mistral")
    window.models_page.browser.on_search()
    scene.wait()
    scene.shoot("german-offline")
    hub.offline = None
    window.on_to_chat()
    scene.wait()
    window.downloads_button.click()
    QTest.qWait(50)
    scene.shoot("german-downloads")
    window.downloads_button.card.close_card()
