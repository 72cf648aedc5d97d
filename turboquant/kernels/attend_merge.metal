// The splits' parts of each query row to the finished output: merge by log-sum-exp, sink, un-rotate.
// constants: OT, P, M, NSG, ROWS (query rows of a kv head), L (query rows of a head), HKV, SINK, AT (consts: signs, Q)
// inputs: part [sums (rows, splits, D), maximum and sum of weights (rows, splits, 2), in units of log2(e)], fixed (begins with consts), dims [.., 6: splits]; sinks
// output: out (rows, D)
// grid (32 * NSG, rows, 1)  group (32 * NSG, 1, 1)
  constexpr int D = P * M;
  constexpr int PB = P < 32 ? P : 32;
  constexpr int SUB = 32 / PB;
  constexpr int C = D / PB;
  TQ_SHARED float sm[NSG * SUB * D];
  TQ_SHARED float sm_l[NSG * SUB];
  const device float* consts = (const device float*)fixed;
  const uint row = threadgroup_position_in_grid.y;
  const uint lane = thread_index_in_simdgroup;
  const uint sg = simdgroup_index_in_threadgroup;
  const uint la = lane % uint(PB);
  const uint sub = lane / uint(PB);
  const uint splits = uint(dims[6]);
  const ulong base = ulong(row) * splits * uint(D);
  const ulong stats = ulong(threadgroups_per_grid.y) * splits * uint(D) + ulong(row) * splits * 2u;
  float top = -3.0e38f;
  for (uint s = lane; s < splits; s += 32u) top = metal::max(top, part[stats + 2u * s]);
  top = simd_max(top);
  float sink = 0.0f;
  if (SINK != 0) {
    sink = float(sinks[row % uint(HKV * ROWS) / uint(L)]) * 1.4426950408889634f;
    top = metal::max(top, sink);
  }
  float x[C];
  float total = 0.0f;
  TQ_UNROLL for (int i = 0; i < C; ++i) x[i] = 0.0f;
  for (uint s = sg * uint(SUB) + sub; s < splits; s += uint(NSG * SUB)) {
    const ulong at = base + s * uint(D);
    const float w = tq_exp2(part[stats + 2u * s] - top);
    total += w * part[stats + 2u * s + 1u];
    TQ_UNROLL for (int i = 0; i < P / PB; ++i) {
      TQ_UNROLL for (int b = 0; b < M; ++b)
        x[i * M + b] = metal::fma(w, part[at + tq_coordinate<M>(la, i, b, uint(PB))], x[i * M + b]);
    }
  }
  const uint slot = sg * uint(SUB) + sub;
  TQ_UNROLL for (int i = 0; i < C; ++i) sm[slot * uint(D) + uint(i * PB) + la] = x[i];
  if (la == 0u) sm_l[slot] = total;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (sg == 0u) {
    total = SINK != 0 ? tq_exp2(sink - top) : 0.0f;
    TQ_UNROLL for (int i = 0; i < C; ++i) x[i] = 0.0f;
    for (uint s = 0u; s < uint(NSG * SUB); ++s) {
      total += sm_l[s];
      TQ_UNROLL for (int i = 0; i < C; ++i) x[i] += sm[s * uint(D) + uint(i * PB) + la];
    }
    tq_unrotate<P, M>(x, lane, consts + (AT + D));
    const float r = 1.0f / total;
    if (lane < uint(PB)) {
      TQ_UNROLL for (int i = 0; i < P / PB; ++i) {
        TQ_UNROLL for (int b = 0; b < M; ++b) {
          const uint j = tq_coordinate<M>(la, i, b, uint(PB));
          out[row * uint(D) + j] = OT(x[i * M + b] * consts[uint(AT) + j] * r);
        }
      }
    }
  }
