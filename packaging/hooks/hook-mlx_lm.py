"""mlx-lm imports a model's module, its tool parser and its chat template by the names that a config.json gives."""

from PyInstaller.utils.hooks import collect_submodules, copy_metadata

_NO_MODELS = ("mlx_lm.models.olmo",)  # ends the program on import unless a package is there that nothing brings
hiddenimports = [
    name
    for package in ("models", "tool_parsers", "chat_templates")
    for name in collect_submodules(f"mlx_lm.{package}", filter=lambda name: name not in _NO_MODELS)
]
excludedimports = list(_NO_MODELS)
datas = copy_metadata("mlx-lm")
