"""The parts of a bundle that can be looked at without building one."""

from __future__ import annotations

import ast
import json
import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import app_info
import archives
import icons
import licences
import pytest

from app.licences import Licence
from tests.packaging.bundled import ROOT
from turboquant.backends.cpu_kernels import prebuilt
from turboquant.version import __version__


def test_info_plist_says_what_macos_asks_for() -> None:
    info = app_info.info()

    assert info["CFBundleShortVersionString"] == info["CFBundleVersion"] == __version__
    assert info["LSMinimumSystemVersion"] == "14.0"
    assert info["NSHighResolutionCapable"] is True
    assert {"en", "de"} <= set(info["CFBundleLocalizations"])
    translated = {path.stem.rpartition("_")[2] for path in (ROOT / "resources" / "translations").glob("*.qm")}
    assert translated <= set(info["CFBundleLocalizations"])
    kind, exported = info["CFBundleDocumentTypes"][0], info["UTExportedTypeDeclarations"][0]
    assert kind["LSItemContentTypes"] == [exported["UTTypeIdentifier"]]
    assert exported["UTTypeTagSpecification"]["public.filename-extension"] == ["turbochat"]
    assert {info["CFBundleIconFile"], kind["CFBundleTypeIconFile"]} == set(app_info.ICONS)


def test_the_desktops_files_name_one_kind_of_document() -> None:
    entry = (ROOT / "packaging" / "linux" / "turboquant-chat.desktop").read_text("utf-8")
    kind = (ROOT / "packaging" / "linux" / "turboquant-chat.xml").read_text("utf-8")
    mime = app_info.info()["UTExportedTypeDeclarations"][0]["UTTypeTagSpecification"]["public.mime-type"][0]

    assert f"MimeType={mime};" in entry
    assert f'<mime-type type="{mime}">' in kind
    assert '<glob pattern="*.turbochat"/>' in kind


def test_only_one_file_states_the_version() -> None:
    """Beside a dependency's name the same digits may stand."""
    own = re.compile(rf"(?<![\d.<=>]){re.escape(__version__)}(?![\d.])")
    files = [path for folder in ("packaging", "app", ".github") for path in (ROOT / folder).rglob("*")]
    texts = [path for path in files if path.suffix in (".py", ".spec", ".plist", ".yml", ".sh", ".desktop")]

    assert [path for path in texts if own.search(path.read_text("utf-8"))] == []


def test_icons_of_every_size(tmp_path: Path) -> None:
    made = icons.draw(tmp_path)

    assert len(made) == len(icons.NAMES) * (len(icons.SIZES) + 1)
    for path in made:
        data = path.read_bytes()
        if path.suffix == ".png":
            assert struct.unpack(">2I", data[16:24]) == (int(path.parent.name.split("x")[0]),) * 2
        else:
            found = dict(_icns(data))
            assert set(found) == set(icons.ICNS)
            for kind, picture in found.items():
                assert struct.unpack(">2I", picture[16:24]) == (icons.ICNS[kind],) * 2


def _icns(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    assert data[:4] == b"icns"
    assert struct.unpack(">I", data[4:8])[0] == len(data)
    at = 8
    while at < len(data):
        size = struct.unpack(">I", data[at + 4 : at + 8])[0]
        yield data[at : at + 4], data[at + 8 : at + size]
        at += size


@pytest.mark.skipif(sys.platform != "linux", reason="numba is installed on Linux only")
def test_the_loops_arguments_are_those_that_numba_compiles() -> None:
    """cpu_kernels.py states them for the libraries; a loop that changed without it must be seen."""
    script = (
        "import sys, json; sys.path.insert(0, 'packaging/linux'); import turboquant, cpu_kernels\n"
        "from turboquant import selftest\n"
        "from turboquant.backends import cpu\n"
        "list(selftest.run())\n"
        "for name in cpu_kernels.ARGUMENTS:\n"
        "    loop = getattr(cpu, name)\n"
        "    compiled = next(c.cell_contents for c in loop.__closure__ if hasattr(c.cell_contents, 'signatures'))\n"
        "    assert compiled.signatures == [tuple(cpu_kernels._types(iter(cpu_kernels.ARGUMENTS[name])))], name\n"
    )

    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("flags", "level"),
    [
        (prebuilt.LEVELS["x86-64-v4"], "x86-64-v4"),
        ((*prebuilt.LEVELS["x86-64-v3"], "avx512f"), "x86-64-v3"),
        (prebuilt.LEVELS["x86-64-v2"], "x86-64-v2"),
        (("sse2",), None),
    ],
)
def test_the_best_library_that_a_processor_has(flags: tuple[str, ...], level: str | None, tmp_path: Path) -> None:
    for name in prebuilt.LEVELS:
        (tmp_path / f"{name}.so").touch()
    own = frozenset(flags) | (frozenset(prebuilt.LEVELS["x86-64-v2"]) if level else frozenset())

    found = prebuilt.library_path(tmp_path, own)

    assert (found and found.stem) == level
    assert prebuilt.library_path(tmp_path / "none", own) is None


@pytest.mark.bundle  # PyInstaller's is among them
def test_every_licence_has_a_text(tmp_path: Path) -> None:
    found = licences.collect()
    licences.write(tmp_path, found)

    assert found[0].name == "TurboQuant Chat"
    assert all(licence.text.strip() for licence in found)
    assert "put libraries of your own" in next(licence.text for licence in found if licence.name == "Qt")
    assert [Licence(**entry) for entry in json.loads((tmp_path / "licences.json").read_text("utf-8"))] == found
    assert not {licence.name for licence in found} & {"pytest", "ruff", "llvmlite"}


@pytest.mark.bundle
def test_a_library_without_a_licence_stops_the_build(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="belongs to no package"):
        licences.collect([tmp_path / "libstray.so.1"])


@pytest.mark.skipif(sys.platform != "linux", reason="reads libraries of Linux")
def test_a_library_that_nobody_brings_stops_the_build(tmp_path: Path) -> None:
    source = tmp_path / "stray.c"
    source.write_text("int stray(void) { return 1; }\n")
    compiler = ["clang-19", "-shared", "-fPIC", "-o"]
    subprocess.run([*compiler, str(tmp_path / "libstray.so.1"), "-Wl,-soname,libstray.so.1", str(source)], check=True)
    folder = tmp_path / "bundle"
    folder.mkdir()
    user = [*compiler, str(folder / "libuser.so"), str(source), "-Wl,--no-as-needed", str(tmp_path / "libstray.so.1")]
    subprocess.run(user, check=True)

    with pytest.raises(archives.LibraryMissing, match=r"libstray.so.1 \(for libuser.so\)"):
        archives.packages(folder)

    (folder / "libstray.so.1").write_bytes((tmp_path / "libstray.so.1").read_bytes())
    assert archives.packages(folder)[0].startswith("libc6 (>= 2.")


def test_the_spec_is_python() -> None:
    ast.parse((ROOT / "packaging" / "turboquant_chat.spec").read_text("utf-8"))
