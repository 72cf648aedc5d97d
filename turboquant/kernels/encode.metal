// One part (keys or values): vectors to packed codes and norms.
// constants: P, M, BITS, TRIALS, MATCHED, SPLIT, LTRIALS (see tq_encode), CAL (0; 1 offset; 2 offset and channel scale), VPG
//   (simdgroups of a group)
// inputs: x (rows, D), dims [rows, rows of a head], consts [signs, Q, trials, boundaries, centroids; SPLIT: the lower half's
//   too], offset, channel, order (heads, D)
// outputs: words (rows, NW), norms (rows)
// grid (32 * VPG * groups, 1, 1)  group (32 * VPG, 1, 1): 32 / PB vectors a simdgroup
  constexpr int PB = P / (1 + SPLIT) < 32 ? P / (1 + SPLIT) : 32;
  constexpr int N = SPLIT != 0 ? (5 << BITS) / 2 : 1 << BITS;
  TQ_SHARED float sm_bounds[N];
  TQ_SHARED float sm_centroids[N];
  TQ_SHARED uchar sm_codes[VPG * (32 / PB) * P * M];
  const uint sg = simdgroup_index_in_threadgroup;
  tq_codec_tables<P * M, M, BITS, SPLIT>(consts, thread_position_in_threadgroup.x, uint(32 * VPG), sm_bounds, sm_centroids);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const uint first = (threadgroup_position_in_grid.x * uint(VPG) + sg) * uint(32 / PB);
  tq_encode<P, M, BITS, TRIALS, MATCHED, CAL, SPLIT, LTRIALS>(
      x, offset, channel, order, uint(dims[1]), uint(dims[0]), first, thread_index_in_simdgroup, consts, sm_bounds, sm_centroids,
      sm_codes + sg * uint(32 / PB * P * M), words, norms);
