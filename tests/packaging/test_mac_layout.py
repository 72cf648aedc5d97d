"""Where PyInstaller puts MLX's parts in a Mac's application: by its own routine, which runs on any system."""

from __future__ import annotations

import os
from pathlib import PurePosixPath

import pytest

pytestmark = pytest.mark.bundle

COLLECTED = [
    ("mlx/core.cpython-311-darwin.so", "/x/core.so", "EXTENSION"),
    ("mlx/lib/libmlx.dylib", "/x/libmlx.dylib", "BINARY"),
    ("libmlx.dylib", "mlx/lib/libmlx.dylib", "SYMLINK"),
    ("mlx/lib/mlx.metallib", "/x/mlx.metallib", "DATA"),
    ("mlx.metallib", "mlx/lib/mlx.metallib", "SYMLINK"),  # turboquant_chat.spec's own
    ("resources/icons/app.svg", "/x/app.svg", "DATA"),
    ("resources/models/starter/model.safetensors", "/x/model.safetensors", "DATA"),
    ("turboquant-chat.icns", "/x/app.icns", "DATA"),
    ("turboquant-chat", "/x/turboquant-chat", "EXECUTABLE"),
]


@pytest.fixture(scope="module")
def placed() -> dict[str, tuple[str, str]]:
    from PyInstaller.building import osx

    routine = osx.BUNDLE.__new__(osx.BUNDLE)
    return {name: (source, kind) for name, source, kind in routine._process_bundle_toc(COLLECTED)}


def follow(name: str, placed: dict[str, tuple[str, str]]) -> str:
    """The file that a path leads to: links of its folders first, then its own."""
    parts = PurePosixPath(name).parts
    for count in range(1, len(parts) + 1):
        here = "/".join(parts[:count])
        if here in placed and placed[here][1] == "SYMLINK":
            target = os.path.normpath(str(PurePosixPath(here).parent / placed[here][0]))
            return follow("/".join([target, *parts[count:]]), placed)
    assert name in placed, f"{name} leads nowhere"
    return name


def test_the_shaders_are_beside_mlx_by_either_name(placed: dict[str, tuple[str, str]]) -> None:
    """MLX asks the loader for its own name, and opens mlx.metallib in that folder."""
    for folder in ("Contents/Frameworks", "Contents/Frameworks/mlx/lib"):
        library, shaders = (follow(f"{folder}/{name}", placed) for name in ("libmlx.dylib", "mlx.metallib"))
        assert placed[library][0] == "/x/libmlx.dylib"
        assert placed[shaders][0] == "/x/mlx.metallib"


def test_code_and_data_lie_where_signing_wants_them(placed: dict[str, tuple[str, str]]) -> None:
    """Code in Frameworks, data in Resources: elsewhere a signature of the whole doesn't hold."""
    assert placed["Contents/MacOS/turboquant-chat"][1] == "EXECUTABLE"
    for name, (_, kind) in placed.items():
        if kind in ("BINARY", "EXTENSION"):
            assert name.startswith("Contents/Frameworks/"), name
        elif kind == "DATA":
            assert name.startswith("Contents/Resources/"), name


def test_the_program_finds_its_resources_from_its_own_place(placed: dict[str, tuple[str, str]]) -> None:
    """app.paths looks beside the package `app`, which is in Frameworks."""
    assert placed[follow("Contents/Frameworks/resources/icons/app.svg", placed)][0] == "/x/app.svg"
    model = follow("Contents/Frameworks/resources/models/starter/model.safetensors", placed)
    assert placed[model][0] == "/x/model.safetensors"
