// CPU stand-in for MLX's CUDA prelude: runs the text of mx.fast.cuda_kernel on the fiber runtime.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include "emu_rt.h"
#ifdef TQ_RACE
#include "emu_race.h"
#endif
#define TQ_EMU 1
#define __global__ static
#define __device__
#define __forceinline__ inline
#define __shared__ static __attribute__((section("tqshm")))
typedef _Float16 __half;
typedef __bf16 __nv_bfloat16;
struct uint2 {
  unsigned x, y;
};
struct uint3 {
  unsigned x, y, z;
};
struct uint4 {
  unsigned x, y, z, w;
};
struct float2 {
  float x, y;
};
struct float4 {
  float x, y, z, w;
};
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
inline uint3 tq_u3(emu::U3 v) { return {v.x, v.y, v.z}; }
#define threadIdx tq_u3(emu::cur->a.pos_tg)
#define blockIdx tq_u3(emu::cur->a.tg_pos)
#define gridDim tq_u3(emu::cur->a.tg_per_grid)
#define TQ_SITE __builtin_return_address(0)
#define TQ_NOINLINE __attribute__((noinline)) inline
#define TQ_INLINE inline __attribute__((always_inline))
TQ_NOINLINE void __syncthreads() { emu::rendezvous(emu::TG_BARRIER, TQ_SITE); }
TQ_NOINLINE void __syncwarp(unsigned = ~0u) {
  emu::rendezvous(emu::SIMD, TQ_SITE);
  ++emu::cur->sep;
}
template <typename T>
inline T tq_lane(int l) {
  T r;
  memcpy(&r, emu::snap(l), sizeof r);
  return r;
}
template <typename T>
__attribute__((noinline)) T tq_shfl(unsigned mask, T v, int source) {
  if (mask != ~0u) emu::fail("partial warp mask");
  emu::publish(&v, sizeof v);
  const int me = emu::lane_id();
  emu::rendezvous(emu::SIMD, TQ_SITE);
  return tq_lane<T>(source >= 0 && source < 32 ? source : me);
}
template <typename T>
TQ_INLINE T __shfl_xor_sync(unsigned m, T v, int x) {
  return tq_shfl(m, v, emu::lane_id() ^ x);
}
template <typename T>
TQ_INLINE T __shfl_sync(unsigned m, T v, int s) {
  return tq_shfl(m, v, s & 31);
}
inline bool __any_sync(unsigned m, bool v) {
  for (int i = 16; i; i >>= 1) v = v | __shfl_xor_sync(m, v, i);
  return v;
}
// What portable_cuda.h writes in PTX.
#define TQ_UNROLL
#define TQ_TABLE __shared__
typedef const float* tq_table;
inline tq_table tq_open(const float* t) { return t; }
inline float tq_pick(tq_table t, unsigned x, unsigned mask) { return *(const float*)((const char*)t + (x & mask)); }
inline float2 tq_pick2(tq_table t, unsigned x, unsigned mask) { return *(const float2*)((const char*)t + (x & mask)); }
inline float tq_pick_byte(tq_table t, unsigned x, unsigned k) {
  return *(const float*)((const char*)t + ((x >> (8u * k)) & 255u));
}
inline float tq_exp2(float x) { return std::exp2(x); }
inline float tq_divide(float x, float y) { return x / y; }
template <typename T>
inline void tq_prefetch(const T* p) {
  (void)*(const volatile char*)p;
}
typedef const unsigned* tq_pairs;
inline tq_pairs tq_open_pairs(const unsigned* t, unsigned copy) { return t + copy; }
inline unsigned tq_load_pair(tq_pairs t, unsigned offset) { return *(const unsigned*)((const char*)t + offset); }
inline unsigned tq_byte(unsigned x, unsigned k) { return (x >> (8 * k)) & 255; }
inline float tq_log2(float x) { return std::log2(x); }
// mma.m16n8k16: lane 4 r + c holds of a (r, 2c), (r + 8, 2c), (r, 2c + 8), (r + 8, 2c + 8) and each one's right neighbour, of b
// (2c, r), (2c + 8, r) and each one's lower neighbour, of c (r, 2c), (r, 2c + 1), (r + 8, ..).
struct TqFragment {
  unsigned x[4];
};
template <typename T>
inline float tq_half_of(unsigned pair, int i) {
  const unsigned short bits = (unsigned short)(pair >> (16 * i));
  T value;
  memcpy(&value, &bits, 2);
  return float(value);
}
template <typename T>
TQ_NOINLINE void tq_mma(float* c, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
  const TqFragment a{{a0, a1, a2, a3}}, b{{b0, b1, 0, 0}};
  const int row = emu::lane_id() / 4, column = 2 * (emu::lane_id() % 4);
  float left[2][16], right[2][16];
  emu::publish(&a, sizeof a);
  emu::rendezvous(emu::SIMD, TQ_SITE);
  for (int k = 0; k < 16; ++k) {
    const TqFragment f = tq_lane<TqFragment>(4 * row + k % 8 / 2);
    for (int i = 0; i < 2; ++i) left[i][k] = tq_half_of<T>(f.x[2 * (k / 8) + i], k % 2);
  }
  emu::publish(&b, sizeof b);
  emu::rendezvous(emu::SIMD, TQ_SITE);
  for (int k = 0; k < 16; ++k)
    for (int i = 0; i < 2; ++i)
      right[i][k] = tq_half_of<T>(tq_lane<TqFragment>(4 * (column + i) + k % 8 / 2).x[k / 8], k % 2);
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 16; ++k) c[i] += left[i / 2][k] * right[i % 2][k];
}
inline void __threadfence() { emu::fence(); }
inline unsigned atomicAdd(unsigned* p, unsigned v) {
  emu::arrive();
  const unsigned old = *p;
  *p = old + v;
  return old;
}
inline unsigned tq_keep(unsigned x) { return x; }
