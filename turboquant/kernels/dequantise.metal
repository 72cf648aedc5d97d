// Rows of one layer's keys or values, in rotated space and in order, for MLX's own attention: what is packed is unpacked,
// the raw first tokens and the raw tail are rotated into the same space.
// constants: OT (out), P, M, BITS, SPLIT (BITS + 1 and BITS - 1 bits in turn, see split.py), RAW (0: packed rows alone), CAL (0;
//   1: adds the rotated offsets; 2: and scales raw rows), CLIP (OT is float16: a rotation may gather a vector in one number),
//   NSG (simdgroups), RPS (rows of a simdgroup)
// inputs: words (heads, cap, NW), norms (heads, cap), dims, consts [signs / sqrt(P), Q, centroids; SPLIT: the lower half's
//   too], first, tail, lift (heads, G, D) rotated offsets, starts (G), channel, order (heads, D)
// dims: [first count, first capacity, body rows, body capacity, tail count, tail capacity, first row out, rows out,
//   first head out, heads out, heads held, G]
// output: out (batch * heads out, rows out, D)
// grid (32 * NSG * groups, batch * heads out, 1)  group (32 * NSG, 1, 1): NSG * RPS rows
  constexpr int D = P * M;
  constexpr int NW = (D * BITS + 31) / 32;
  constexpr int LOW = BITS + SPLIT;          // bits of the first of two codes
  constexpr int LOWER = D / 2 + M * M + (1 << LOW);
  TQ_SHARED float sm_centroids[1 << LOW];
  TQ_SHARED float sm_lower[SPLIT != 0 ? (1 << BITS) / 2 : 1];
  const uint lane = thread_index_in_simdgroup;
  for (uint i = thread_position_in_threadgroup.x; i < (1u << uint(LOW)); i += uint(32 * NSG))
    sm_centroids[i] = consts[uint(D / (1 + SPLIT) + M * M) + i];
  if (SPLIT != 0)
    for (uint i = thread_position_in_threadgroup.x; i < (1u << uint(BITS)) / 2u; i += uint(32 * NSG))
      sm_lower[i] = consts[uint(LOWER + D / 2 + M * M) + i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const uint y = threadgroup_position_in_grid.y;
  const uint rows = uint(dims[7]);
  const uint head = y / uint(dims[9]) * uint(dims[10]) + uint(dims[8]) + y % uint(dims[9]);
  const uint nf = uint(dims[0]);
  const uint body = uint(dims[2]);
  const uint held = uint(dims[11]);
  // the groups of raw rows take longest, so they begin first: the one of the first tokens, then from the tail on backwards
  const uint nth = threadgroup_position_in_grid.x;
  const uint group = nth == 0u ? 0u : threadgroups_per_grid.x - nth;
  const uint r0 = (group * uint(NSG) + simdgroup_index_in_threadgroup) * uint(RPS);
  const uint row0 = uint(dims[6]) + r0;
  const uint t0 = row0 > nf ? row0 - nf : 0u;
  uint g = 0u;                               // the segment of t0
  if (CAL > 0) {
    for (uint i = lane; i < held; i += 32u) g += uint(starts[i]) <= t0 ? 1u : 0u;
    g = metal::max(simd_sum(g), 1u) - 1u;
  }
  if (RAW != 0) {
    for (uint i = 0u; i < uint(RPS); ++i) {
      const uint row = row0 + i;
      if (r0 + i >= rows || (row >= nf && row < nf + body)) continue;
      const ulong from = row < nf ? ulong(head) * uint(dims[1]) + row : ulong(head) * uint(dims[5]) + (row - nf - body);
      tq_rotate_row<P, M, SPLIT, CAL / 2, CLIP, LOWER, OT>((row < nf ? first : tail) + from * uint(D), consts,
          channel + head * uint(D), order + head * uint(D), lane, out + (ulong(y) * rows + r0 + i) * uint(D));
    }
  }
  for (uint j = 4u * lane; j < uint(D); j += 128u) {  // four coordinates a lane
    const uint bit = j * uint(BITS);
    const bool spills = (bit & 31u) + uint(4 * BITS) > 32u;
    uint c[RPS];
    float norm[RPS];
    float lower[RPS];
    TQ_UNROLL for (int i = 0; i < RPS; ++i) {  // of all rows first, so that their loads overlap; a raw row's are not used
      const ulong from = ulong(head) * uint(dims[3]) + metal::min(row0 + uint(i) - metal::min(row0 + uint(i), nf), body - metal::min(body, 1u));
      const ulong at = from * uint(NW) + (bit >> 5u);
      c[i] = body > 0u ? words[at] >> (bit & 31u) : 0u;
      if (spills && body > 0u) c[i] |= words[at + 1u] << (32u - (bit & 31u));
      norm[i] = body > 0u ? tq_key_norm<SPLIT>(norms[from]) : 0.0f;
      lower[i] = SPLIT != 0 && body > 0u ? norm[i] * tq_lower_ratio(uint(norms[from])) : 0.0f;
    }
    uint segment = g;
    uint next = segment + 1u < held ? uint(starts[segment + 1u]) : 0xffffffffu;
    float shift[4];                          // of this segment
    TQ_UNROLL for (int k = 0; k < 4; ++k) shift[k] = CAL > 0 ? lift[(ulong(head) * held + segment) * uint(D) + j + uint(k)] : 0.0f;
    TQ_UNROLL for (int i = 0; i < RPS; ++i) {
      const uint row = row0 + uint(i);
      if (r0 + uint(i) < rows && row >= nf && row < nf + body) {
        float v[4];
        TQ_UNROLL for (int k = 0; k < 4; ++k) {
          if (SPLIT != 0) {
            const uint pair = c[i] >> uint(k / 2 * 2 * BITS);
            v[k] = k % 2 == 0 ? norm[i] * sm_centroids[pair & ((1u << uint(LOW)) - 1u)]
                              : lower[i] * sm_lower[SPLIT != 0 ? (pair >> uint(LOW)) & ((1u << uint(BITS - 1)) - 1u) : 0u];
          } else {
            v[k] = norm[i] * sm_centroids[(c[i] >> uint(k * BITS)) & ((1u << uint(BITS)) - 1u)];
          }
        }
        if (CAL > 0) {
          while (row - nf >= next) {
            ++segment;
            next = segment + 1u < held ? uint(starts[segment + 1u]) : 0xffffffffu;
            TQ_UNROLL for (int k = 0; k < 4; ++k) shift[k] = lift[(ulong(head) * held + segment) * uint(D) + j + uint(k)];
          }
          TQ_UNROLL for (int k = 0; k < 4; ++k) v[k] += shift[k];
        }
        if (CLIP != 0) {
          TQ_UNROLL for (int k = 0; k < 4; ++k) v[k] = metal::min(metal::max(v[k], -65504.0f), 65504.0f);
        }
        tq_store4<OT>(out + ((ulong(y) * rows + r0 + uint(i)) * uint(D) + j), v);
      }
    }
  }
