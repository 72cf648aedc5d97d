// The way of matrix units: a simdgroup multiplies 16 tokens by 8 columns of queries. A pair of codes is looked up at once, as
// two float16 numbers; products are summed in float32. KL = 4, VL = 8, TILE = 16, GS = 4 or 8. With GS = 4 the columns hold
// each row twice: its rounded numbers and what rounding left; for split keys the upper and the lower half.
// More constants: KREP, VREP (log2 of the tables' copies: lanes read copies of their own).
// Follows attend_begin.
  constexpr int NT = GS / 4;                 // tokens of a lane's scores
  constexpr int KS = KB == 0 ? 2 : KB;
  constexpr bool SAME = KB == VB && DK == DV && SPLIT == 0;
  constexpr int KTAB = KB == 0 ? 4 : (1 << (2 * KS)) << KREP;
  constexpr int VTAB = SAME ? 0 : (1 << (2 * VB)) << VREP;
  constexpr int SUMS = NSG * GS * DVP;
  constexpr int WP = 24;                     // tokens' places of a column of weights
  TQ_SHARED uint4 sm_pool[((KTAB + VTAB > SUMS ? KTAB + VTAB : SUMS) + 3) / 4];  // the tables, at the end the sums
  TQ_SHARED float sm_q[2 * GS * DKP];        // queries: rotated, then as they are
  TQ_SHARED float sm_top[2 * GS];            // the largest number of each row: rotated, as it is
  TQ_SHARED uint sm_w[NSG * 8 * WP / 2];
  threadgroup uint* ktab = (threadgroup uint*)sm_pool;
  threadgroup uint* vtab = SAME ? ktab : ktab + KTAB;
  const uint row = tq_frag_row(lane);
  const uint col = tq_frag_col(lane);
  const bool up = col >= 2u;
  const uint h1 = GS == 4 ? 2u * (col & 1u) : 2u * col;  // a lane's first row of scores
  const uint own = GS == 4 && up ? row + 8u : row;       // and its first token; the second is 8 further
  const uint kwi = (col * uint(EK * KBITS)) >> 5u;
  const uint ksh = (col * uint(EK * KBITS)) & 31u;
  const uint vwi = (row * uint(EV * VB)) >> 5u;
  const uint vsh = (row * uint(EV * VB)) & 31u;
  const uint klast = KA ? 0u : metal::min(uint(KW - 1), uint(KNW - 1) - kwi);
  const uint vlast = VA ? 0u : metal::min(uint(VW - 1), uint(VNW - 1) - vwi);
  // a tile is read whole: the capacity is a multiple of it, rows beyond the length may hold anything
  uint kw[2 * KW];                           // the next tile is loaded ahead
  uint vw[4 * VW];
  ushort kn[NT];
  ushort vn[NT];
  const uint u0 = t0 + first * 16u;
  const device uint* kp = (const device uint*)kpack + ((kbase + u0 + row) * uint(KNW) + kwi);
  const device uint* vp = vpack + ((vbase + u0 + 2u * col) * uint(VNW) + vwi);
  const device ushort* knp = (const device ushort*)knorm + (kbase + u0 + own);
  const device ushort* vnp = (const device ushort*)vnorm + (vbase + u0 + own);
  if (!raw && first < ntile) {
    TQ_UNROLL for (int i = 0; i < 2; ++i) tq_fetch<KW, KA>(kp + 8 * i * KNW, klast, &kw[i * KW]);
    TQ_UNROLL for (int i = 0; i < 4; ++i) tq_fetch<VW, VA>(vp + (i % 2 + 8 * (i / 2)) * VNW, vlast, &vw[i * VW]);
    TQ_UNROLL for (int j = 0; j < NT; ++j) {
      kn[j] = KB == 0 ? ushort(0) : knp[8 * j];
      vn[j] = vnp[8 * j];
    }
  }
  if (raw && first < ntile) {                // what a tile of raw tokens will need, on its way
    TQ_UNROLL for (int i = 0; i < 4; ++i) {
      const uint t = metal::min(first * 16u + uint(4 * i) + lane / 8u, nraw - 1u);
      const device RT* k = tq_raw<STORE, DK>(fk, tk, nk, t, nf, fbase, tbase, nbase, kept);
      const device RT* v = tq_raw<STORE, DV>(fv, tv, nv, t, nf, fbase, tbase, nbase, kept);
      for (uint d = 32u * (lane % 8u); d < uint(DK); d += 256u) tq_prefetch(k + d);
      for (uint d = 32u * (lane % 8u); d < uint(DV); d += 256u) tq_prefetch(v + d);
    }
  }
  constexpr int KAT_C = KAT + (SPLIT != 0 ? DK / 2 : DK) + KM * KM;  // centroids
  constexpr int KAT_L = SPLIT != 0 ? KAT_C + (2 << KS) + DK / 2 + KM * KM : KAT_C;
  constexpr int VAT_C = VAT + DV + VM * VM;
  if (KB != 0)
    tq_pair_table<SPLIT != 0 ? KS + 1 : KS, 2 * KS, KREP, 32 * NSG>(consts + KAT_C, consts + KAT_L, tid, ktab);
  if (!SAME) tq_pair_table<VB, 2 * VB, VREP, 32 * NSG>(consts + VAT_C, consts + VAT_C, tid, vtab);
  for (uint h = sg; h < uint(GS); h += uint(NSG)) {
    const uint r = kvh * uint(ROWS) + metal::min(h0 + h, uint(ROWS - 1));
    tq_query<KP, KM, EK, KB, SPLIT, CAL>(q + r * uint(DK), scale, consts + KAT, chan + kvh * uint(DK), order + kvh * uint(DK), lane,
                                         sm_q + (uint(GS) + h) * uint(DKP), sm_q + h * uint(DKP), sm_top + 2u * h);
  }
  if (CAL != 0 && idle < IDLE)
    tq_offsets<DK, GS, ROWS, SEGS>(q + kvh * uint(ROWS * DK), h0, starts, offs + ulong(kvh) * uint(dims[7]) * uint(DK), dims[7], int(b0),
                                   int(b1), scale, lane, idle, IDLE, sm_off, sm_start);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const bool plain = raw || KB == 0;
  const uint q0 = plain ? uint(GS) : 0u;
  uint qf[DK / 8];
  TQ_UNROLL for (int i = 0; i < DK / 8; ++i) {
    uint bits = 0u;
    TQ_UNROLL for (int e = 0; e < 2; ++e) {
      const uint column = tq_b_column(lane, uint(e));
      const uint slot = tq_b_slot(lane, uint(e));
      const uint r = q0 + column % uint(GS);
      float x = sm_q[r * uint(DKP) + (slot / 2u) * uint(EK + 1) + uint(2 * i) + slot % 2u] * tq_scale_up(sm_top[2u * (column % uint(GS)) + (plain ? 1u : 0u)]);
      if (GS == 4 && SPLIT != 0 && !plain) {
        x = (column / 4u) == slot % 2u ? x : 0.0f;
      } else if (GS == 4 && column >= 4u) {
        x -= plain ? float(RT(x)) : float(float16_t(x));
      }
      bits |= uint(plain ? as_type<ushort>(RT(x)) : as_type<ushort>(float16_t(x))) << uint(16 * e);
    }
    qf[i] = bits;
  }
  float acc[DV / 4];
  TQ_UNROLL for (int i = 0; i < DV / 4; ++i) acc[i] = 0.0f;
  float ms[2];
  float ls[2];
  float off[2];
  float unit[2];
  int seen[2];                               // a row's place among the L newest tokens
  TQ_UNROLL for (int k = 0; k < 2; ++k) {
    ms[k] = -1.0e30f;
    ls[k] = 0.0f;
    off[k] = 0.0f;
    unit[k] = tq_scale_down(sm_top[2u * (h1 + uint(k)) + (plain ? 1u : 0u)]) * (plain ? scale : 1.0f);
    seen[k] = int((h0 + h1 + uint(k)) % uint(L));
  }
  const tq_pairs kpairs = tq_open_pairs(ktab, lane & ((1u << uint(KREP)) - 1u));
  const tq_pairs vpairs = SAME ? kpairs : tq_open_pairs(vtab, lane & ((1u << uint(VREP)) - 1u));
  int seg = -1;
  int next = CAL != 0 && !raw ? 0 : 0x7fffffff;
  threadgroup ushort* pw = (threadgroup ushort*)sm_w + sg * uint(8 * WP);
  for (uint tile = first; tile < ntile; tile += step) {
    const bool more = tile + step < ntile;
    const uint tb = t0 + tile * 16u;
    float c[8];                              // two sums, so that each product waits for the one before the last
    TQ_UNROLL for (int i = 0; i < 8; ++i) c[i] = 0.0f;
    if (raw) {
      constexpr int C = EK % 8 == 0 ? 4 : 2;  // words of a row at a time
      const device uint* at[2];
      TQ_UNROLL for (int i = 0; i < 2; ++i) {
        const uint t = metal::min(tb + row + uint(8 * i), nraw - 1u);
        at[i] = (const device uint*)(tq_raw<STORE, DK>(fk, tk, nk, t, nf, fbase, tbase, nbase, kept) + col * uint(EK));
      }
      TQ_UNROLL for (int j = 0; j < EK / 2; j += C) {
        uint w[2 * C];
        TQ_UNROLL for (int i = 0; i < 2; ++i) tq_fetch<C, true>(at[i] + j, 0u, &w[C * i]);
        TQ_UNROLL for (int i = 0; i < C; i += 2) tq_mma<RT>(&c[(j + i) / 2 % 2 * 4], w[i], w[C + i], w[i + 1], w[C + i + 1], qf[j + i], qf[j + i + 1]);
      }
    } else {
      tq_align<KW, KA>(&kw[0], ksh);
      tq_align<KW, KA>(&kw[KW], ksh);
      TQ_UNROLL for (int i = 0; i < DK / 16; ++i) {
        if (KB == 0) {
          tq_mma<RT>(&c[i % 2 * 4], kw[2 * i], kw[KW + 2 * i], kw[2 * i + 1], kw[KW + 2 * i + 1], qf[2 * i], qf[2 * i + 1]);
        } else {
          tq_mma<float16_t>(&c[i % 2 * 4], tq_pair<KS, KREP>(kpairs, &kw[0], 2 * i), tq_pair<KS, KREP>(kpairs, &kw[KW], 2 * i),
                            tq_pair<KS, KREP>(kpairs, &kw[0], 2 * i + 1), tq_pair<KS, KREP>(kpairs, &kw[KW], 2 * i + 1), qf[2 * i],
                            qf[2 * i + 1]);
        }
      }
      if (more) {
        kp += step * uint(16 * KNW);
        TQ_UNROLL for (int i = 0; i < 2; ++i) tq_fetch<KW, KA>(kp + 8 * i * KNW, klast, &kw[i * KW]);
      }
    }
    TQ_UNROLL for (int i = 0; i < 4; ++i) c[i] += c[4 + i];
    float s[2 * NT];
    float weight[NT];                      // a token's value norm
    float level[NT];                       // and its logarithm: weights must not leave float16's range
    bool grow = false;
    TQ_UNROLL for (int j = 0; j < NT; ++j) {
      const uint t = tb + own + uint(8 * j);
      const bool live = t < t1;
      weight[j] = raw ? 1.0f : live ? float(as_type<float16_t>(vn[j])) : 0.0f;
      level[j] = raw ? 0.0f : metal::max(tq_log2(weight[j]), -30.0f);
      const uint bits = uint(kn[j]);
      const float key = plain ? 1.0f : SPLIT != 0 ? tq_upper_norm(bits) : float(as_type<float16_t>(ushort(bits)));
      if (CAL != 0) {
        while (int(t) >= next) {
          ++seg;
          next = sm_start[seg + 1];
          TQ_UNROLL for (int k = 0; k < 2; ++k) off[k] = sm_off[uint(seg * GS) + h1 + uint(k)];
        }
      }
      const int at = int(raw ? (t < nf ? t : t + body) : t + nf);  // position in the sequence
      TQ_UNROLL for (int k = 0; k < 2; ++k) {
        float x = c[(2 * j + k) % 4];
        if (GS == 4) {                     // the other half of the columns, of this lane's token
          const float other = simd_shuffle_xor(up ? c[k] : c[2 + k], ushort(TQ_COLUMN_HIGH));
          const float mine = up ? c[2 + k] : c[k];
          const float ratio = SPLIT != 0 && !plain ? tq_lower_ratio(bits) : 1.0f;
          x = up ? metal::fma(ratio, mine, other) : metal::fma(ratio, other, mine);
        }
        x *= key * unit[k];
        if (CAL != 0) x += off[k];
        if (BIAS != 0 && !raw && live) {
          const uint r = metal::min(h0 + h1 + uint(k), uint(ROWS - 1));
          x += bias[(ulong(kvh) * uint(ROWS) + r) * body + t] * scale;
        }
        if (CAP != 0) x = tq_soft_cap(x, consts[1], consts[2]);
        const bool hidden = !live || (L > 1 && at > high + seen[k]) || (WIN == 1 && at < low + seen[k]) ||
                            (WIN == 2 && at < low && at >= int(nf));
        x = hidden ? NEG : x;
        s[2 * j + k] = x;
        grow = grow || x + level[j] > ms[k] + 4.0f;
      }
    }
    if (simd_any(grow)) {                  // rare: the running maximum is renewed only when a weight exceeds it by 2^4
      float co[2];
      TQ_UNROLL for (int k = 0; k < 2; ++k) {
        float x = ms[k];
        TQ_UNROLL for (int j = 0; j < NT; ++j) x = metal::max(x, s[2 * j + k] + level[j]);
        TQ_UNROLL for (int m = 2; m < 32; m <<= 1) {
          if (GS == 4 || m != TQ_COLUMN_HIGH) x = metal::max(x, simd_shuffle_xor(x, ushort(m)));
        }
        co[k] = tq_exp2(ms[k] - x);
        ls[k] *= co[k];
        ms[k] = x;
      }
      TQ_UNROLL for (int i = 0; i < DV / 4; ++i) acc[i] *= co[i % 2];
    }
    TQ_UNROLL for (int j = 0; j < NT; ++j) {
      TQ_UNROLL for (int k = 0; k < 2; ++k) {
        const float p = tq_exp2(s[2 * j + k] - ms[k]);
        ls[k] += p;
        const float w = p * weight[j] * 256.0f;
        const uint at = (h1 + uint(k)) * uint(WP) + own + uint(8 * j);
        pw[at] = raw ? as_type<ushort>(RT(w)) : as_type<ushort>(float16_t(w));
        if (GS == 4) {                     // what rounding left
          const float rest = w - (raw ? float(RT(w)) : float(float16_t(w)));
          pw[at + uint(4 * WP)] = raw ? as_type<ushort>(RT(rest)) : as_type<ushort>(float16_t(rest));
        }
      }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    const uint p0 = tq_b_pair(pw, uint(WP), lane);
    const uint p1 = tq_b_pair(pw + 8, uint(WP), lane);
    if (raw) {
      constexpr int C = EV % 8 == 0 ? 4 : EV % 4 == 0 ? 2 : 1;  // words of a token at a time
      const device uint* at[4];
      TQ_UNROLL for (int i = 0; i < 4; ++i) {
        const uint t = metal::min(tb + 2u * col + uint(i % 2 + 8 * (i / 2)), nraw - 1u);
        at[i] = (const device uint*)(tq_raw<STORE, DV>(fv, tv, nv, t, nf, fbase, tbase, nbase, kept) + row * uint(EV));
      }
      TQ_UNROLL for (int j = 0; j < EV / 2; j += C) {
        uint w[4 * C];
        TQ_UNROLL for (int i = 0; i < 4; ++i) tq_fetch<C, true>(at[i] + j, 0u, &w[C * i]);
        TQ_UNROLL for (int i = 0; i < C; ++i) {
          tq_mma<RT>(&acc[4 * (j + i)], (w[i] & 0xffffu) | (w[C + i] << 16u), (w[i] >> 16u) | (w[C + i] & 0xffff0000u),
                     (w[2 * C + i] & 0xffffu) | (w[3 * C + i] << 16u), (w[2 * C + i] >> 16u) | (w[3 * C + i] & 0xffff0000u), p0, p1);
        }
      }
    } else {
      TQ_UNROLL for (int i = 0; i < 4; ++i) tq_align<VW, VA>(&vw[i * VW], vsh);
      TQ_UNROLL for (int i = 0; i < (EV + 7) / 8; ++i) {  // 8 coordinates of two tokens: codes side by side make pairs
        uint x[4];
        TQ_UNROLL for (int e = 0; e < 2; ++e)
          tq_interleave<VB>(tq_bits<8 * VB, 0>(&vw[2 * e * VW], 8 * VB * i), tq_bits<8 * VB, 0>(&vw[(2 * e + 1) * VW], 8 * VB * i), &x[2 * e]);
        TQ_UNROLL for (int k = 0; k < 4; ++k) {
          if (8 * i + 2 * k < EV)
            tq_mma<float16_t>(&acc[(16 * i + 4 * k) % (DV / 4)], tq_pair<VB, VREP>(vpairs, &x[0], k), tq_pair<VB, VREP>(vpairs, &x[1], k),
                              tq_pair<VB, VREP>(vpairs, &x[2], k), tq_pair<VB, VREP>(vpairs, &x[3], k), p0, p1);
        }
      }
      if (more) {
        vp += step * uint(16 * VNW);
        knp += step * 16u;
        vnp += step * 16u;
        TQ_UNROLL for (int i = 0; i < 4; ++i) tq_fetch<VW, VA>(vp + (i % 2 + 8 * (i / 2)) * VNW, vlast, &vw[i * VW]);
        TQ_UNROLL for (int j = 0; j < NT; ++j) {
          kn[j] = KB == 0 ? ushort(0) : knp[8 * j];
          vn[j] = vnp[8 * j];
        }
      }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
  // sum over the lanes of the simdgroup, then over the simdgroups
  TQ_UNROLL for (int k = 0; k < 2; ++k) {
    TQ_UNROLL for (int m = 2; m < 32; m <<= 1) {
      if (GS == 4 || m != TQ_COLUMN_HIGH) ls[k] += simd_shuffle_xor(ls[k], ushort(m));
    }
    if (row == 0u && !(GS == 4 && up)) {
      sm_m[sg * uint(GS) + h1 + uint(k)] = ms[k];
      sm_l[sg * uint(GS) + h1 + uint(k)] = ls[k];
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  threadgroup float* sums = (threadgroup float*)sm_pool;
  TQ_UNROLL for (int i = 0; i < DV / 16; ++i) {
    TQ_UNROLL for (int k = 0; k < 2; ++k) {
      const uint at = (sg * uint(GS) + h1 + uint(k)) * uint(DVP) + row * uint(EV + 1) + uint(2 * i);
      if (GS == 4) {
        const float other = simd_shuffle_xor(up ? acc[4 * i + k] : acc[4 * i + 2 + k], ushort(TQ_COLUMN_HIGH));
        sums[at + (up ? 1u : 0u)] = ((up ? acc[4 * i + 2 + k] : acc[4 * i + k]) + other) * 0.00390625f;
      } else {
        sums[at] = acc[4 * i + k] * 0.00390625f;
        sums[at + 1u] = acc[4 * i + 2 + k] * 0.00390625f;
      }
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
