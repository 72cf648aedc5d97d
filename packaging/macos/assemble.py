"""A Mac's application, put together on Linux: macOS wheels, a Python from one of them, a launcher, ad-hoc signatures.

`make preview`. What a Mac builds comes from PyInstaller and packaging/build_app.sh; this is a preview, checked by
check_app.py and started by nobody. Downloads 400 MB the first time, which pip keeps.
"""

from __future__ import annotations

import os
import plistlib
import re
import shutil
import struct
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE), str(HERE.parent)]

import app_info  # noqa: E402
import bundle  # noqa: E402
import check_app  # noqa: E402
import wheels  # noqa: E402
from packaging.requirements import Requirement  # noqa: E402
from packaging.utils import canonicalize_name  # noqa: E402

PYTHON = "3.11"
WORK = ROOT / "build" / "preview"
INTERPRETER = "panda3d==1.10.16"  # its wheel ships libpython and the standard library's compiled modules
MAC = {
    "sys_platform": "darwin",
    "platform_system": "Darwin",
    "platform_machine": "arm64",
    "os_name": "posix",
    "python_version": PYTHON,
}
QT_KEPT = {"QtCore", "QtGui", "QtWidgets", "QtDBus", "QtNetwork", "QtSvg"}
QT_PLUGINS = {"platforms", "styles", "imageformats", "iconengines"}
_MODEL_CODE = re.compile(r"(modeling|modular|image_processing|video_processing|feature_extraction|processing|convert)_")
_NOT_TAKEN = re.compile(r"(_test|_xxtest|_xxsub|xx|_curses|readline|_ctypes_test|nis|_tkinter)")


def requirements() -> list[str]:
    """name==version of all that the application needs on a Mac, from constraints.txt. KeyError: one isn't pinned."""
    lines = [line.partition("==") for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()]
    pins = {canonicalize_name(name): version for name, _, version in lines if version}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    left, found = [Requirement(line) for line in project["dependencies"]], set()
    while left:
        wanted = left.pop()
        name = canonicalize_name(wanted.name)
        if name in found:
            continue
        found.add(name)
        try:
            more = distribution(name).requires or ()
        except PackageNotFoundError:  # a Mac's own, such as mlx-metal, which needs nothing further
            continue
        left += [needed for line in more if _on_a_mac(needed := Requirement(line), wanted.extras | {""})]
    return [f"{name}=={pins[name]}" for name in sorted(found)]


def _on_a_mac(needed: Requirement, extras: set[str]) -> bool:
    marker = needed.marker
    return marker is None or any(marker.evaluate({**MAC, "extra": extra}) for extra in extras)


def assemble(files: list[Path], app: Path) -> None:
    """Write the application to `app`, unsigned."""
    shutil.rmtree(app, ignore_errors=True)
    contents = app / "Contents"
    for name in ("MacOS", "Frameworks", "Resources"):
        (contents / name).mkdir(parents=True)
    python = contents / "Resources" / "python" / "lib" / f"python{PYTHON}"
    site = python / "site-packages"
    _standard_library(next(wheel for wheel in files if wheel.name.startswith("panda3d")), python, contents)
    for wheel in files:
        if not wheel.name.startswith("panda3d"):
            _unpack(wheel, site)
    _slim(site)
    program = contents / "Resources" / "program"
    skipped = shutil.ignore_patterns("__pycache__")
    for package in ("app", "turboquant", "resources"):
        shutil.copytree(ROOT / package, program / package, ignore=skipped)
    shutil.copytree(bundle.STAGE / "resources", program / "resources", dirs_exist_ok=True)
    for icon in app_info.ICONS:
        shutil.copy2(ROOT / "build" / "icons" / icon, contents / "Resources")
    (contents / "Info.plist").write_bytes(plistlib.dumps(app_info.info()))
    (contents / "PkgInfo").write_text("APPL????")
    launcher = contents / "MacOS" / "turboquant-chat"
    compiler = [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-macos.14.0", "-O2", "-s"]
    subprocess.run([*compiler, "-o", str(launcher), str(HERE / "launcher.c")], check=True)
    for path in check_app.files(app):
        if check_app.is_macho(path):
            thin(path)


def _standard_library(wheel: Path, python: Path, contents: Path) -> None:
    """What is compiled from the wheel, the rest from the Python that runs this: both are of one minor version."""
    kept = ("*.py", "*.txt")
    skipped = {"site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip"}
    skipped |= {"lib2to3", "lib-dynload", "__pycache__", "pydoc_data"}
    source = Path(sysconfig.get_path("stdlib"))
    for pattern in kept:
        for path in source.rglob(pattern):
            inside = path.relative_to(source)
            if not skipped & set(inside.parts) and not path.name.startswith("_sysconfigdata"):
                (python / inside).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, python / inside)
    dynamic = python / "lib-dynload"
    dynamic.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.namelist():
            folder, _, name = entry.rpartition("/")
            if folder != "deploy_libs" or _NOT_TAKEN.match(name):
                continue
            target = dynamic if name.endswith(".so") or name.startswith(("libssl", "libcrypto")) else None
            if name == f"libpython{PYTHON}.dylib":
                target = contents / "Frameworks"
            elif name.startswith("_sysconfigdata"):
                target = python
            if target is not None:
                (target / name).write_bytes(archive.read(entry))


