"""The checker of macOS applications, over small ones made here: a whole one passes, and each fault is told."""

from __future__ import annotations

import plistlib
from collections.abc import Callable
from pathlib import Path

import check_app
import pytest

from tests.packaging.macho import ARM64, X86_64, application, fat, macho

CORE, MLX = "Contents/Frameworks/mlx/core.so", "Contents/Frameworks/mlx/lib/libmlx.dylib"
METAL = "Contents/Frameworks/mlx/lib/mlx.metallib"


def test_a_whole_application_has_no_problems(tmp_path: Path) -> None:
    app = application(tmp_path)

    assert check_app.check(app) == []
    assert sum(check_app.is_macho(path) for path in check_app.files(app)) == 3


def _write(name: str, data: bytes) -> Callable[[Path], None]:
    return lambda app: ((app / name).write_bytes(data) and None) or None


def _remove(name: str) -> Callable[[Path], None]:
    return lambda app: (app / name).unlink()


def _link_outside(app: Path) -> None:
    (app / "Contents" / "Frameworks" / "lost").symlink_to("/usr/lib/libc.so")


def _not_executable(app: Path) -> None:
    (app / "Contents" / "MacOS" / "whole").chmod(0o644)


def _told(**changed: object) -> Callable[[Path], None]:
    def spoil(app: Path) -> None:
        plist = app / "Contents" / "Info.plist"
        plist.write_bytes(plistlib.dumps(plistlib.loads(plist.read_bytes()) | changed))

    return spoil


def _later_system(app: Path) -> None:
    plist = app / "Contents" / "Info.plist"
    plist.write_bytes(plist.read_bytes().replace(b"14.0", b"15.4"))


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (_write(CORE, macho(processor=X86_64)), f"{CORE} isn't for arm64."),
        (_write(CORE, fat((X86_64, macho(processor=X86_64)))), f"{CORE} isn't for arm64."),
        (_write(CORE, macho()[:40]), f"{CORE} isn't for arm64."),
        (_write(CORE, macho(signed=False)), f"{CORE} isn't signed."),
        (_write(CORE, macho(minimum=(15, 0))), f"{CORE} wants macOS 15.0."),
        (_write(CORE, macho(["@rpath/libmlx.dylib"])[:]), ""),  # the program's own search path leads to it
        (_write(CORE, macho(["@rpath/libgone.dylib"])), f"{CORE} needs @rpath/libgone.dylib, which isn't there."),
        (_write(CORE, macho(["@loader_path/gone.dylib"])), f"{CORE} needs @loader_path/gone.dylib, which isn't there."),
        (_write(CORE, macho(["/opt/homebrew/lib/x.dylib"])), f"{CORE} needs /opt/homebrew/lib/x.dylib, which isn't"),
        (_write(CORE, macho(weak=["@rpath/libgone.dylib"])), ""),
        (_write(CORE, fat((X86_64, macho(processor=X86_64)), (ARM64, macho()))), ""),
        (_remove("Contents/Frameworks/mlx.metallib"), "mlx.metallib isn't beside Contents/Frameworks/libmlx.dylib."),
        (_remove("Contents/Resources/document.icns"), "The icon document.icns is missing."),
        (_remove("Contents/_CodeSignature/CodeResources"), "The application as a whole isn't signed."),
        (_remove("Contents/MacOS/whole"), "whole can't be run."),
        (_not_executable, "whole can't be run."),
        (_later_system, "Info.plist wants macOS 15.4."),
        (_told(LSMinimumSystemVersion="soon"), "Info.plist wants macOS soon."),
        (_told(CFBundleDocumentTypes="odd"), "The icon None is missing."),
        (_told(CFBundleDocumentTypes=["odd"]), "The icon None is missing."),
        (_write("Contents/Info.plist", b"<plist"), "Info.plist can't be read: "),
        (_write("Contents/Info.plist", plistlib.dumps([1])), "Info.plist holds no dictionary."),
        (_remove("Contents/Info.plist"), "Info.plist can't be read: "),
        (_write(CORE, b""), f"{CORE} is no library."),
        (_write(CORE, macho(["@rpath/\udce4.dylib"])), f"{CORE} needs @rpath/"),
        (_write(CORE, macho(holds=1 << 20)), f"{CORE} is cut short."),
        (_write(CORE, fat((X86_64, macho()), (ARM64, macho(holds=1 << 20)))), f"{CORE} is cut short."),
        (_write(METAL, b""), "mlx.metallib isn't beside Contents/Frameworks/libmlx.dylib."),
        (_write("Contents/_CodeSignature/CodeResources", b""), "The application as a whole isn't signed."),
        (_link_outside, "The link Contents/Frameworks/lost leads nowhere in the application."),
    ],
)
def test_each_fault_is_told(spoil: Callable[[Path], None], told: str, tmp_path: Path) -> None:
    app = application(tmp_path)

    spoil(app)

    found = check_app.check(app)
    assert any(sentence.startswith(told) for sentence in found) if told else found == []


def test_a_java_class_is_no_library(tmp_path: Path) -> None:
    file = tmp_path / "Some.class"
    file.write_bytes(b"\xca\xfe\xba\xbe\0\0\0\x41rest")

    assert not check_app.is_macho(file)


def test_modules_are_sought_wherever_an_import_stands(tmp_path: Path) -> None:
    program, site = tmp_path / "program", tmp_path / "site"
    (program / "app").mkdir(parents=True)
    (program / "app" / "one.py").write_text(
        "import json, app.two\nfrom lost.part import x\n\ndef late():\n    import found.inner\n    import compiled\n"
    )
    (program / "app" / "two.py").write_text("import numba  # of another system\n")
    (site / "found" / "inner").mkdir(parents=True)
    (site / "compiled.cpython-311-darwin.so").touch()
    (site / "json").mkdir()

    assert check_app.missing_modules(program, [site]) == ["lost.part"]
