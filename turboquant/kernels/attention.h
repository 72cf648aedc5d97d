// Helpers of the attention kernels, for Metal and CUDA.

// Where coordinate d lies in threadgroup memory: a lane's E coordinates and an unused place.
template <int E> TQ_FN uint tq_padded(uint d) { return (d / uint(E)) * uint(E + 1) + d % uint(E); }

// One query row, or its half `half_of` of STEP, rotated as packed keys are; returns a lane's largest number. constants: signs /
// sqrt(P), Q.
template <int P, int M, int E, int CAL, int STEP, typename Q, typename Consts, typename Chan, typename Order>
TQ_FN float tq_query_part(Q q, float scale, Consts constants, Chan chan, Order order, uint half_of, uint lane,
                         threadgroup float* rotated) {
  constexpr int PB = P < 32 ? P : 32;
  const uint la = lane % uint(PB);
  float x[P / PB * M];
  TQ_UNROLL for (int i = 0; i < P / PB; ++i) {
    TQ_UNROLL for (int b = 0; b < M; ++b) {
      const uint c = tq_coordinate<M>(la, i, b, uint(PB));
      const uint j = STEP == 1 ? c : uint(order[c * uint(STEP) + half_of]);
      x[i * M + b] = float(q[j]) * scale * constants[c];
      if constexpr (CAL > 1) x[i * M + b] = tq_divide(x[i * M + b], float(chan[j]));
    }
  }
  tq_rotate<P, M>(x, lane, constants + P * M);
  float most = 0.0f;
  TQ_UNROLL for (int i = 0; i < P / PB; ++i) {
    TQ_UNROLL for (int b = 0; b < M; ++b) {
      most = metal::max(most, metal::fabs(x[i * M + b]));
      if (lane < uint(PB)) rotated[tq_padded<E>(tq_coordinate<M>(la, i, b, uint(PB)) * uint(STEP) + half_of)] = x[i * M + b];
    }
  }
  return most;
}
// A query row to `plain`, as it is, and to `rotated`: times `scale`, over the channel scale, rotated; for raw keys a copy. The
// largest number of each goes to tops[1] and tops[0].
template <int P, int M, int E, int KB, int SPLIT, int CAL, typename Q, typename Consts, typename Chan, typename Order>
TQ_FN void tq_query(Q q, float scale, Consts constants, Chan chan, Order order, uint lane, threadgroup float* plain,
                    threadgroup float* rotated, threadgroup float* tops) {
  constexpr int D = P * M;
  float most = 0.0f;
  float turned = 0.0f;
  TQ_UNROLL for (int i = 0; i < (D + 31) / 32; ++i) {
    const uint d = uint(32 * i) + lane;
    if (D % 32 == 0 || d < uint(D)) {
      const float x = float(q[d]);
      most = metal::max(most, metal::fabs(x));
      plain[tq_padded<E>(d)] = x;
      if constexpr (KB == 0) rotated[tq_padded<E>(d)] = x;
    }
  }
  if constexpr (KB != 0 && SPLIT == 0)
    turned = tq_query_part<P, M, E, CAL, 1>(q, scale, constants, chan, order, 0u, lane, rotated);
  if constexpr (KB != 0 && SPLIT != 0) {
    constexpr int LOWER = D / 2 + M * M + (2 << KB);
    turned = tq_query_part<P / 2, M, E, CAL, 2>(q, scale, constants, chan, order, 0u, lane, rotated);
    turned = metal::max(turned, tq_query_part<P / 2, M, E, CAL, 2>(q, scale, constants + LOWER, chan, order, 1u, lane, rotated));
  }
  most = simd_max(most);
  turned = simd_max(turned);
  if (lane == 0u) {
    tops[0] = turned;
    tops[1] = most;
  }
}
// Segments that rows b0..b1 meet: where each begins, and its offset times each query row (of ROWS, from `first_row` on). Shared
// out among `workers` simdgroups.
template <int D, int GS, int ROWS, int SEGS, typename Q, typename Starts, typename Offsets>
TQ_FN void tq_offsets(Q q, uint first_row, Starts starts, Offsets offsets, int held, int b0, int b1, float scale, uint lane,
                      uint worker, uint workers, threadgroup float* dots, threadgroup int* begins) {
  int before = 0;
  int until = 0;
  for (int i = int(lane); i < held; i += 32) {
    before += starts[i] <= b0 ? 1 : 0;
    until += starts[i] < b1 ? 1 : 0;
  }
  const uint s0 = uint(metal::max(simd_sum(before) - 1, 0));
  const uint s1 = uint(simd_sum(until));
  const uint count = s1 > s0 ? metal::min(s1 - s0, uint(SEGS)) : 0u;
  for (uint i = worker; i < count; i += workers) {
    float dot[GS];
    TQ_UNROLL for (int h = 0; h < GS; ++h) dot[h] = 0.0f;
    TQ_UNROLL for (int k = 0; k < (D + 31) / 32; ++k) {
      const uint d = uint(32 * k) + lane;
      if (D % 32 == 0 || d < uint(D)) {
        const float mu = float(offsets[(s0 + i) * uint(D) + d]);
        TQ_UNROLL for (int h = 0; h < GS; ++h)
          dot[h] = metal::fma(mu, float(q[metal::min(first_row + uint(h), uint(ROWS - 1)) * uint(D) + d]), dot[h]);
      }
    }
    TQ_UNROLL for (int h = 0; h < GS; ++h) {
      dot[h] = simd_sum(dot[h]);
      if (lane == 0u) dots[i * uint(GS) + uint(h)] = dot[h] * scale;
    }
    if (lane == 0u) begins[i] = starts[s0 + i];
  }
  if (lane == 0u && worker == 0u) begins[count] = 0x7fffffff;
}
TQ_FN float tq_soft_cap(float s, float cap, float twice_over_cap) {  // all in units of log2(e)
  return cap - 2.0f * cap / (1.0f + tq_exp2(metal::min(s * twice_over_cap, 80.0f)));
}

