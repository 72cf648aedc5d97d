// Metal's side of what common.h and the bodies need: plain names for what Metal and CUDA spell differently.
#define TQ_SHARED threadgroup  /* defines a threadgroup array at a kernel's top; never a pointer */
#define TQ_TABLE threadgroup   /* the same, for tables that tq_open opens */
#define TQ_FN inline
#ifdef TQ_EMU
#define TQ_UNROLL
#else
#define TQ_UNROLL _Pragma("clang loop unroll(full)")
#endif
TQ_FN float tq_exp2(float x) { return metal::fast::exp2(x); }
TQ_FN uint tq_keep(uint x) { return x; }
// Tables in threadgroup memory. x holds an entry's byte offset under `mask`, or in its byte k.
typedef const threadgroup float* tq_table;
TQ_FN tq_table tq_open(const threadgroup float* t) { return t; }
TQ_FN float tq_pick(tq_table t, uint x, uint mask) {
  return *(const threadgroup float*)((const threadgroup char*)t + (x & mask));
}
TQ_FN float2 tq_pick2(tq_table t, uint x, uint mask) {
  return *(const threadgroup float2*)((const threadgroup char*)t + (x & mask));
}
TQ_FN float tq_pick_byte(tq_table t, uint x, uint k) {
  return *(const threadgroup float*)((const threadgroup char*)t + ((x >> (8u * k)) & 255u));
}