def _unpack(wheel: Path, site: Path) -> None:
    """Its packages and metadata; a wheel's modes and links are kept by neither pip nor us, and none is needed."""
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            path = Path(entry.filename)
            if entry.is_dir() or path.suffix in (".pyi", ".a", ".h", ".cmake") or "tests" in path.parts:
                continue
            if path.parts[0].endswith(".data"):
                if path.parts[1] not in ("purelib", "platlib"):
                    continue
                path = Path(*path.parts[2:])
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).write_bytes(archive.read(entry))


def _slim(site: Path) -> None:
    """Leave out what the bundle for Linux leaves out too: other models' code, Qt's other modules and tools."""
    qt = site / "PySide6"
    for path in list(qt.iterdir()):
        name = path.name
        module = path.suffix == ".so" and name.split(".")[0] in QT_KEPT
        if not (module or name in ("Qt", "support") or path.suffix == ".py" or name.startswith("libpyside6.")):
            _remove(path)
    for path in list((qt / "Qt").iterdir()):
        if path.name not in ("lib", "plugins"):
            _remove(path)
    for path in list((qt / "Qt" / "lib").iterdir()):
        if path.name.split(".")[0] not in QT_KEPT:
            _remove(path)
    for path in list((qt / "Qt" / "plugins").iterdir()):
        if path.name not in QT_PLUGINS:
            _remove(path)
    for path in (qt / "Qt" / "plugins" / "imageformats").glob("*pdf*"):
        _remove(path)
    for path in (site / "transformers" / "models").glob("*/*.py"):
        if _MODEL_CODE.match(path.name) and path.parent.name != "auto":
            path.unlink()
    for name in ("mlx_lm/models/olmo.py", "numpy/f2py"):
        _remove(site / name)


def _remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)


def thin(path: Path) -> None:
    """Leave a universal file its arm64 slice; slices carry signatures of their own. Raises ValueError without one."""
    data = path.read_bytes()
    if data[:4] != b"\xca\xfe\xba\xbe":
        return
    for index in range(struct.unpack(">I", data[4:8])[0]):
        processor, _, offset, size, _ = struct.unpack(">5I", data[8 + 20 * index : 28 + 20 * index])
        if processor == check_app.ARM64:
            mode = path.stat().st_mode
            path.write_bytes(data[offset : offset + size])
            path.chmod(mode)
            return
    raise ValueError(f"{path} has no part for arm64.")


def sign(app: Path) -> None:
    """Ad hoc: every library, then the application as a whole with its entitlements."""
    import apple_platform

    main = app / "Contents" / "MacOS" / "turboquant-chat"
    for path in check_app.files(app):
        if path != main and check_app.is_macho(path):
            apple_platform.sign(path, binary_identifier=path.name.split(".")[0])
    apple_platform.sign(app, entitlements_xml_file=str(HERE / "entitlements.plist"))


def main() -> int:
    bundle.stage("darwin")
    app = ROOT / "dist" / "preview" / app_info.APP
    assemble(wheels.download([*requirements(), INTERPRETER], WORK / "wheels", PYTHON), app)
    sign(app)
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    done = subprocess.run([sys.executable, str(HERE / "check_app.py"), str(app)], check=False)
    if done.returncode:
        return done.returncode
    archive = app.parent / f"turboquant-chat-{app_info.version()}-macos-arm64-preview.zip"
    archive.unlink(missing_ok=True)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as packed:
        for path in check_app.files(app):
            packed.write(path, path.relative_to(app.parent))
    size = sum(path.stat().st_size for path in check_app.files(app))
    print(f"{app.name}: {size / 1e6:.0f} MB, zipped {archive.stat().st_size / 1e6:.0f} MB. Nobody has started it.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
