// Helpers of every kernel, for Metal and CUDA. Pointers carry an address space or are template parameters, because MLX
// passes an input of fewer than 8 elements as `constant` and a larger one as `device`.

// ---- the rotation R = (H (x) Q) diag(signs) of D = P * M coordinates, P a power of two, M odd, in one simdgroup ----
// Lane la = lane % PB holds coordinate (i * PB + la) * M + b in x[i * M + b], with PB = min(P, 32). With P < 32 the
// simdgroup holds 32 / PB vectors (or as many copies of one). H isn't normalised: the caller's signs carry 1 / sqrt(P).
template <int M> TQ_FN uint tq_coordinate(uint la, int i, int b, uint lanes) {
  return (uint(i) * lanes + la) * uint(M) + uint(b);
}
template <int P, int M> TQ_FN void tq_hadamard(thread float* x, uint lane) {
  constexpr int PB = P < 32 ? P : 32;
  constexpr int NI = P / PB;
  TQ_UNROLL for (int m = 1; m < PB; m <<= 1) {
    TQ_UNROLL for (int i = 0; i < NI * M; ++i) {
      const float y = simd_shuffle_xor(x[i], ushort(m));
      x[i] = (lane & uint(m)) ? y - x[i] : x[i] + y;
    }
  }
  TQ_UNROLL for (int m = 1; m < NI; m <<= 1) {
    TQ_UNROLL for (int i = 0; i < NI; ++i) {
      if ((i & m) == 0) {
        TQ_UNROLL for (int b = 0; b < M; ++b) {
          const float u = x[i * M + b];
          const float v = x[(i + m) * M + b];
          x[i * M + b] = u + v;
          x[(i + m) * M + b] = u - v;
        }
      }
    }
  }
}
// x = Q x over each run of M coordinates; T: x = transpose(Q) x. mixer points at Q, row by row.
template <int P, int M, bool T, typename Mixer> TQ_FN void tq_mix(thread float* x, Mixer mixer) {
  if constexpr (M > 1) {
    TQ_UNROLL for (int i = 0; i < P / (P < 32 ? P : 32); ++i) {
      float y[M];
      TQ_UNROLL for (int r = 0; r < M; ++r) {
        y[r] = 0.0f;
        TQ_UNROLL for (int c = 0; c < M; ++c) y[r] = metal::fma(mixer[T ? c * M + r : r * M + c], x[i * M + c], y[r]);
      }
      TQ_UNROLL for (int r = 0; r < M; ++r) x[i * M + r] = y[r];
    }
  }
}
template <int P, int M, typename Mixer> TQ_FN void tq_rotate(thread float* x, uint lane, Mixer mixer) {
  tq_mix<P, M, false>(x, mixer);
  tq_hadamard<P, M>(x, lane);
}
template <int P, int M, typename Mixer> TQ_FN void tq_unrotate(thread float* x, uint lane, Mixer mixer) {
  tq_hadamard<P, M>(x, lane);
  tq_mix<P, M, true>(x, mixer);
}
// Sum over the PB lanes that hold one vector.
template <int PB> TQ_FN float tq_sum(float x) {
  if constexpr (PB == 32) {
    return simd_sum(x);
  } else {
    TQ_UNROLL for (int m = 1; m < PB; m <<= 1) x += simd_shuffle_xor(x, ushort(m));
    return x;
  }
}
TQ_FN float tq_soft_cap(float s, float cap, float twice_over_cap) {  // all in units of log2(e)
  return cap - 2.0f * cap / (1.0f + tq_exp2(metal::min(s * twice_over_cap, 80.0f)));
}

