"""A Mac's application, assembled here and checked: `make test-long`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.packaging.bundled import ROOT


@pytest.mark.long
def test_it_is_whole() -> None:
    """Its wheels are those for macOS 14 at the latest; what is inside, check_app.py looks at."""
    command = [sys.executable, str(ROOT / "packaging" / "macos" / "assemble.py")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 problems" in done.stdout
    wheels = [path.name for path in (ROOT / "build" / "preview" / "wheels").glob("*.whl")]
    assert any(name.startswith("mlx_metal") and "macosx_14_0_arm64" in name for name in wheels)
    assert [path.name for path in (ROOT / "dist" / "preview").glob("*.zip")]
