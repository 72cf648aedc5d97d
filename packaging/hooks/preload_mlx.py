"""At a bundle's start on a Mac: libmlx from the folder of its shaders, before a link elsewhere leads to it."""

import sys

if sys.platform == "darwin":
    import ctypes
    from pathlib import Path

    ctypes.CDLL(str(Path(sys._MEIPASS) / "mlx" / "lib" / "libmlx.dylib"), mode=ctypes.RTLD_GLOBAL)
