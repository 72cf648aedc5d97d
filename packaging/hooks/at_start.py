"""What a bundle does before anything else of the program runs."""

import os
import sys

# PyInstaller's start has pointed the loader of libraries at the bundle. This process has read that already; a browser
# or a folder's window that it opens would take the bundle's libraries for its own.
for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"):
    before = os.environ.pop(f"{name}_ORIG", None)
    os.environ.pop(name, None)
    if before is not None:
        os.environ[name] = before

if sys.platform == "darwin":
    # From the folder of its shaders, before a link elsewhere leads to it.
    import ctypes
    from pathlib import Path

    ctypes.CDLL(str(Path(sys._MEIPASS) / "mlx" / "lib" / "libmlx.dylib"), mode=ctypes.RTLD_GLOBAL)
