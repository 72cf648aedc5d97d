// The way of all widths and head dims: KL = VL lanes hold a token, N tokens a lane, every product in float32.
// Follows attend_begin.
  constexpr int TPS = 32 / KL;               // tokens side by side
  constexpr int N = TILE / TPS;              // tokens of a lane
  constexpr int S = N * GS;
  constexpr int HB = (GS & (GS - 1)) != 0 ? 0 : GS >= 4 && KL >= 4 ? 2 : GS >= 2 && KL >= 2 ? 1 : 0;  // halvings of the rows
  constexpr int LN = KL >> HB;               // lanes of a row
  constexpr int SH = GS >> HB;               // rows of a lane's scores
  constexpr int NN = N / LN;                 // tokens of a lane's scores
  constexpr bool SAME = KB == VB && DK == DV && SPLIT == 0;  // one table serves both: a codebook belongs to a dimension and a width
  constexpr int KTN = KB == 0 ? 2 : SPLIT != 0 ? 2 << KB : KB == 2 && EK % 2 == 0 ? 32 : (1 << KB);
  constexpr int LTN = SPLIT != 0 ? (1 << KB) / 2 : 2;        // the lower half's
  constexpr int VTN = SAME ? 2 : VB == 2 && EV % 2 == 0 ? 32 : (1 << VB);
  constexpr int SMK = 2 * GS * DKP;
  constexpr int SMV = NSG * GS * DVP;
  TQ_TABLE float2 sm_kt[KTN / 2];
  TQ_TABLE float2 sm_lt[LTN / 2];
  TQ_TABLE float2 sm_vt[VTN / 2];
  TQ_SHARED float sm_top[2 * GS];            // unused here
  TQ_SHARED float4 sm_p4[NSG * TILE * GS / 4 + 1];
  TQ_SHARED float sm[SMK > SMV ? SMK : SMV];  // first the queries: rotated, then as they are; at the end the sums
  const uint l = lane % uint(KL);
  const uint g = lane / uint(KL);
  const uint kwi = (l * uint(EK * KBITS)) >> 5u;
  const uint ksh = (l * uint(EK * KBITS)) & 31u;
  const uint vwi = (l * uint(EV * VB)) >> 5u;
  const uint vsh = (l * uint(EV * VB)) & 31u;
  // a tile is read whole: the capacity is a multiple of it, rows beyond the length may hold anything
  const uint klast = KA ? 0u : metal::min(uint(KW - 1), uint(KNW - 1) - kwi);
  const uint vlast = VA ? 0u : metal::min(uint(VW - 1), uint(VNW - 1) - vwi);
  const uint hl = l / uint(LN);              // lane's first row / SH
  const uint no = (l % uint(LN)) * uint(NN); // lane's first token in its group's N
  uint kw[N * KW];                           // the next tile is loaded ahead
  uint vw[N * VW];
  float kn[NN];
  float vn[NN];
  float kr[SPLIT != 0 ? N : 1];              // the lower half's norm over the upper's
  const uint u0 = t0 + first * uint(TILE) + g * uint(N);
  const device uint* kp = (const device uint*)kpack + ((kbase + u0) * uint(KNW) + kwi);
  const device uint* vp = vpack + ((vbase + u0) * uint(VNW) + vwi);
  TQ_UNROLL for (int j = 0; j < NN; ++j) {
    kn[j] = raw || KB == 0 ? scale : 1.0f;
    vn[j] = 1.0f;
  }
  if (!raw && first < ntile) {
    TQ_UNROLL for (int n = 0; n < N; ++n) {
      tq_fetch<KW, KA>(kp + n * KNW, klast, &kw[n * KW]);
      tq_fetch<VW, VA>(vp + n * VNW, vlast, &vw[n * VW]);
      if (SPLIT != 0) kr[SPLIT != 0 ? n : 0] = tq_lower_ratio(tq_split_norm(knorm[kbase + u0 + uint(n)]));
    }
    TQ_UNROLL for (int j = 0; j < NN; ++j) {
      if (KB != 0) kn[j] = tq_key_norm<SPLIT>(knorm[kbase + u0 + no + uint(j)]);
      vn[j] = float(vnorm[vbase + u0 + no + uint(j)]);
    }
  }
  threadgroup float* kt = (threadgroup float*)sm_kt;
  threadgroup float* lt = (threadgroup float*)sm_lt;
  threadgroup float* vt = SAME ? kt : (threadgroup float*)sm_vt;
  constexpr int KAT_C = KAT + (SPLIT != 0 ? DK / 2 : DK) + KM * KM;  // centroids
  if (SPLIT != 0) {
    for (uint i = tid; i < uint(KTN); i += uint(32 * NSG)) kt[i] = consts[uint(KAT_C) + i];
    for (uint i = tid; i < uint(LTN); i += uint(32 * NSG)) lt[i] = consts[uint(KAT_C + KTN + DK / 2 + KM * KM) + i];
  } else if (KB != 0) {
    for (uint i = tid; i < uint(KTN); i += uint(32 * NSG)) kt[i] = consts[uint(KAT_C) + tq_table_entry<EK, KB>(i)];
  }
  if (!SAME)
    for (uint i = tid; i < uint(VTN); i += uint(32 * NSG)) vt[i] = consts[uint(VAT + DV + VM * VM) + tq_table_entry<EV, VB>(i)];
  for (uint h = sg; h < uint(GS); h += uint(NSG)) {
    const uint row = kvh * uint(ROWS) + metal::min(h0 + h, uint(ROWS - 1));
    tq_query<KP, KM, EK, KB, SPLIT, CAL>(q + row * uint(DK), scale, consts + KAT, chan + kvh * uint(DK), order + kvh * uint(DK),
                                         lane, sm + (uint(GS) + h) * uint(DKP), sm + h * uint(DKP), sm_top + 2u * h);
  }
  if (CAL != 0 && idle < IDLE)
    tq_offsets<DK, GS, ROWS, SEGS>(q + kvh * uint(ROWS * DK), h0, starts, offs + ulong(kvh) * uint(dims[7]) * uint(DK), dims[7], int(b0),
                                   int(b1), scale, lane, idle, IDLE, sm_off, sm_start);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const tq_table ktab = tq_open(kt);
  const tq_table ltab = tq_open(lt);
  const tq_table vtab = tq_open(vt);
  float qv[GS * EK];
  float acc[GS * EV];
  const uint qrow = raw ? uint(GS) : 0u;
  TQ_UNROLL for (int h = 0; h < GS; ++h) {
    TQ_UNROLL for (int e = 0; e < EK; ++e)
      qv[h * EK + e] = sm[(qrow + (HB > 0 ? uint(h) ^ (hl * uint(SH)) : uint(h))) * uint(DKP) + l * uint(EK + 1) + uint(e)];
    TQ_UNROLL for (int e = 0; e < EV; ++e) acc[h * EV + e] = 0.0f;
  }
  float ms[SH];
  float ls[SH];
  float off[SH];
  int seen[SH];                              // a row's place among the L newest tokens
  TQ_UNROLL for (int k = 0; k < SH; ++k) {
    ms[k] = -1.0e30f;
    ls[k] = 0.0f;
    off[k] = 0.0f;
    seen[k] = int((h0 + hl * uint(SH) + uint(k)) % uint(L));
  }
  int seg = -1;
  int next = CAL != 0 && !raw ? 0 : 0x7fffffff;
  threadgroup float* pw = (threadgroup float*)sm_p4 + sg * uint(TILE * GS);
  for (uint tile = first; tile < ntile; tile += step) {
    const uint tb = t0 + tile * uint(TILE) + g * uint(N);
    const bool more = tile + step < ntile;
    float s[S];
    if (raw) {
      TQ_UNROLL for (int n = 0; n < N; ++n) {
        const uint i = metal::min(tb + uint(n), nraw - 1u);
        float c[EK];
        tq_raw_row<EK, RT>(tq_raw<STORE, DK>(fk, tk, nk, i, nf, fbase, tbase, nbase, kept) + l * uint(EK), c);
        tq_scores<EK, GS>(qv, c, &s[n * GS]);
      }
    } else {                                 // no branch between its tokens, so that their loads overlap
      TQ_UNROLL for (int n = 0; n < N; ++n) {
        float c[EK];
        tq_align<KW, KA>(&kw[n * KW], ksh);
        if (SPLIT != 0) {
          tq_unpack_split<EK, SPLIT != 0 ? KB : 2>(&kw[n * KW], ktab, ltab, kr[SPLIT != 0 ? n : 0], c);
        } else {
          tq_unpack<EK, KB, RT>(&kw[n * KW], ktab, c);
        }
        tq_scores<EK, GS>(qv, c, &s[n * GS]);
      }
      if (more) {
        kp += step * uint(TILE * KNW);
        TQ_UNROLL for (int n = 0; n < N; ++n) tq_fetch<KW, KA>(kp + n * KNW, klast, &kw[n * KW]);
      }
    }
    tq_scatter_heads<N, GS, GS, KL / 2, HB>(s);
    tq_scatter_tokens<N, GS, SH, LN / 2>(s, lane);
    bool grow = false;
    TQ_UNROLL for (int j = 0; j < NN; ++j) {
      const uint t = tb + no + uint(j);
      if (CAL != 0) {
        while (int(t) >= next) {
          ++seg;
          next = sm_start[seg + 1];
          TQ_UNROLL for (int k = 0; k < SH; ++k) off[k] = sm_off[uint(seg * GS) + hl * uint(SH) + uint(k)];
        }
      }
      const int at = int(raw ? (t < nf ? t : t + body) : t + nf);  // position in the sequence
      TQ_UNROLL for (int k = 0; k < SH; ++k) {
        float x = s[j * GS + k] * kn[j];
        if (CAL != 0) x += off[k];
        if (BIAS != 0 && !raw && t < t1) {
          const uint row = metal::min(h0 + hl * uint(SH) + uint(k), uint(ROWS - 1));
          x += bias[(ulong(kvh) * uint(ROWS) + row) * body + t] * scale;
        }
        if (CAP != 0) x = tq_soft_cap(x, consts[1], consts[2]);
        const bool hidden = t >= t1 || (L > 1 && at > high + seen[k]) || (WIN == 1 && at < low + seen[k]) ||
                            (WIN == 2 && at < low && at >= int(nf));
        x = hidden ? NEG : x;
        s[j * GS + k] = x;
        grow = grow || x > ms[k] + 16.0f;
      }
    }
    if (simd_any(grow)) {                    // rare: the running maximum is renewed only when a score exceeds it by 2^16
      float co[SH];
      TQ_UNROLL for (int k = 0; k < SH; ++k) {
        float x = ms[k];
        TQ_UNROLL for (int j = 0; j < NN; ++j) x = metal::max(x, s[j * GS + k]);
        TQ_UNROLL for (int m = 1; m < 32; m <<= 1) {
          if (m < LN || m >= KL) x = metal::max(x, simd_shuffle_xor(x, ushort(m)));
        }
        co[k] = tq_exp2(ms[k] - x);
        ls[k] *= co[k];
        ms[k] = x;
      }
      TQ_UNROLL for (int h = 0; h < GS; ++h) {
        const float f = simd_shuffle(co[h % SH], ushort((h / SH) * LN));
        TQ_UNROLL for (int e = 0; e < EV; ++e) acc[h * EV + e] *= f;
      }
    }
    TQ_UNROLL for (int j = 0; j < NN; ++j) {
      TQ_UNROLL for (int k = 0; k < SH; ++k) {
        const float p = tq_exp2(s[j * GS + k] - ms[k]);
        ls[k] += p;
        // what lies beyond the length may be anything, so its norm must not reach the sum
        pw[g * uint(S) + (no + uint(j)) * uint(GS) + hl * uint(SH) + uint(k)] = tb + no + uint(j) < t1 ? p * vn[j] : 0.0f;
      }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    float p[S];
    if (S % 4 == 0) {
      TQ_UNROLL for (int i = 0; i < S / 4; ++i) {
        const float4 v = *((const threadgroup float4*)(pw + g * uint(S)) + i);
        p[4 * i] = v.x;
        p[(4 * i + 1) % S] = v.y;
        p[(4 * i + 2) % S] = v.z;
        p[(4 * i + 3) % S] = v.w;
      }
    } else {
      TQ_UNROLL for (int i = 0; i < S; ++i) p[i] = pw[g * uint(S) + uint(i)];
    }
    if (raw) {
      TQ_UNROLL for (int n = 0; n < N; ++n) {
        const uint i = metal::min(tb + uint(n), nraw - 1u);
        float c[EV];
        tq_raw_row<EV, RT>(tq_raw<STORE, DV>(fv, tv, nv, i, nf, fbase, tbase, nbase, kept) + l * uint(EV), c);
        tq_accumulate<EV, GS>(&p[n * GS], c, acc);
      }
    } else {
      TQ_UNROLL for (int n = 0; n < N; ++n) {
        float c[EV];
        tq_align<VW, VA>(&vw[n * VW], vsh);
        tq_unpack<EV, VB, RT>(&vw[n * VW], vtab, c);
        tq_accumulate<EV, GS>(&p[n * GS], c, acc);
      }
      if (more) {
        vp += step * uint(TILE * VNW);
        TQ_UNROLL for (int n = 0; n < N; ++n) tq_fetch<VW, VA>(vp + n * VNW, vlast, &vw[n * VW]);
        TQ_UNROLL for (int j = 0; j < NN; ++j) {
          const uint at = tb + step * uint(TILE) + no + uint(j);
          if (KB != 0) kn[j] = tq_key_norm<SPLIT>(knorm[kbase + at]);
          vn[j] = float(vnorm[vbase + at]);
        }
        if (SPLIT != 0) {
          TQ_UNROLL for (int n = 0; n < N; ++n)
            kr[SPLIT != 0 ? n : 0] = tq_lower_ratio(tq_split_norm(knorm[kbase + tb + step * uint(TILE) + uint(n)]));
        }
      }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
  // sum over the lanes of the simdgroup, then over the simdgroups
  TQ_UNROLL for (int k = 0; k < SH; ++k) {
    TQ_UNROLL for (int m = 1; m < 32; m <<= 1) {
      if (m < LN || m >= KL) ls[k] += simd_shuffle_xor(ls[k], ushort(m));
    }
    if (g == 0u && l % uint(LN) == 0u) {
      sm_m[sg * uint(GS) + hl * uint(SH) + uint(k)] = ms[k];
      sm_l[sg * uint(GS) + hl * uint(SH) + uint(k)] = ls[k];
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (GS * EV % TPS == 0) {
    constexpr int C = GS * EV / TPS;
    tq_reduce_scatter<GS * EV, 16, KL>(acc, lane);
    TQ_UNROLL for (int i = 0; i < C; ++i) {
      const uint at = g * uint(C) + uint(i);
      sm[(sg * uint(GS) + at / uint(EV)) * uint(DVP) + l * uint((EV + 1)) + at % uint(EV)] = acc[i];
    }
  } else {
    TQ_UNROLL for (int h = 0; h < GS; ++h) {
      TQ_UNROLL for (int e = 0; e < EV; ++e) {
        float x = acc[h * EV + e];
        TQ_UNROLL for (int m = KL; m < 32; m <<= 1) x += simd_shuffle_xor(x, ushort(m));
        if (g == 0u) sm[(sg * uint(GS) + uint(h)) * uint(DVP) + l * uint((EV + 1)) + uint(e)] = x;
      }
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  threadgroup float* sums = sm;
