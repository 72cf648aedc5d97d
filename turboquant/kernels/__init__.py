"""GPU kernels: one Metal text for Metal and CUDA. specs.py describes them, loader.py makes MLX run them."""
