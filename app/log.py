"""One rotating log file. It holds what the program did, never what a person wrote or a model answered."""

from __future__ import annotations

import faulthandler
import logging
import logging.handlers
import os
import sys

from app import paths

_BYTES = 1_000_000
_FORMAT = "%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s"


def start(level: int = logging.INFO) -> str:
    """Send records to the log file, warnings to stderr as well where there is one, and native crashes to a file of
    their own. A second call changes nothing. Returns a sentence for the user where the log can't be written, else
    nothing: the program runs without one.

    A program without a console has no stderr and no stdout; libraries' progress bars write there all the same, so
    both become the null device.
    """
    root = logging.getLogger()
    if any(isinstance(handler, logging.handlers.RotatingFileHandler) for handler in root.handlers):
        return ""
    console = sys.stderr is not None
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    handlers: list[logging.Handler] = []
    notice = ""
    folder = paths.logs_dir()
    try:
        handlers.append(
            logging.handlers.RotatingFileHandler(
                folder / "turboquant-chat.log", maxBytes=_BYTES, backupCount=3, encoding="utf-8"
            )
        )
        faulthandler.enable(file=open(folder / "crash.log", "a", encoding="utf-8"))  # noqa: SIM115
    except OSError as error:
        notice = f"The log in {folder} can't be written ({error.strerror or error}), so there is none this time."
    if console:
        handlers.append(logging.StreamHandler())
        handlers[-1].setLevel(logging.WARNING)
    for handler in handlers:
        handler.setFormatter(logging.Formatter(_FORMAT))
        root.addHandler(handler)
    root.setLevel(level)
    # A level that httpx takes up would write every address that is asked for.
    for chatty in ("httpx", "httpcore", "httpx2", "httpcore2", "urllib3", "filelock"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    return notice
