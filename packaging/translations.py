"""The files of translations, from the window's strings and from what the layers below it say (app.words).

`python packaging/translations.py [FOLDER]`, by default resources/translations: each .ts there is brought up to date,
its .qm made anew.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONTEXT = "below"  # as app.ui.shared.language has it
CALLS = ("say", "Reason")  # app.words, turboquant.reasons


def below() -> list[Path]:
    """The modules below the window."""
    return sorted({*(ROOT / "app").rglob("*.py"), *(ROOT / "turboquant").rglob("*.py")} - set(window()))


def window() -> list[Path]:
    return sorted((ROOT / "app" / "ui").rglob("*.py"))


def sentences(path: Path) -> Iterator[str]:
    """The literal first arguments of the calls that tell a person something. Raises ValueError for another one."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
            match node.args:
                case [ast.Constant(value=str(text)), *_]:
                    yield text
                case _:
                    if path.stem != "words":  # which passes on what was said
                        raise ValueError(f"{path}:{node.lineno}: no literal")


def update(folder: Path) -> None:
    """Raises CalledProcessError where one of Qt's tools fails."""
    said = sorted({text for path in below() for text in sentences(path)})
    with tempfile.TemporaryDirectory() as work:
        listed = Path(work) / "words.py"
        listed.write_text("".join(f"translate({_quoted(CONTEXT)}, {_quoted(text)})\n" for text in said), "utf-8")
        for file in sorted(folder.glob("*.ts")):
            english = ["-pluralonly"] if file.stem.endswith("_en") else []
            options = ["-silent", "-no-obsolete", "-locations", "none", *english]
            _run("lupdate", *map(str, window()), str(listed), *options, "-ts", str(file))
            _run("lrelease", "-silent", str(file), "-qm", str(file.with_suffix(".qm")))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _run(tool: str, *arguments: str) -> None:
    program = Path(sys.executable).parent / f"pyside6-{tool}"  # PySide6-Essentials brings it
    subprocess.run([program, *arguments], check=True)


if __name__ == "__main__":
    update(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "resources" / "translations")
