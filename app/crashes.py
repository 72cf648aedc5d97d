"""Whether the program ended as it should the last time, and a report where it didn't.

The report is a text file in the log folder and is sent nowhere. It holds no message, no reply and no token: it is made
of the log and a trace of the code.
"""

from __future__ import annotations

import contextlib
import datetime
import faulthandler
import json
import logging
import platform
import time
from pathlib import Path

from app import paths
from app.version import version

RUNNING, TRACE, LOG = "running.json", "crash.log", "turboquant-chat.log"
KEPT = 5  # reports
_NO_TRACE = (
    "There is no trace of the code: the system ended the program (it may have been out of memory), or the computer "
    "went off."
)
_LOG_LINES = 80
_TRACE_BYTES = 200_000

log = logging.getLogger(__name__)


def begin(folder: Path) -> Path | None:
    """The program starts: a mark stands until `end`. Returns the report where the former run left its mark.

    Call it once this process is the only one: see app.ui.window.single. A folder that can't be written costs the
    report only.
    """
    log.info("version %s, Python %s, %s", version(), platform.python_version(), platform.platform())
    mark = folder / RUNNING
    report = None
    try:
        if mark.exists():
            report = _write(folder, mark)
    except OSError as error:
        log.warning("the last run ended unexpectedly, and its report can't be written: %s", error)
    try:
        paths.write_atomic(mark, json.dumps({"started": time.time(), "version": version()}).encode())
        # A native crash writes where the code was. The file stays open: nothing can be opened any more by then.
        faulthandler.enable(file=open(folder / TRACE, "w", encoding="utf-8"))  # noqa: SIM115
    except OSError as error:
        log.warning("a crash would leave no report: %s", error)
    return report


def end(folder: Path) -> None:
    """The program ends as it should."""
    log.info("ended")
    with contextlib.suppress(OSError):
        (folder / RUNNING).unlink(missing_ok=True)


def reports(folder: Path) -> list[Path]:
    """The newest first."""
    return sorted(folder.glob("crash-*.txt"), reverse=True)


def _write(folder: Path, mark: Path) -> Path:
    text = "\n\n".join((_head(mark), _trace(folder / TRACE), _last_lines(folder / LOG))) + "\n"
    report = folder / f"crash-{datetime.datetime.now():%Y%m%d-%H%M%S}.txt"
    paths.write_atomic(report, text.encode(errors="replace"), mode=0o600)
    for old in reports(folder)[KEPT:]:
        with contextlib.suppress(OSError):
            old.unlink(missing_ok=True)
    log.warning("the last run ended unexpectedly: %s", report)
    return report


def _head(mark: Path) -> str:
    try:
        told = json.loads(mark.read_bytes())
        begun = f"{datetime.datetime.fromtimestamp(told['started']):%Y-%m-%d %H:%M:%S}, version {told['version']}"
    except (OSError, ValueError, TypeError, LookupError, OverflowError, RecursionError):  # what others left there
        begun = "unknown"
    return (
        "TurboQuant Chat ended unexpectedly.\n"
        f"Started:  {begun}\n"
        f"Noticed:  {datetime.datetime.now():%Y-%m-%d %H:%M:%S}, by version {version()}\n"
        f"System:   {platform.platform()}, Python {platform.python_version()}"
    )


def _trace(path: Path) -> str:
    try:
        with path.open("rb") as file:
            text = file.read(_TRACE_BYTES).decode("utf-8", "replace").strip()
    except OSError:
        text = ""
    return f"Where the code was\n{text}" if text else _NO_TRACE


def _last_lines(path: Path) -> str:
    try:
        lines = path.read_text("utf-8", "replace").splitlines()[-_LOG_LINES:]
    except OSError:
        lines = []
    return "\n".join(["The log's last lines", *lines])
