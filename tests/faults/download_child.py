"""A real downloading process to be killed: `python -m tests.faults.download_child REPO HOME`.

Prints the bytes that are there as they come, so that the parent knows when to strike, and at the end the folder.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from app.engine.hub.catalogue import Hub
from app.engine.hub.download_job import Tools
from app.engine.hub.downloads import Downloads
from app.hub_events import DownloadRemoved, DownloadStatus


def main(repo_id: str, home: Path) -> None:
    ended = threading.Event()

    def hear(event: DownloadStatus | DownloadRemoved) -> None:
        if isinstance(event, DownloadStatus):
            print(event.done_bytes if event.state != "done" else event.path, flush=True)
            if event.state in ("done", "failed"):
                ended.set()

    queue = Downloads(hear, Tools(Hub(), lambda: None, margin_bytes=0), home / "downloads.json")
    queue.start()
    queue.download(repo_id)
    ended.wait()
    queue.shutdown()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
