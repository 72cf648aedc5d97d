"""The tools of packaging/ are programs, and import each other as such."""

from __future__ import annotations

import sys
from pathlib import Path

_TOOLS = Path(__file__).resolve().parents[2] / "packaging"
sys.path[:0] = [str(_TOOLS), str(_TOOLS / "linux"), str(_TOOLS / "macos")]