// Raw row i of a kv head, one of D numbers: a first token, a row of the tail, or (STORE: from `kept` on) one that isn't in it yet.
template <int STORE, int D, typename Rows>
TQ_FN Rows tq_raw(Rows first, Rows tail, Rows fresh, uint i, uint nf, ulong fbase, ulong tbase, ulong nbase, uint kept) {
  if (i < nf) return first + (fbase + i) * ulong(D);
  const uint t = i - nf;
  if (STORE != 0 && t >= kept) return fresh + (nbase + (t - kept)) * ulong(D);
  return tail + (tbase + t) * ulong(D);
}
// A share of the tail of `cap` rows, its rows from `kept` on the `rows` fresh ones, to an array of its own. 16 bytes at a time.
template <int D, typename Rows, typename Out>
TQ_FN void tq_store_tail(Rows tail, Rows fresh, Out out, uint kvh, uint cap, uint kept, uint rows, uint at, uint step) {
  constexpr uint PER_ROW = uint(D / 8);
  for (uint i = at; i < cap * PER_ROW; i += step) {
    const uint row = i / PER_ROW;
    const ulong from = row >= kept && row < kept + rows ? ulong(kvh) * rows + (row - kept) : ulong(kvh) * cap + row;
    const Rows source = (row >= kept && row < kept + rows ? fresh : tail) + from * ulong(D);
    *((device uint4*)(out + ulong(kvh) * cap * ulong(D)) + i) = *((const device uint4*)source + i % PER_ROW);
  }
}

// A lane's part of the scores of G query rows, q[h * E + e], for one token's coordinates c.
template <int E, int G> TQ_FN void tq_scores(const thread float* q, const thread float* c, thread float* s) {
  TQ_UNROLL for (int e = 0; e < E; ++e) {
    TQ_UNROLL for (int h = 0; h < G; ++h) s[h] = e == 0 ? q[h * E] * c[0] : metal::fma(q[h * E + e], c[e], s[h]);
  }
}
template <int E, int G> TQ_FN void tq_accumulate(const thread float* p, const thread float* c, thread float* acc) {
  TQ_UNROLL for (int e = 0; e < E; ++e) {
    TQ_UNROLL for (int h = 0; h < G; ++h) acc[h * E + e] = metal::fma(p[h], c[e], acc[h * E + e]);
  }
}

