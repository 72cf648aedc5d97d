"""GGUF files: what is in one, and how it becomes a model folder that mlx-lm loads."""
