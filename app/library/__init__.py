"""The conversations on disk and the files of their caches. Knows nothing of Qt or of MLX."""
