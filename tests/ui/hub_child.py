"""`python -m tests.ui.hub_child STEP REPO`: the real window against the hub at HF_ENDPOINT, as a person uses it.

Steps: `fetch` searches for the model, looks at it, downloads it, loads it and asks; `again` opens the window anew and
asks. Prints what was seen as one JSON object.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.ui.transcript.reply_view import ReplyView
from app.ui.window.main_window import MainWindow
from app.ui.window.startup import finish, make_application, open_window

WAIT_S = 240


def until(window: MainWindow, reached: Callable[[], object], what: str) -> None:
    for _ in range(WAIT_S * 50):
        if reached():
            return
        QTest.qWait(20)
    raise SystemExit(f"{what} didn't happen; notices: {window.notices.texts()}, downloads: {window.hub.downloads}")


def fetch(window: MainWindow, repo_id: str) -> dict[str, object]:
    window.sidebar.models.click()
    browser = window.models_page.browser
    QTest.keyClicks(browser.search, repo_id.rsplit("/", 1)[-1])
    QTest.keyClick(browser.search, Qt.Key.Key_Return)
    found = browser.list.entries
    until(window, lambda: [e.key for e in found()] == [repo_id] and not browser.busy.isVisible(), "a row")
    seen: dict[str, object] = {"facts": found()[0].facts, "badge": found()[0].badge}
    browser.list.choose(repo_id)
    until(window, lambda: browser.detail.fit.table.isVisible(), "the fit")
    seen["fit"] = browser.detail.fit.words.text
    states: list[str] = []
    window.hub.download_changed.connect(lambda status: states.append(status.state))
    browser.detail.download.click()
    until(window, lambda: states and states[-1] in ("done", "failed"), "the download")
    seen["states"] = list(dict.fromkeys(states))
    browser.detail.load.click()
    return seen


def ask(window: MainWindow) -> dict[str, object]:
    until(window, lambda: window.models.model is not None, "the load")
    window.chat.generation.start_with({"temperature": 0.0, "max_tokens": 12})
    window.composer.edit.setPlainText("hello the hello")
    QTest.keyClick(window.composer.edit, Qt.Key.Key_Return)
    until(window, lambda: not window.chat.generating, "the reply")
    reply = [item for item in window.transcript.items() if isinstance(item, ReplyView)][-1]
    model = window.models.model
    assert model is not None
    name = window.loading.button.button.text()
    return {"model": model.name, "path": model.path, "button": name, "reply": reply.source()}


def main(step: str, repo_id: str) -> int:
    app = make_application()  # kept: the window lives as long
    window, engine = open_window()
    window.resize(1280, 800)  # room for list and details, whatever the screen
    seen = fetch(window, repo_id) if step == "fetch" else {}
    seen |= ask(window)
    print(json.dumps(seen), flush=True)
    window.close()
    code = finish(window, engine, 0)
    del window, app
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
