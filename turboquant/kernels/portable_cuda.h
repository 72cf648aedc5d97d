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
TQ_FN float log2(float x) { return ::log2f(x); }
}
TQ_FN float fma(float a, float b, float c) { return ::fmaf(a, b, c); }
TQ_FN float rint(float x) { return ::rintf(x); }
TQ_FN float fabs(float x) { return ::fabsf(x); }
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
TQ_FN float tq_log2(float x) {
  float r;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
// Hides a value's origin from the compiler, which would else recompute it at each use.
TQ_FN uint tq_keep(uint x) {
  asm volatile("" : "+r"(x));
  return x;
}
TQ_FN float tq_divide(float x, float y) { return __fdividef(x, y); }
template <typename T> TQ_FN void tq_prefetch(const T* p) { asm volatile("prefetch.global.L1 [%0];" : : "l"(p)); }
// A table of pairs, and this lane's copy in it.
typedef uint tq_pairs;
TQ_FN tq_pairs tq_open_pairs(const uint* t, uint copy) {
  uint r = (uint)__cvta_generic_to_shared(t) + 4u * copy;
  asm volatile("" : "+r"(r) : : "memory");
  return r;
}
TQ_FN uint tq_load_pair(tq_pairs t, uint offset) {
  uint r;
  asm("ld.shared.u32 %0, [%1];" : "=r"(r) : "r"(offset + t));
  return r;
}
TQ_FN uint tq_byte(uint x, uint k) { return __byte_perm(x, 0u, 0x4440u + k); }
// c += a b of 16 x 16 and 16 x 8 numbers of type T. A lane's fragments: of a the elements (row r, columns 2c, 2c + 1), (r + 8,
// ..), (r, 2c + 8, 2c + 9), (r + 8, ..), of c those of the first two, of b see tq_b_slot; r and c: tq_frag_row, tq_frag_col.
template <typename T> struct tq_is_brain_float { static constexpr bool value = false; };
template <> struct tq_is_brain_float<bfloat16_t> { static constexpr bool value = true; };
template <typename T> TQ_FN void tq_mma(float* c, uint a0, uint a1, uint a2, uint a3, uint b0, uint b1) {
  if constexpr (tq_is_brain_float<T>::value) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
}
#endif
// Where a lane's fragments lie, see tq_mma. Lanes of one row differ in the bits 1 and TQ_COLUMN_HIGH.
#define TQ_COLUMN_HIGH 2
TQ_FN uint tq_frag_row(uint lane) { return lane >> 2u; }
TQ_FN uint tq_frag_col(uint lane) { return lane & 3u; }
// Element e of a lane's b fragment: its row (the second fragment's: 8 more) and its column.
TQ_FN uint tq_b_slot(uint lane, uint e) { return 2u * (lane & 3u) + e; }
TQ_FN uint tq_b_column(uint lane, uint e) { return lane >> 2u; }
// A b fragment out of columns of 16-bit numbers, `stride` (even) apart.
TQ_FN uint tq_b_pair(const ushort* columns, uint stride, uint lane) {
  return *(const uint*)(columns + ((lane >> 2u) * stride + 2u * (lane & 3u)));
}
// Whether this group is the last of `count` to come here with a ticket, which is zero before and after; what the others
// wrote before they came is then to be seen. One thread's fence speaks for all that passed a barrier before it.
TQ_FN bool tq_last(const int* ticket, uint count, uint tid, uint* last) {
  __syncthreads();
  if (tid == 0u) {
    __threadfence();
    *last = atomicAdd((uint*)ticket, 1u) == count - 1u ? 1u : 0u;
    if (*last != 0u) *(uint*)ticket = 0u;
    __threadfence();
  }
  __syncthreads();
  return *last != 0u;
}
