// One part (keys or values): vectors to packed codes and norms.
// constants: P, M, BITS, TRIALS, MATCHED, CAL (0; 1 offset; 2 offset and channel scale), VPG (simdgroups of a group)
// inputs: x (rows, D), dims [rows, rows of a head], consts [signs, Q, trials, boundaries, centroids], offset, channel
// outputs: words (rows, NW), norms (rows)
// grid (32 * VPG * groups, 1, 1)  group (32 * VPG, 1, 1): 32 / min(P, 32) vectors a simdgroup
  constexpr int SUB = P < 32 ? 32 / P : 1;
  constexpr int AT = P * M + M * M + 8;
  TQ_SHARED float sm_bounds[1 << BITS];
  TQ_SHARED float sm_centroids[1 << BITS];
  TQ_SHARED uchar sm_codes[VPG * SUB * P * M];
  const uint sg = simdgroup_index_in_threadgroup;
  for (uint i = thread_position_in_threadgroup.x; i < (1u << uint(BITS)); i += uint(32 * VPG)) {
    sm_bounds[i] = consts[uint(AT) + i];
    sm_centroids[i] = consts[uint(AT + (1 << BITS)) + i];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const uint first = (threadgroup_position_in_grid.x * uint(VPG) + sg) * uint(SUB);
  tq_encode<P, M, BITS, TRIALS, MATCHED, CAL>(x, offset, channel, uint(dims[1]), uint(dims[0]), first,
      thread_index_in_simdgroup, consts, sm_bounds, sm_centroids, sm_codes + sg * uint(SUB * P * M), words, norms);
