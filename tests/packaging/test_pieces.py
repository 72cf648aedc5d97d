"""The parts of a bundle that can be looked at without building one."""

from __future__ import annotations

import ast
import json
import os
import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

import app_info
import archives
import icons
import icu_data
import licences
import pytest
import wheels
import yaml

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


@pytest.mark.parametrize("workflow", ["check", "release"])
def test_workflows_run_what_the_makefile_has(workflow: str) -> None:
    document = yaml.safe_load((ROOT / ".github" / "workflows" / f"{workflow}.yml").read_text("utf-8"))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))

    assert True in document  # `on`, as YAML reads it
    steps = [step for job in document["jobs"].values() for step in job["steps"]]
    assert all(("uses" in step) != ("run" in step) for step in steps)
    assert all(re.fullmatch(r"actions/[a-z-]+@v[\d.]+", step["uses"]) for step in steps if "uses" in step)
    scripts = "\n".join(step["run"] for step in steps if "run" in step)
    made = set(re.findall(r"\bmake ([a-z-]+)", scripts))
    assert made >= {"bundle", "test-bundle"}
    assert made <= targets
    for path in re.findall(r"\bpackaging/[\w./]+", scripts):
        assert (ROOT / path).is_file(), path
    for needed in (job.get("needs", []) for job in document["jobs"].values()):
        assert set(needed) <= set(document["jobs"])


def test_wheels_for_a_later_macos_are_seen(tmp_path: Path) -> None:
    """pip on macOS 15 takes what MLX makes for 15, which doesn't start on 14."""
    for name, tags in {
        "late": ["py3-none-macosx_15_0_arm64"],
        "fitting": ["py3-none-macosx_14_0_arm64"],
        "both": ["cp311-cp311-macosx_10_9_universal2", "cp311-cp311-macosx_26_0_arm64"],
        "pure": ["py3-none-any"],
    }.items():
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (folder / "WHEEL").write_text("Wheel-Version: 1.0\n" + "".join(f"Tag: {tag}\n" for tag in tags))

    assert wheels.newer(distributions(path=[str(tmp_path)])) == ["late==1.0"]
    assert app_info.info()["LSMinimumSystemVersion"] == f"{wheels.OLDEST}.0"


@pytest.mark.bundle
@pytest.mark.skipif(sys.platform != "linux", reason="Qt has no ICU elsewhere")
def test_qt_orders_writes_and_names_the_same_with_less_of_icus_data(tmp_path: Path) -> None:
    """In every language that Qt knows."""
    import PySide6

    library = next(Path(PySide6.__path__[0], "Qt", "lib").glob("libicudata.so.*"))
    smaller = icu_data.build(library, tmp_path / library.name)
    script = (
        "import functools, hashlib, json\n"
        "from PySide6.QtCore import QCollator, QLocale, QTimeZone\n"
        "words = 'zebra Äpfel apfel öde ß 日本 東京 中国 한국 ый ёж ångström ñu 10 2 ch cz лук'.split()\n"
        "zone, kind = QTimeZone(b'Europe/Berlin'), QTimeZone.TimeType.StandardTime\n"
        "found = []\n"
        "for locale in QLocale.matchingLocales(QLocale.AnyLanguage, QLocale.AnyScript, QLocale.AnyCountry):\n"
        "    found.append(sorted(words, key=functools.cmp_to_key(QCollator(locale).compare)))\n"
        "    found.append([locale.toUpper('iıßάέ'), locale.toLower('IİÀ')])\n"
        "    found.append([zone.displayName(kind, name, locale) for name in QTimeZone.NameType])\n"
        "used = {line.split()[-1] for line in open('/proc/self/maps') if 'libicudata' in line}\n"
        "print(*used, len({str(one) for one in found}), hashlib.sha256(json.dumps(found).encode()).hexdigest())\n"
    )

    def said(**changes: str) -> list[str]:
        command = [sys.executable, "-c", script]
        environment = {**os.environ, **changes}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()

    before, after = said(), said(LD_PRELOAD=str(smaller))

    assert (before[0], after[0]) == (str(library.resolve()), str(smaller))
    assert before[1:] == after[1:]
    assert int(before[1]) > 100
    assert smaller.stat().st_size < library.stat().st_size - 12_000_000


def test_less_of_icus_data_still_holds_the_rest() -> None:
    header = struct.pack("<HH8x4s", 32, 0x27DA, b"CmnD").ljust(32, b"\0")
    items = {b"icudt73l/de.res": b"German", b"icudt73l/unit/de.res": b"units" * 9, b"icudt73l/zone/de.res": b"zones"}
    names, body, table = bytearray(), bytearray(), bytearray(struct.pack("<I", len(items)))
    first = 4 + 8 * len(items)
    rest = -(-(first + sum(len(name) + 1 for name in items)) // 16) * 16
    for name, item in items.items():
        table += struct.pack("<2I", first + len(names), rest + len(body))
        names += name + b"\0"
        body += item.ljust(-(-len(item) // 16) * 16, b"\0")

    left = icu_data.without(header + bytes(table + names).ljust(rest, b"\0") + bytes(body), {"unit"})

    count = struct.unpack_from("<I", left, 32)[0]
    found = {}
    for name, place in struct.iter_unpack("<2I", left[36 : 36 + 8 * count]):
        found[left[32 + name : left.index(b"\0", 32 + name)]] = left[32 + place : left.index(b"\0", 32 + place)]
        assert (32 + place) % 16 == 0
    assert found == {b"icudt73l/de.res": b"German", b"icudt73l/zone/de.res": b"zones"}
    with pytest.raises(ValueError, match="no package"):
        icu_data.without(b"ELF" * 20, {"unit"})
