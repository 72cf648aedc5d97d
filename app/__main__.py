"""The application's start: `python -m app`, `python -m app --demo DIR`.

Only the order of things: log, settings and library, the window on screen, then the engine's thread, which imports MLX.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sqlite3
import sys
from pathlib import Path

from PySide6.QtWidgets import QMessageBox

from app import log, paths
from app.errors import AppError
from app.ui.single import SingleInstance
from app.ui.startup import EndSignals, finish, make_application, open_window


def main(arguments: list[str] | None = None) -> int:
    multiprocessing.freeze_support()
    parser = argparse.ArgumentParser(prog="turboquant-chat", description="Chat with local MLX models.")
    parser.add_argument("--demo", metavar="DIR", type=Path, help="play a scripted chat; write pictures and report.json")
    parser.add_argument("--demo-part", choices=("play", "reopen"), default="play", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.demo is not None:
        from app.ui import demo

        return demo.main(options.demo, options.demo_part)
    app = make_application()
    try:
        notice = log.start()
        instance = SingleInstance(paths.data_dir(), app)
        if not instance.first:
            shown = "its window was brought forward" if instance.call_first() else "its window doesn't answer"
            print(f"{app.applicationName()} is running already: {shown}.", file=sys.stderr)
            return 0
        window, engine = open_window()
        instance.show_on_call(window)
    except (AppError, OSError, sqlite3.Error) as error:
        QMessageBox.critical(None, app.applicationName(), str(error))
        return 1
    window.notices.show_notice(notice)
    EndSignals(app).install()
    code = app.exec()
    return finish(window, engine, code)


if __name__ == "__main__":
    sys.exit(main())
