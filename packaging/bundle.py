"""Build the bundle of this platform into dist/. `make bundle` sets up what it needs, then runs it.

Linux: the folder dist/turboquant-chat, and unless --folder-only says otherwise a tar.gz and a .deb of it. macOS:
dist/TurboQuant Chat.app; packaging/macos/build_app.sh signs and packs it.
"""

from __future__ import annotations

import argparse
import ast
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT), str(HERE), str(HERE / "linux"), str(HERE / "macos")]

import icons  # noqa: E402
import licences  # noqa: E402

from app.errors import AppError  # noqa: E402

STAGE, DIST, WORK = ROOT / "build" / "stage", ROOT / "dist", ROOT / "build" / "pyinstaller"
NAME = "turboquant-chat"
VERSION: str = runpy.run_path(str(ROOT / "turboquant" / "version.py"))["__version__"]
# Megabytes of 1,000,000 bytes that the folder takes on disk without the model. A dependency that grows shall be seen.
LIMIT_MB = 320


class BundleError(Exception):
    """What is wrong with the bundle, for the person who builds it."""


def stage(platform: str = sys.platform) -> None:
    """What the bundle carries beside the program: the starter model, icons, licences, the CPU's loops, ICU's data."""
    from app.engine import starter

    starter.install(models_dir=STAGE / "resources" / "models", weights="quantized")
    (STAGE / "resources" / "models" / "lock").unlink(missing_ok=True)
    licences.write(STAGE / "resources" / "licences", licences.collect(platform=platform))
    icons.draw(ROOT / "build" / "icons")
    if platform == "linux":
        _cpu_loops(STAGE / "turboquant" / "backends" / "cpu_kernels")
        _icu_data(STAGE / "PySide6" / "Qt" / "lib")


def _cpu_loops(folder: Path) -> None:
    """Compiled again only when their source, or what compiles them, has changed."""
    import cpu_kernels

    sources = [*(ROOT / "turboquant" / "backends" / "cpu_kernels").glob("*.py"), *(HERE / "linux").glob("cpu_*")]
    newest = max(path.stat().st_mtime for path in [*sources, ROOT / "constraints.txt"])
    made = [folder / f"{level}.so" for level in cpu_kernels.LEVELS]
    if any(not path.exists() or path.stat().st_mtime < newest for path in made):
        cpu_kernels.build(folder)


def _icu_data(folder: Path) -> None:
    import icu_data
    import PySide6

    shutil.rmtree(folder, ignore_errors=True)  # another version's
    library = next(Path(PySide6.__path__[0], "Qt", "lib").glob("libicudata.so.*"))
    icu_data.build(library, folder / library.name)


def freeze() -> None:
    """Run PyInstaller on the one spec."""
    command = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level", "WARN"]
    command += ["--distpath", str(DIST), "--workpath", str(WORK), str(HERE / "turboquant_chat.spec")]
    subprocess.run(command, cwd=ROOT, check=True)


def finish_linux() -> Path:
    """Strip the libraries, tell their licences; returns the folder. Raises BundleError for one that has grown."""
    folder = DIST / NAME
    inside = folder / "_internal"
    for library in inside.rglob("*.so*"):
        # Those that a wheel's repair tool rewrote don't all bear it.
        if library.is_file() and not library.is_symlink() and not library.parent.name.endswith(".libs"):
            subprocess.run(["strip", "--strip-unneeded", str(library)], check=True)
    licences.write(inside / "resources" / "licences", licences.collect(_of_system(), platform="linux"))
    size = disk_bytes(folder) - disk_bytes(inside / "resources" / "models")
    print(f"{folder.relative_to(ROOT)}: {size / 1e6:.0f} MB without the model", flush=True)
    if size > LIMIT_MB * 1e6:
        raise BundleError(f"The bundle takes {size / 1e6:.0f} MB without the model; {LIMIT_MB} MB are the limit.")
    return folder


def _of_system() -> list[Path]:
    """The libraries that PyInstaller took from the system, as its table of contents has them."""
    table = ast.literal_eval((WORK / "turboquant_chat" / "COLLECT-00.toc").read_text("utf-8"))
    entries = [entry for part in table if isinstance(part, list) for entry in part]
    sources = {Path(source) for _, source, kind in entries if kind == "BINARY"}
    return sorted(path for path in sources if str(path).startswith(("/lib", "/usr/lib")))


def disk_bytes(folder: Path) -> int:
    """What a folder takes on disk: links count nothing, and files in whole blocks."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*") if not path.is_symlink())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder-only", action="store_true", help="no archives")
    options = parser.parse_args()
    try:
        if sys.platform == "darwin":
            import wheels

            wheels.fit()
        stage()
        freeze()
        if sys.platform == "linux":
            import archives

            folder = finish_linux()
            if not options.folder_only:
                for archive in (archives.tar(folder, DIST, VERSION), archives.deb(folder, DIST, VERSION)):
                    print(f"{archive.relative_to(ROOT)}: {archive.stat().st_size / 1e6:.0f} MB", flush=True)
    except (AppError, BundleError, FileNotFoundError, ValueError) as error:
        print(f"No bundle: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"No bundle: {os.path.basename(error.cmd[0])} ended with status {error.returncode}.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
