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
// Four numbers to consecutive places; 16-bit ones in one store.
template <typename T, typename Out> TQ_FN void tq_store4(Out p, const thread float* v) {
  if constexpr (sizeof(T) == 2) {
    uint2 w;
    w.x = uint(as_type<ushort>(T(v[0]))) | (uint(as_type<ushort>(T(v[1]))) << 16u);
    w.y = uint(as_type<ushort>(T(v[2]))) | (uint(as_type<ushort>(T(v[3]))) << 16u);
    *(device uint2*)p = w;
  } else {
    TQ_UNROLL for (int k = 0; k < 4; ++k) p[k] = T(v[k]);
  }
}
// A row rotated; each half of its channels in `order`, interleaved, where SPLIT, whose lower half's constants lie at LOWER.
// SCALE 1: times the channel scale, 2: over it. CLIP: into float16's range.
template <int P, int M, int SPLIT, int SCALE, int CLIP, int LOWER, typename T, typename X, typename Consts, typename Channel,
          typename Order, typename Out>
TQ_FN void tq_rotate_row(X vector, Consts constants, Channel channel, Order order, uint lane, Out out) {
  constexpr int PH = P / (1 + SPLIT);
  constexpr int PB = PH < 32 ? PH : 32;
  const uint la = lane % uint(PB);
  TQ_UNROLL for (int part = 0; part < 1 + SPLIT; ++part) {
    const uint at = uint(part * LOWER);
    float x[PH / PB * M];
    TQ_UNROLL for (int i = 0; i < PH / PB; ++i) {
      TQ_UNROLL for (int b = 0; b < M; ++b) {
        const uint c = tq_coordinate<M>(la, i, b, uint(PB));
        const uint j = SPLIT == 0 ? c : uint(order[2u * c + uint(part)]);
        x[i * M + b] = float(vector[j]) * constants[at + c];
        if constexpr (SCALE == 1) x[i * M + b] *= float(channel[j]);
        if constexpr (SCALE == 2) x[i * M + b] = tq_divide(x[i * M + b], float(channel[j]));
      }
    }
    tq_rotate<PH, M>(x, lane, constants + (at + uint(PH * M)));
    if (lane < uint(PB)) {
      TQ_UNROLL for (int i = 0; i < PH / PB; ++i) {
        TQ_UNROLL for (int b = 0; b < M; ++b) {
          const float v = CLIP != 0 ? metal::min(metal::max(x[i * M + b], -65504.0f), 65504.0f) : x[i * M + b];
          out[tq_coordinate<M>(la, i, b, uint(PB)) * uint(1 + SPLIT) + uint(part)] = T(v);
        }
      }
    }
  }
}
template <int P, int M, int CLIP, typename T, typename X, typename Consts, typename Out>
TQ_FN void tq_unrotate_row(X vector, Consts constants, uint lane, Out out) {
  constexpr int PB = P < 32 ? P : 32;
  const uint la = lane % uint(PB);
  float x[P / PB * M];
  TQ_UNROLL for (int i = 0; i < P / PB; ++i) {
    TQ_UNROLL for (int b = 0; b < M; ++b) x[i * M + b] = float(vector[tq_coordinate<M>(la, i, b, uint(PB))]);
  }
  tq_unrotate<P, M>(x, lane, constants + P * M);
  if (lane < uint(PB)) {
    TQ_UNROLL for (int i = 0; i < P / PB; ++i) {
      TQ_UNROLL for (int b = 0; b < M; ++b) {
        const uint c = tq_coordinate<M>(la, i, b, uint(PB));
        const float v = x[i * M + b] * constants[c];
        out[c] = T(CLIP != 0 ? metal::min(metal::max(v, -65504.0f), 65504.0f) : v);
      }
    }
  }
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
  float dot[TRIALS];
  float square[TRIALS];
  TQ_UNROLL for (int t = 0; t < TRIALS; ++t) {  // all at once, so that their searches and sums overlap
    const float alpha = trials[t];
    dot[t] = 0.0f;
    square[t] = 0.0f;
    TQ_UNROLL for (int i = 0; i < C; ++i) {
      const float y = centroids[tq_count_below<BITS>(x[i] * alpha, bounds)];
      dot[t] = metal::fma(y, x[i], dot[t]);
      square[t] = metal::fma(y, y, square[t]);
    }
  }
  TQ_UNROLL for (int t = 0; t < TRIALS; ++t) {
    dot[t] = tq_sum<PB>(dot[t]);
    square[t] = tq_sum<PB>(square[t]);
  }
  float best = 0.0f;
  float divisor = 0.0f;
  float scale = 0.0f;
  TQ_UNROLL for (int t = 0; t < TRIALS; ++t) {
    const float cosine = dot[t] * metal::precise::rsqrt(metal::max(square[t], 1.0e-8f));
    if (t == 0 || cosine > best) {
      best = cosine;
      divisor = MATCHED != 0 ? metal::precise::sqrt(square[t]) : dot[t];
      scale = trials[t];
    }
  }
  TQ_UNROLL for (int i = 0; i < C; ++i) codes[i] = tq_count_below<BITS>(x[i] * scale, bounds);
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
// One vector, or its half `half_of` of STEP, to codes in `scratch` (moved up by SHIFT bits and added); returns the norm to be
// stored. `constants`: signs / sqrt(P) (D), Q (M * M), trial scales (8). With CAL, `offset` and (CAL 2) `channel` are the head's.
template <int P, int M, int BITS, int TRIALS, int MATCHED, int CAL, int STEP, int SHIFT, typename X, typename Offset,
          typename Channel, typename Order, typename Consts, typename Table, typename Scratch>
TQ_FN float tq_encode_part(X vector, Offset offset, Channel channel, Order order, uint half_of, uint lane, Consts constants,
                           Table bounds, Table centroids, Scratch scratch) {
  constexpr int PB = P < 32 ? P : 32;
  constexpr int NI = P / PB;
  const uint la = lane % uint(PB);
  float x[NI * M];
  float square = 0.0f;
  TQ_UNROLL for (int i = 0; i < NI; ++i) {
    TQ_UNROLL for (int b = 0; b < M; ++b) {
      const uint c = tq_coordinate<M>(la, i, b, uint(PB));
      const uint j = STEP == 1 ? c : uint(order[c * uint(STEP) + half_of]);
      float v = float(vector[j]);
      if constexpr (CAL > 0) v -= float(offset[j]);
      if constexpr (CAL > 1) v *= float(channel[j]);
      x[i * M + b] = v;
      square = metal::fma(v, v, square);
    }
  }
  const float norm = metal::precise::sqrt(tq_sum<PB>(square));
  const float inverse = 1.0f / metal::max(norm, 1.0e-8f);
  TQ_UNROLL for (int i = 0; i < NI; ++i) {
    TQ_UNROLL for (int b = 0; b < M; ++b) x[i * M + b] *= inverse * constants[tq_coordinate<M>(la, i, b, uint(PB))];
  }
  tq_rotate<P, M>(x, lane, constants + P * M);
  uint c[NI * M];
  const float divisor = tq_quantise<P, M, BITS, TRIALS, MATCHED>(x, c, bounds, centroids, constants + (P * M + M * M));
  TQ_UNROLL for (int i = 0; i < NI; ++i) {
    TQ_UNROLL for (int b = 0; b < M; ++b) {
      const uint at = tq_coordinate<M>(la, i, b, uint(PB));
      scratch[at] = uchar(SHIFT == 0 ? c[i * M + b] : uint(scratch[at]) | (c[i * M + b] << uint(SHIFT)));
    }
  }
  // clamped: half's largest number is 65504, and an infinite norm would spoil the whole vector
  return metal::min(norm / metal::max(divisor, 1.0e-8f), 65504.0f);
}
// A norm as the byte of a split key's: the nearest of 32 steps an octave, 128 for 1.
TQ_FN uint tq_norm_byte(float norm) {
  const float steps = metal::rint(metal::precise::log2(metal::max(norm, 1.0e-30f)) * 32.0f);
  return uint(metal::min(metal::max(int(steps) + 128, 1), 255));
}
// Encodes `rows` vectors, 32 / PB a simdgroup. `scratch`: D bytes a vector of this simdgroup. `offset`, `channel` and (SPLIT)
// `order` are (heads, D): the vectors of `per_head` consecutive rows share one. SPLIT: BITS + 1 and BITS - 1 bits in turn
// (split.py), constants and tables of the upper half, then (LTRIALS) those of the lower.
template <int P, int M, int BITS, int TRIALS, int MATCHED, int CAL, int SPLIT, int LTRIALS, typename X, typename Offset,
          typename Channel, typename Order, typename Consts, typename Table, typename Scratch, typename Words, typename Norms>
TQ_FN void tq_encode(X vectors, Offset offset, Channel channel, Order order, uint per_head, uint rows, uint first, uint lane,
                     Consts constants, Table bounds, Table centroids, Scratch scratch, Words words, Norms norms) {
  constexpr int D = P * M;
  constexpr int PB = P / (1 + SPLIT) < 32 ? P / (1 + SPLIT) : 32;
  constexpr int NW = (D * BITS + 31) / 32;
  const uint la = lane % uint(PB);
  const uint sub = lane / uint(PB);
  const bool live = first + sub < rows;
  const uint row = metal::min(first + sub, rows - 1u);
  const uint head = row / per_head * uint(D);
  Scratch mine = scratch + sub * uint(D);
  if constexpr (SPLIT == 0) {
    const float norm = tq_encode_part<P, M, BITS, TRIALS, MATCHED, CAL, 1, 0>(
        vectors + ulong(row) * uint(D), offset + head, channel + head, order, 0u, lane, constants, bounds, centroids, mine);
    if (live && la == 0u) norms[row] = float16_t(norm);
  } else {
    constexpr int LOWER = D / 2 + M * M + 8 + (4 << BITS);
    const float upper = tq_encode_part<P / 2, M, BITS + 1, TRIALS, MATCHED, CAL, 2, 0>(
        vectors + ulong(row) * uint(D), offset + head, channel + head, order + head, 0u, lane, constants, bounds, centroids, mine);
    const float lower = tq_encode_part<P / 2, M, BITS - 1, LTRIALS, MATCHED, CAL, 2, BITS + 1>(
        vectors + ulong(row) * uint(D), offset + head, channel + head, order + head, 1u, lane, constants + LOWER,
        bounds + (2 << BITS), centroids + (2 << BITS), mine);
    const bool zero = upper == 0.0f && lower == 0.0f;
    if (live && la == 0u) norms[row] = zero ? ushort(0) : ushort((tq_norm_byte(upper) << 8u) | tq_norm_byte(lower));
  }
  simdgroup_barrier(mem_flags::mem_threadgroup);
  if (live) {
    for (uint w = la; w < uint(NW); w += uint(PB))
      words[ulong(row) * uint(NW) + w] = tq_pack_word<D / (1 + SPLIT), BITS * (1 + SPLIT)>(mine, w);
  }
}
// Boundaries and centroids of a codec to threadgroup memory; of a split one the upper half's, then the lower's.
template <int D, int M, int BITS, int SPLIT, typename Consts, typename Table>
TQ_FN void tq_codec_tables(Consts constants, uint tid, uint threads, Table bounds, Table centroids) {
  if constexpr (SPLIT == 0) {
    for (uint i = tid; i < (1u << uint(BITS)); i += threads) {
      bounds[i] = constants[uint(D + M * M + 8) + i];
      centroids[i] = constants[uint(D + M * M + 8 + (1 << BITS)) + i];
    }
  } else {
    tq_codec_tables<D / 2, M, BITS + 1, 0>(constants, tid, threads, bounds, centroids);
    tq_codec_tables<D / 2, M, BITS - 1, 0>(constants + (D / 2 + M * M + 8 + (4 << BITS)), tid, threads, bounds + (2 << BITS),
                                           centroids + (2 << BITS));
  }
}

// A split key's two norms, each 2^((byte - 128) / 32): the upper's (0: a zero vector), and the lower's over it.
TQ_FN float tq_upper_norm(uint bytes) { return bytes < 256u ? 0.0f : tq_exp2(float(int(bytes >> 8u) - 128) * 0.03125f); }
TQ_FN float tq_lower_ratio(uint bytes) { return tq_exp2(float(int(bytes & 255u) - int(bytes >> 8u)) * 0.03125f); }

// A key's norm as it is stored: float16, or (SPLIT) the bytes of the two halves.
template <int SPLIT, typename Norm> TQ_FN float tq_key_norm(Norm stored) {
  if constexpr (SPLIT != 0) return tq_upper_norm(uint(stored));
  return float(stored);
}
template <typename Norm> TQ_FN uint tq_split_norm(Norm stored) { return uint(stored); }
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
// The B bits of packed words that begin at `bit`, moved to bit S; the other bits are rubbish.
template <int B, int S> TQ_FN uint tq_bits(const thread uint* w, int bit) {
  const int i = bit >> 5;
  const int s = bit & 31;
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
      const float2 v = tq_pick2(t, tq_bits<4, 3>(w, 4 * k), 0x78u);
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
    TQ_UNROLL for (int e = 0; e < E; ++e) c[e] = tq_pick(t, tq_bits<B, 2>(w, B * e), ((1u << uint(B)) - 1u) << 2u);
  }
}
// E coordinates of a split key, over the upper half's norm; `ratio` is the lower half's norm over it.
template <int E, int B> TQ_FN void tq_unpack_split(const thread uint* w, tq_table upper, tq_table lower, float ratio, thread float* c) {
  TQ_UNROLL for (int k = 0; k < E / 2; ++k) {
    c[2 * k] = tq_pick(upper, tq_bits<B + 1, 2>(w, 2 * B * k), ((2u << uint(B)) - 1u) << 2u);
    c[2 * k + 1] = ratio * tq_pick(lower, tq_bits<B - 1, 2>(w, 2 * B * k + B + 1), ((1u << uint(B - 1)) - 1u) << 2u);
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