// ---- encoding: one part (keys or values) of one vector a PB lanes ----
// Number of boundaries below x, by binary search.
template <int BITS, typename Table> TQ_FN uint tq_count_below(float x, Table bounds) {
  uint at = 0u;
  TQ_UNROLL for (int b = BITS - 1; b >= 0; --b) {
    if (x > bounds[at + (1u << uint(b)) - 1u]) at += 1u << uint(b);
  }
  return at;
}
// x: a rotated unit vector's share. Codes of the best of TRIALS scales (by cosine; a later one must be strictly
// better) go to `codes`; returns <c, x> or, MATCHED, |c|: what the vector's norm is to be divided by.
template <int P, int M, int BITS, int TRIALS, int MATCHED, typename Table, typename Scales>
TQ_FN float tq_quantise(const thread float* x, thread uint* codes, Table bounds, Table centroids, Scales trials) {
  constexpr int PB = P < 32 ? P : 32;
  constexpr int C = P / PB * M;
  float best = 0.0f;
  float divisor = 0.0f;
  for (int t = 0; t < TRIALS; ++t) {
    const float alpha = trials[t];
    uint c[C];
    float dot = 0.0f;
    float square = 0.0f;
    TQ_UNROLL for (int i = 0; i < C; ++i) {
      c[i] = tq_count_below<BITS>(x[i] * alpha, bounds);
      const float y = centroids[c[i]];
      dot = metal::fma(y, x[i], dot);
      square = metal::fma(y, y, square);
    }
    dot = tq_sum<PB>(dot);
    square = tq_sum<PB>(square);
    const float cosine = dot * metal::precise::rsqrt(metal::max(square, 1.0e-8f));
    if (t == 0 || cosine > best) {
      best = cosine;
      divisor = MATCHED != 0 ? metal::precise::sqrt(square) : dot;
      TQ_UNROLL for (int i = 0; i < C; ++i) codes[i] = c[i];
    }
  }
  return divisor;
}
// Word w of a vector's codes, LSB first, a code over two words where it doesn't fit.
template <int D, int BITS, typename Codes> TQ_FN uint tq_pack_word(Codes codes, uint w) {
  const int low = 32 * int(w);
  uint word = 0u;
  for (int i = low / BITS; i < D && i * BITS < low + 32; ++i) {
    const int shift = i * BITS - low;
    const uint c = uint(codes[i]);
    word |= shift >= 0 ? c << uint(shift) : c >> uint(-shift);
  }
  return word;
}
// Encodes `rows` vectors, 32 / PB a simdgroup. `constants`: signs / sqrt(P) (D), Q (M * M), trial scales (8).
// `scratch`: D bytes a vector of this simdgroup. With CAL, `offset` and (CAL 2) `channel` are (heads, D): the vectors
// of `per_head` consecutive rows share one.
template <int P, int M, int BITS, int TRIALS, int MATCHED, int CAL, typename X, typename Offset, typename Channel,
          typename Consts, typename Table, typename Scratch, typename Words, typename Norms>
TQ_FN void tq_encode(X x_in, Offset offset, Channel channel, uint per_head, uint rows, uint first, uint lane, Consts constants,
                     Table bounds, Table centroids, Scratch scratch, Words words, Norms norms) {
  constexpr int D = P * M;
  constexpr int PB = P < 32 ? P : 32;
  constexpr int NI = P / PB;
  constexpr int NW = (D * BITS + 31) / 32;
  const uint la = lane % uint(PB);
  const uint sub = lane / uint(PB);
  const bool live = first + sub < rows;
  const uint row = metal::min(first + sub, rows - 1u);
  float x[NI * M];
  float square = 0.0f;
  TQ_UNROLL for (int i = 0; i < NI; ++i) {
    TQ_UNROLL for (int b = 0; b < M; ++b) {
      const uint j = tq_coordinate<M>(la, i, b, uint(PB));
      float v = float(x_in[ulong(row) * uint(D) + j]);
      if constexpr (CAL > 0) v -= float(offset[row / per_head * uint(D) + j]);
      if constexpr (CAL > 1) v *= float(channel[row / per_head * uint(D) + j]);
      x[i * M + b] = v;
      square = metal::fma(v, v, square);
    }
  }
  const float norm = metal::precise::sqrt(tq_sum<PB>(square));
  const float inverse = 1.0f / metal::max(norm, 1.0e-8f);
  TQ_UNROLL for (int i = 0; i < NI; ++i) {
    TQ_UNROLL for (int b = 0; b < M; ++b) x[i * M + b] *= inverse * constants[tq_coordinate<M>(la, i, b, uint(PB))];
  }
  tq_rotate<P, M>(x, lane, constants + D);
  uint c[NI * M];
  const float divisor = tq_quantise<P, M, BITS, TRIALS, MATCHED>(x, c, bounds, centroids, constants + (D + M * M));
  TQ_UNROLL for (int i = 0; i < NI; ++i) {
    TQ_UNROLL for (int b = 0; b < M; ++b) {
      scratch[sub * uint(D) + tq_coordinate<M>(la, i, b, uint(PB))] = uchar(c[i * M + b]);
    }
  }
  simdgroup_barrier(mem_flags::mem_threadgroup);
  if (live) {
    for (uint w = la; w < uint(NW); w += uint(PB)) {
      words[ulong(row) * uint(NW) + w] = tq_pack_word<D, BITS>(scratch + sub * uint(D), w);
    }
    // clamped: half's largest number is 65504, and an infinite norm would spoil the whole vector
    if (la == 0u) norms[row] = float16_t(metal::min(norm / metal::max(divisor, 1.0e-8f), 65504.0f));
  }
}

