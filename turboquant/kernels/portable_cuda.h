// CUDA's side of what common.h and the bodies need: Metal's names. Goes before them in mx.fast.cuda_kernel's header
// (NVRTC, global namespace). Address spaces are stripped from the text by loader.py, because `#define device` would
// also erase the word inside __device__.
#define TQ_SHARED __shared__
#define TQ_FN __device__ __forceinline__
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef __half float16_t;
typedef __nv_bfloat16 bfloat16_t;
template <typename T, typename U>
TQ_FN T as_type(U x) {
  static_assert(sizeof(T) == sizeof(U), "as_type");
  T r;
  memcpy(&r, &x, sizeof(T));
  return r;
}
namespace metal {
enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
TQ_FN void threadgroup_barrier(mem_flags) { __syncthreads(); }
TQ_FN void simdgroup_barrier(mem_flags) { __syncwarp(); }
template <typename T> TQ_FN T simd_shuffle_xor(T v, ushort m) { return __shfl_xor_sync(0xffffffffu, v, m); }
template <typename T> TQ_FN T simd_shuffle(T v, ushort l) { return __shfl_sync(0xffffffffu, v, l); }
template <typename T> TQ_FN T simd_sum(T v) {
  for (int m = 16; m; m >>= 1) v += __shfl_xor_sync(0xffffffffu, v, m);
  return v;
}
template <typename T> TQ_FN T simd_max(T v) {
  for (int m = 16; m; m >>= 1) {
    const T o = __shfl_xor_sync(0xffffffffu, v, m);
    v = v < o ? o : v;
  }
  return v;
}
TQ_FN bool simd_any(bool v) { return __any_sync(0xffffffffu, v); }
namespace precise {
TQ_FN float sqrt(float x) { return ::sqrtf(x); }
TQ_FN float rsqrt(float x) { return 1.0f / ::sqrtf(x); }
}
TQ_FN float fma(float a, float b, float c) { return ::fmaf(a, b, c); }
TQ_FN float min(float a, float b) { return b < a ? b : a; }
TQ_FN float max(float a, float b) { return a < b ? b : a; }
TQ_FN int min(int a, int b) { return b < a ? b : a; }
TQ_FN int max(int a, int b) { return a < b ? b : a; }
TQ_FN uint min(uint a, uint b) { return b < a ? b : a; }
TQ_FN uint max(uint a, uint b) { return a < b ? b : a; }
}
using metal::mem_flags;
using metal::simd_any;
using metal::simd_max;
using metal::simd_shuffle;
using metal::simd_shuffle_xor;
using metal::simd_sum;
using metal::simdgroup_barrier;
using metal::threadgroup_barrier;
#ifndef TQ_EMU
#define TQ_UNROLL _Pragma("unroll")
// Tables lie at multiples of 1 KiB and are addressed by 32-bit shared addresses: base and offset join in one instruction.
#define TQ_TABLE __shared__ __align__(1024)
typedef uint tq_table;
TQ_FN tq_table tq_open(const float* t) {
  uint r = (uint)__cvta_generic_to_shared(t);
  asm volatile("" : "+r"(r) : : "memory");
  return r;
}
TQ_FN float tq_pick(tq_table t, uint x, uint mask) {
  float r;
  asm("ld.shared.f32 %0, [%1];" : "=f"(r) : "r"((x & mask) | t));
  return r;
}
TQ_FN float2 tq_pick2(tq_table t, uint x, uint mask) {
  float2 r;
  asm("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(r.x), "=f"(r.y) : "r"((x & mask) | t));
  return r;
}
TQ_FN float tq_pick_byte(tq_table t, uint x, uint k) {
  float r;
  asm("ld.shared.f32 %0, [%1];" : "=f"(r) : "r"(__byte_perm(x, t, 0x7650u + k)));
  return r;
}
TQ_FN float tq_exp2(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
// Hides a value's origin from the compiler, which would else recompute it at each use.
TQ_FN uint tq_keep(uint x) {
  asm volatile("" : "+r"(x));
  return x;
}
#endif
