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
TQ_FN float tq_log2(float x) { return metal::fast::log2(x); }
TQ_FN float tq_divide(float x, float y) { return x / y; }
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
// A table of pairs, and this lane's copy in it.
typedef const threadgroup uint* tq_pairs;
TQ_FN tq_pairs tq_open_pairs(const threadgroup uint* t, uint copy) { return t + copy; }
TQ_FN uint tq_load_pair(tq_pairs t, uint offset) { return *(const threadgroup uint*)((const threadgroup char*)t + offset); }
TQ_FN uint tq_byte(uint x, uint k) { return (x >> (8u * k)) & 255u; }