// ---- sums over the lanes of a token ----
// Sums over LPT lanes, scattered over them. v[n * G + h], n < N, h < G. First HB halvings of the heads by the lanes'
// high bits: slot h of a lane holds head h ^ (lane's high bits), so that no selection is needed. Then of the tokens.
template <int N, int G, int C, int M, int HB> TQ_FN void tq_scatter_heads(thread float* v) {
  if constexpr (HB > 0) {
    TQ_UNROLL for (int n = 0; n < N; ++n) {
      TQ_UNROLL for (int h = 0; h < C / 2; ++h) v[n * G + h] += simd_shuffle_xor(v[n * G + h + C / 2], ushort(M));
    }
    tq_scatter_heads<N, G, C / 2, M / 2, HB - 1>(v);
  }
}
template <int N, int G, int C, int M> TQ_FN void tq_scatter_tokens(thread float* v, uint lane) {
  if constexpr (M > 0) {
    const bool up = (lane & uint(M)) != 0u;
    TQ_UNROLL for (int n = 0; n < N / 2; ++n) {
      TQ_UNROLL for (int h = 0; h < C; ++h) {
        const float give = up ? v[n * G + h] : v[(n + N / 2) * G + h];
        const float keep = up ? v[(n + N / 2) * G + h] : v[n * G + h];
        v[n * G + h] = keep + simd_shuffle_xor(give, ushort(M));
      }
    }
    tq_scatter_tokens<N / 2, G, C, M / 2>(v, lane);
  }
}
// C values in each of the lanes that differ in the bits HI..LO: sums scattered, C * LO / (2 * HI) values stay in a lane.
template <int C, int HI, int LO> TQ_FN void tq_reduce_scatter(thread float* v, uint lane) {
  if constexpr (HI >= LO) {
    const bool up = (lane & uint(HI)) != 0u;
    TQ_UNROLL for (int i = 0; i < C / 2; ++i) {
      const float give = up ? v[i] : v[i + C / 2];
      const float keep = up ? v[i + C / 2] : v[i];
      v[i] = keep + simd_shuffle_xor(give, ushort(HI));
    }
    tq_reduce_scatter<C / 2, HI / 2, LO>(v, lane);
  }
}

// ---- matrix units: pairs of codes are looked up as two float16 numbers ----
// The table of pairs: entry i holds first[i's low LOW bits] and second[the others], in 1 << REP copies side by side, which
// neighbouring threads write in different order: no bank conflicts.
template <int LOW, int BITS, int REP, int THREADS, typename Consts>
TQ_FN void tq_pair_table(Consts first, Consts second, uint tid, threadgroup uint* table) {
  for (uint e = tid; e < (1u << uint(BITS)); e += uint(THREADS)) {
    const float low = first[e & ((1u << uint(LOW)) - 1u)];
    const float high = second[e >> uint(LOW)];
    uint4 v;
    v.x = uint(as_type<ushort>(float16_t(low))) | (uint(as_type<ushort>(float16_t(high))) << 16u);
    v.y = v.x;
    v.z = v.x;
    v.w = v.x;
    TQ_UNROLL for (int k = 0; k < (1 << REP) / 4; ++k)
      *((threadgroup uint4*)(table + (e << uint(REP))) + ((uint(k) + e) & ((1u << uint(REP - 2)) - 1u))) = v;
  }
}
// Pair i of packed words, two codes of B bits in the mean.
template <int B, int REP> TQ_FN uint tq_pair(tq_pairs table, const thread uint* w, int i) {
  if constexpr (B == 4) return tq_load_pair(table, tq_byte(w[i / 4], uint(i % 4)) * (4u << uint(REP)));
  constexpr uint MASK = ((1u << uint(2 * B)) - 1u) << uint(REP + 2);
  return tq_load_pair(table, tq_bits<2 * B, REP + 2>(w, 2 * B * i) & MASK);
}
// Codes of B bits of two tokens, 8 of each: pairs of the even ones to x[0], of the odd ones to x[1].
template <int B> TQ_FN void tq_interleave(uint a, uint b, thread uint* x) {
  constexpr uint EVEN = B == 2 ? 0x33333333u : B == 3 ? 0x071c71c7u : 0x0f0f0f0fu;
  const uint up = b << uint(B);
  x[0] = up ^ ((up ^ a) & EVEN);             // a where EVEN, else up
  x[1] = b ^ ((b ^ (a >> uint(B))) & EVEN);
}
// A power of two that brings numbers up to `most` below 512, and its reciprocal.
TQ_FN float tq_scale_up(float most) { return as_type<float>(0x7f000000u - (as_type<uint>(most) & 0x7f800000u)) * 256.0f; }
TQ_FN float tq_scale_down(float most) { return as_type<float>(as_type<uint>(most) & 0x7f800000u) * 0.00390625f; }
