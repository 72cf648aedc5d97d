"""The program's version, without what its package would load."""

from __future__ import annotations

from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec


def version() -> str:
    """turboquant.version's. Importing that package brings MLX, which belongs to the engine's thread."""
    package = find_spec("turboquant")
    assert package is not None
    spec = PathFinder.find_spec("turboquant.version", package.submodule_search_locations)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(module.__version__)
