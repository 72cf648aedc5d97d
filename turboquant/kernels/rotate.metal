// Rows into the space of packed keys or values, or back out of it.
// constants: OT (out), P, M, SPLIT (halves of the channels, see split.py), SCALE (0; 1 times the channel scale; 2 over it), BACK
//   (the inverse; unsplit and unscaled), CLIP (OT is float16), NSG (simdgroups)
// inputs: x (rows, D), dims [rows, rows of a head], consts [signs / sqrt(P), Q, centroids; SPLIT: the lower half's too], channel,
//   order (heads, D)
// output: out (rows, D)
// grid (32 * NSG * groups, 1, 1)  group (32 * NSG, 1, 1): a row a simdgroup
  constexpr int D = P * M;
  const uint lane = thread_index_in_simdgroup;
  const uint row = threadgroup_position_in_grid.x * uint(NSG) + simdgroup_index_in_threadgroup;
  const uint head = row / uint(dims[1]) * uint(D);
  if (row < uint(dims[0])) {
    if (BACK != 0) {
      tq_unrotate_row<P, M, CLIP, OT>(x + ulong(row) * uint(D), consts, lane, out + ulong(row) * uint(D));
    } else {
      tq_rotate_row<P, M, SPLIT, SCALE, CLIP, D / 2 + M * M + (2 << BITS), OT>(
          x + ulong(row) * uint(D), consts, channel + head, order + head, lane, out + ulong(row) * uint(D));
    }
  }
