// Stand-in for the prelude that MLX hands to NVRTC (its CPU wheel doesn't ship it): only the names that a kernel may see.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
typedef int int32_t;
typedef unsigned int uint32_t;
typedef unsigned short uint16_t;
