"""The application's start: `python -m app`, `python -m app --demo DIR`, `python -m app --selftest`.

Only the order of things: log, settings and library, the window on screen, then the engine's thread, which imports MLX.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import sqlite3
import sys
from pathlib import Path

from PySide6.QtWidgets import QApplication

from app import crashes, log, paths
from app.errors import AppError
from app.settings import Settings
from app.ui.shared import language
from app.ui.shared.question import Question
from app.ui.window.single import SingleInstance
from app.ui.window.startup import EndSignals, finish, make_application, open_window, without_display
from app.words import say


def main(arguments: list[str] | None = None) -> int:
    multiprocessing.freeze_support()  # a bundle's helper processes begin here too, and mustn't open a window
    log.fill_streams()
    try:
        os.getcwd()
    except OSError:  # removed meanwhile; libraries ask for it
        os.chdir("/")
    if not os.environ.get("HOME", "-"):
        del os.environ["HOME"]  # an empty one would put the user's folders at the root; without any, the account says
    called = "turboquant-chat" if getattr(sys, "frozen", False) else "python -m app"
    parser = argparse.ArgumentParser(prog=called, description="Chat with local MLX models.")
    parser.add_argument("--demo", metavar="DIR", type=Path, help="play a scripted chat; write pictures and report.json")
    parser.add_argument("--demo-part", choices=("play", "reopen"), default="play", help=argparse.SUPPRESS)
    parser.add_argument("--selftest", action="store_true", help="check that everything works here, and say so")
    parser.add_argument("--json", action="store_true", help="the selftest's report as JSON")
    parser.add_argument("--report", metavar="FILE", type=Path, help="where the selftest's report goes as well")
    words = "a conversation (.turbochat) to import, or a model's folder or GGUF file"
    parser.add_argument("files", metavar="FILE", nargs="*", type=Path, help=words)
    options = parser.parse_args(arguments)
    if options.selftest:
        from app import selftest

        return selftest.main(options.json, options.report)
    if options.demo is not None:
        from app.ui.window import demo

        return demo.main(options.demo, options.demo_part)
    if without_display():
        print("There is no display here, so no window could be seen. --selftest and --demo need none.", file=sys.stderr)
        return 1
    app = make_application()
    try:
        notice = log.start()
        instance = SingleInstance(paths.data_dir(), app)
        if not instance.first and instance.call_first(options.files):
            print(f"{app.applicationName()} is running already: its window was brought forward.", file=sys.stderr)
            return 0
        if not instance.first:
            language.install(app, language.chosen(Settings()))
            return _refuse(
                say("TurboQuant Chat is running already, and its window doesn't answer."),
                say("Wait a little and start it again; or end the one that runs, then start it again."),
            )
        report = crashes.begin(paths.logs_dir())
        window, engine = open_window()
        instance.show_on_call(window)
        app.opening.listen(window.on_dropped)
        instance.file_asked.connect(window.on_dropped)
        for file in options.files:
            window.on_dropped(file.absolute())
    except (AppError, OSError, sqlite3.Error) as error:
        with contextlib.suppress(AppError):
            crashes.end(paths.logs_dir())
        return _refuse(str(error))
    window.notices.show_notice(notice())
    if report is not None and window.resuming.box is None:  # which says more
        window.help.tell_of_crash(report)
    EndSignals(app).install()
    code = app.exec()
    return finish(window, engine, code)


def _refuse(*sentences: str) -> int:
    """The program can't start. Who double-clicked it sees no stderr."""
    words = " ".join(sentences)
    print(words, file=sys.stderr)
    Question(None, QApplication.applicationName(), words, warns=True, news=True).exec()
    return 1


if __name__ == "__main__":
    sys.exit(main())
