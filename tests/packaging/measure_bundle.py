"""What the bundle in dist/ takes, and how fast it is there: `python -m tests.packaging.measure_bundle`.

Times are from the start to the window on the screen (Xvfb), of a program whose files are in memory already.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "packaging")]

from tests.packaging.bundled import NAME, machine, wait_until  # noqa: E402
from tests.packaging.screen import screen  # noqa: E402

STARTS = 6  # the first one warms up, and isn't counted


def main() -> None:
    from bundle import disk_bytes

    folder = ROOT / "dist" / NAME
    model = disk_bytes(folder / "_internal" / "resources" / "models")
    print(f"without the model {(disk_bytes(folder) - model) / 1e6:.0f} MB, the model {model / 1e6:.0f} MB")
    for archive in sorted([*(ROOT / "dist").glob("*.tar.gz"), *(ROOT / "dist").glob("*.deb")]):
        print(f"{archive.name}: {archive.stat().st_size / 1e6:.0f} MB")
    seconds = []
    with screen() as display, machine(folder, display.display) as bundle:
        for _ in range(STARTS):
            begin = time.perf_counter()
            process = bundle.start()
            while not display.windows():
                time.sleep(0.02)
            seconds.append(time.perf_counter() - begin)
            loaded = wait_until(lambda: _memory(bundle.processes()), "the model")
            display.focus()
            begin = time.perf_counter()
            display.press("ctrl+q")
            process.wait()
            ended = time.perf_counter() - begin
    counted = seconds[1:]
    print(f"start to window: {statistics.median(counted):.2f} s (median of {len(counted)}), most {max(counted):.2f} s")
    print(f"first start: {seconds[0]:.2f} s; quit: {ended:.2f} s; memory with the model loaded: {loaded} MB")


def _memory(processes: list[int]) -> int:
    """Megabytes once the weights are in memory."""
    found = sum(psutil.Process(one).memory_info().rss for one in processes)
    return found // 1_000_000 if found > 700e6 else 0


if __name__ == "__main__":
    main()
