"""The licences of the program and of everything that comes with it.

A bundle carries them in resources/licences/licences.json, which packaging/licences.py writes; from a checkout they are
read from the installed packages' own metadata.
"""

from __future__ import annotations

import json
import sys
import sysconfig
import tomllib
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from app import paths
from app.version import version

_ROOT = Path(__file__).resolve().parents[1]
_FILE = "licences.json"
_NAMES = ("licen", "copying", "notice", "authors")
_NOT_SHIPPED = ("bundle", "dev", "preview")  # extras
_LONGEST = 80  # an older package puts the whole text where its name belongs


@dataclass(frozen=True)
class Licence:
    """`licence` is its short name, as the package gives it; `text` may be empty: not every package carries one."""

    name: str
    version: str
    licence: str
    text: str


def shipped() -> list[Licence]:
    """The program's own first, then the others by name."""
    try:
        listed = json.loads((paths.RESOURCES / "licences" / _FILE).read_bytes())
    except FileNotFoundError:
        return installed()
    return [Licence(**entry) for entry in listed]


def installed() -> list[Licence]:
    """What the installed packages say of themselves: the project's requirements, and all that these require."""
    text = Path(sysconfig.get_path("stdlib"), "LICENSE.txt")
    python = Licence(
        "Python", sys.version.split()[0], "PSF-2.0", text.read_text("utf-8", "replace") if text.exists() else ""
    )
    found: dict[str, Licence] = {"python": python}
    left = _requirements()
    while left:
        wanted = left.pop()
        name = canonicalize_name(wanted.name)
        try:
            package = distribution(wanted.name)
        except PackageNotFoundError:
            continue  # another platform's
        if name not in found:
            found[name] = _licence(package)
        left += [
            needed
            for line in package.requires or ()
            if canonicalize_name((needed := Requirement(line)).name) not in found and _applies(needed, wanted.extras)
        ]
    others = sorted(found.values(), key=lambda licence: licence.name.casefold())
    return [Licence("TurboQuant Chat", version(), "Apache-2.0", _kept("Apache-2.0")), *others]


def _requirements() -> list[Requirement]:
    """The project's own, with the extras that aren't for developers."""
    try:
        project = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    except FileNotFoundError:
        lines = distribution("turboquant-chat").requires or ()
        every = [Requirement(line) for line in lines]
        return [one for one in every if not any(f'"{extra}"' in str(one.marker) for extra in _NOT_SHIPPED)]
    lines = list(project["dependencies"])
    for extra, more in project["optional-dependencies"].items():
        lines += more if extra not in _NOT_SHIPPED else ()
    return [Requirement(line) for line in lines]


def _applies(needed: Requirement, extras: set[str]) -> bool:
    return needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras | {""})


def _licence(package: Distribution) -> Licence:
    meta = package.metadata
    kinds = [line.rpartition(" :: ")[2] for line in meta.get_all("Classifier") or () if line.startswith("License ::")]
    stated = next((words for key in ("License-Expression", "License") for words in meta.get_all(key) or ()), "")
    short = stated if 0 < len(stated) <= _LONGEST and "\n" not in stated else ", ".join(kinds)
    texts = [file.read_text("utf-8") for file in package.files or () if _is_licence(file)]
    text = "\n\n".join(text.strip() for text in texts if text)
    authors = ", ".join(line for key in ("Author", "Author-email") for line in meta.get_all(key) or ())
    return Licence(meta["Name"], package.version, short, text or _common_text(short, authors))


def _common_text(short: str, authors: str) -> str:
    """The text of a licence that a package only names."""
    if "LGPL-3.0" in short:  # it is the GPL's, with less
        return "\n\n".join(_kept(name) for name in ("LGPL-3.0", "GPL-3.0"))
    if "Apache" in short:
        return _kept("Apache-2.0")
    return f"Copyright (c) {authors}\n\n{_kept('MIT')}" if short.startswith("MIT") else ""


def _kept(name: str) -> str:
    return (paths.RESOURCES / "licences" / f"{name}.txt").read_text("utf-8").strip()


def _is_licence(file: PurePosixPath) -> bool:
    """A text in the package's metadata folder, or at its top, whose name says so."""
    inside = any(part.endswith(".dist-info") for part in file.parts) or len(file.parts) <= 2
    return inside and file.suffix not in (".py", ".pyc", ".pyi") and file.name.casefold().startswith(_NAMES)
