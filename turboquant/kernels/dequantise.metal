// Rows of one layer's keys or values, in rotated space and in order, for MLX's own attention: what is packed is unpacked,
// the raw first tokens and the raw tail are rotated into the same space.
// constants: OT (out), P, M, BITS, SPLIT (BITS + 1 and BITS - 1 bits in turn, see split.py), RAW (0: packed rows alone), CAL (0; 1: adds the rotated offsets; 2: and scales raw rows), RPG
// inputs: words (heads, cap, NW), norms (heads, cap), dims, consts [signs / sqrt(P), Q, centroids; SPLIT: the lower half's too], first, tail,
//   lift (heads, G, D) rotated offsets, starts (G), channel, order (heads, D)
// dims: [first count, first capacity, body rows, body capacity, tail count, tail capacity, first row out, rows out,
//   first head out, heads out, heads held, G]
// output: out (batch * heads out, rows out, D)
// grid (32 * RPG * ceil(rows out / RPG), batch * heads out, 1)  group (32 * RPG, 1, 1): a row a simdgroup
  constexpr int D = P * M;
  constexpr int PH = P / (1 + SPLIT);        // of what is rotated at once
  constexpr int PB = PH < 32 ? PH : 32;
  constexpr int LOW = BITS + SPLIT;          // bits of the first of two codes
  constexpr int LOWER = D / 2 + M * M + (1 << LOW);
  constexpr int NW = (D * BITS + 31) / 32;
  TQ_SHARED float sm_centroids[1 << LOW];
  TQ_SHARED float sm_lower[SPLIT != 0 ? (1 << BITS) / 2 : 1];
  const uint lane = thread_index_in_simdgroup;
  for (uint i = thread_position_in_threadgroup.x; i < (1u << uint(LOW)); i += uint(32 * RPG))
    sm_centroids[i] = consts[uint(PH * M + M * M) + i];
  if (SPLIT != 0)
    for (uint i = thread_position_in_threadgroup.x; i < (1u << uint(BITS)) / 2u; i += uint(32 * RPG))
      sm_lower[i] = consts[uint(LOWER + D / 2 + M * M) + i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const uint y = threadgroup_position_in_grid.y;
  const uint rows = uint(dims[7]);
  const uint r = threadgroup_position_in_grid.x * uint(RPG) + simdgroup_index_in_threadgroup;
  const uint head = y / uint(dims[9]) * uint(dims[10]) + uint(dims[8]) + y % uint(dims[9]);
  const uint row = uint(dims[6]) + r;
  const uint nf = uint(dims[0]);
  const uint body = uint(dims[2]);
  const ulong to = (ulong(y) * rows + r) * uint(D);
  if (r < rows) {
    if (RAW != 0 && (row < nf || row >= nf + body)) {
      const uint la = lane % uint(PB);
      const ulong from = row < nf ? ulong(head) * uint(dims[1]) + row : ulong(head) * uint(dims[5]) + (row - nf - body);
      TQ_UNROLL for (int part = 0; part < 1 + SPLIT; ++part) {
        const uint constants = uint(part * LOWER);
        float x[PH / PB * M];
        TQ_UNROLL for (int i = 0; i < PH / PB; ++i) {
          TQ_UNROLL for (int b = 0; b < M; ++b) {
            const uint c = tq_coordinate<M>(la, i, b, uint(PB));
            const uint j = SPLIT == 0 ? c : uint(order[head * uint(D) + 2u * c + uint(part)]);
            x[i * M + b] = float(row < nf ? first[from * uint(D) + j] : tail[from * uint(D) + j]) * consts[constants + c];
            if (CAL > 1) x[i * M + b] *= float(channel[head * uint(D) + j]);
          }
        }
        tq_rotate<PH, M>(x, lane, consts + (constants + uint(PH * M)));
        if (lane < uint(PB)) {
          TQ_UNROLL for (int i = 0; i < PH / PB; ++i) {
            TQ_UNROLL for (int b = 0; b < M; ++b)
              out[to + tq_coordinate<M>(la, i, b, uint(PB)) * uint(1 + SPLIT) + uint(part)] = OT(x[i * M + b]);
          }
        }
      }
    } else {
      const uint t = row - nf;
      const ulong from = ulong(head) * uint(dims[3]) + t;
      const float norm = tq_key_norm<SPLIT>(norms[from]);
      const float lower = SPLIT != 0 ? norm * tq_lower_ratio(uint(norms[from])) : 0.0f;
      uint g = 0u;
      if (CAL > 0) {
        uint high = uint(dims[11]);
        while (high - g > 1u) {
          const uint middle = (g + high) / 2u;
          if (uint(starts[middle]) <= t) g = middle; else high = middle;
        }
      }
      for (uint j = lane; j < uint(D); j += 32u) {
        const bool high = SPLIT != 0 && j % 2u != 0u;  // the second of a pair
        const uint bit = SPLIT != 0 ? j / 2u * uint(2 * BITS) + (high ? uint(LOW) : 0u) : j * uint(BITS);
        const uint width = SPLIT == 0 ? uint(BITS) : high ? uint(BITS - 1) : uint(LOW);
        uint c = words[from * uint(NW) + (bit >> 5u)] >> (bit & 31u);
        if ((bit & 31u) + width > 32u) c |= words[from * uint(NW) + (bit >> 5u) + 1u] << (32u - (bit & 31u));
        c &= (1u << width) - 1u;
        float v = high ? lower * sm_lower[SPLIT != 0 ? c : 0u] : norm * sm_centroids[c];
        if (CAL > 0) v += lift[(ulong(head) * uint(dims[11]) + g) * uint(D) + j];
        out[to + j] = OT(v);
      }
    }
  }