// ---- decoding: a lane's E coordinates of a row, which begin at bit `shift` of the word that p points at ----
// W words; 64- and 128-bit loads where every lane's share is whole words (A). `last` keeps a lane inside its row.
template <int W, bool A, typename Words> TQ_FN void tq_fetch(Words p, uint last, thread uint* w) {
  if constexpr (A && W % 4 == 0) {
    TQ_UNROLL for (int i = 0; i < W / 4; ++i) {
      const uint4 v = *((const device uint4*)p + i);
      w[4 * i] = v.x;
      w[4 * i + 1] = v.y;
      w[4 * i + 2] = v.z;
      w[4 * i + 3] = v.w;
    }
  } else if constexpr (A && W % 2 == 0) {
    TQ_UNROLL for (int i = 0; i < W / 2; ++i) {
      const uint2 v = *((const device uint2*)p + i);
      w[2 * i] = v.x;
      w[2 * i + 1] = v.y;
    }
  } else {
    TQ_UNROLL for (int i = 0; i < W; ++i) w[i] = A || i < W - 1 ? p[i] : p[last];
  }
}
template <int W, bool A> TQ_FN void tq_align(thread uint* w, uint shift) {
  if constexpr (!A) {
    TQ_UNROLL for (int i = 0; i < W - 1; ++i) w[i] = (w[i] >> shift) | ((w[i + 1] << 1u) << (31u - shift));
  }
}
// Code e of packed words, moved to bit S; the other bits are rubbish.
template <int B, int S> TQ_FN uint tq_code(const thread uint* w, int e) {
  const int i = (e * B) >> 5;
  const int s = (e * B) & 31;
  if (s + B > 32) return ((w[i] >> uint(s)) | (w[i + 1] << uint((32 - s) & 31))) << uint(S);
  return s >= S ? w[i] >> uint((s - S) & 31) : w[i] << uint((S - s) & 31);
}
// E 16-bit floats of type R out of words.
template <int E, typename R> TQ_FN void tq_unpack_raw(const thread uint* w, thread float* c) {
  TQ_UNROLL for (int e = 0; e < E; ++e) c[e] = float(as_type<R>(ushort((e & 1) ? w[e / 2] >> 16u : w[e / 2] & 0xffffu)));
}
// E centroids (B bits) or raw 16-bit floats (B = 0). At 2 bits the table holds pairs: tq_table_entry.
template <int E, int B, typename R> TQ_FN void tq_unpack(const thread uint* w, tq_table t, thread float* c) {
  if constexpr (B == 0) {
    tq_unpack_raw<E, R>(w, c);
  } else if constexpr (B == 2 && E % 2 == 0) {
    TQ_UNROLL for (int k = 0; k < E / 2; ++k) {
      const float2 v = tq_pick2(t, tq_code<4, 3>(w, k), 0x78u);
      c[2 * k] = v.x;
      c[2 * k + 1] = v.y;
    }
  } else if constexpr (B == 4 && E % 8 == 0) {
    TQ_UNROLL for (int i = 0; i < E / 8; ++i) {
      const uint a = (w[i] << 2u) & 0x3C3C3C3Cu;
      const uint b = (w[i] >> 2u) & 0x3C3C3C3Cu;
      TQ_UNROLL for (int k = 0; k < 4; ++k) {
        c[8 * i + 2 * k] = tq_pick_byte(t, a, uint(k));
        c[8 * i + 2 * k + 1] = tq_pick_byte(t, b, uint(k));
      }
    }
  } else {
    TQ_UNROLL for (int e = 0; e < E; ++e) c[e] = tq_pick(t, tq_code<B, 2>(w, e), ((1u << uint(B)) - 1u) << 2u);
  }
}
// Which centroid belongs at entry i of the table that tq_unpack<E, B> reads.
template <int E, int B> TQ_FN uint tq_table_entry(uint i) {
  if constexpr (B == 2 && E % 2 == 0) return (i & 1u) ? i >> 3u : (i >> 1u) & 3u;
  return i;
}
// E consecutive coordinates of a raw row (16-bit floats of type R).
template <int E, typename R, typename Raw> TQ_FN void tq_raw_row(Raw p, thread float* c) {
  if constexpr (E % 2 == 0) {
    uint w[E / 2];
    tq_fetch<E / 2, true>((const device uint*)p, 0u, w);
    tq_unpack_raw<E, R>(w, c);
  } else {
    TQ_UNROLL for (int e = 0; e < E; ++e) c[e] = float(p[e]);
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
