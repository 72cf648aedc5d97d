// Decode attention of the query rows of each kv head (its group's heads times the L newest tokens) over one split of the
// body, or over the raw tokens, with an online softmax in units of log2(e).
// constants: OT (out), RT (raw tokens), KP, KM, KB, VP, VM, VB (dims P * M and bits; KB 0: raw keys), ROWS, L, GS (rows that
//   share one unpacking), LPT (lanes of a token), N (tokens of a lane), NSG (simdgroups), NR (FINAL: of them on raw tokens),
//   CAL (0; 1 key offsets; 2 and channel scale), SEGS (segments that fit the table), WIN (sliding window), CAP (soft cap),
//   SINK, HKV, FINAL (the only dispatch: one group sees everything, un-rotates and writes), KAT, VAT (places in consts)
// inputs: q (batch, heads, L, DK), kpack, knorm, vpack, vnorm (batch * kv heads, capacity, ...), fk, fv, tk, tv (raw first
//   tokens and tail), consts [scale, cap, 2 / cap .., signs / sqrt(P), Q, centroids of K; the same of V], dims, starts (G),
//   offs (batch * kv heads, G, DK), chan (batch * kv heads, DK), sinks (heads)
// dims: [body rows, capacity of their keys, first, its capacity, tail, its capacity, splits with the raw one, G,
//   first visible position of row 0, capacity of the body's values]
// output: part (batch * kv heads * ROWS, splits, DV + 2), or FINAL: (batch * kv heads * ROWS, DV)
// grid (32 * NSG, batch * kv heads * ceil(ROWS / GS), splits + 1; FINAL: 1)  group (32 * NSG, 1, 1)
  constexpr int DK = KP * KM;
  constexpr int DV = VP * VM;
  constexpr int EK = DK / LPT;               // coordinates of a lane
  constexpr int EV = DV / LPT;
  constexpr int TPS = 32 / LPT;              // tokens side by side
  constexpr int TILE = TPS * N;              // tokens of a simdgroup's tile
  constexpr int S = N * GS;
  constexpr int HB = (GS & (GS - 1)) != 0 ? 0 : GS >= 4 && LPT >= 4 ? 2 : GS >= 2 && LPT >= 2 ? 1 : 0;  // halvings of the rows
  constexpr int LN = LPT >> HB;              // lanes of a row
  constexpr int SH = GS >> HB;               // rows of a lane's scores
  constexpr int NN = N / LN;                 // tokens of a lane's scores
  constexpr int KBITS = KB == 0 ? 16 : KB;
  constexpr int KNW = (DK * KBITS + 31) / 32;
  constexpr int VNW = (DV * VB + 31) / 32;
  constexpr bool KA = EK * KBITS % 32 == 0;
  constexpr bool VA = EV * VB % 32 == 0;
  constexpr int KW = KA ? EK * KBITS / 32 : (EK * KBITS + 31) / 32 + 1;
  constexpr int VW = VA ? EV * VB / 32 : (EV * VB + 31) / 32 + 1;
  constexpr int EKP = EK + 1;                // padded: no bank conflicts
  constexpr int EVP = EV + 1;
  constexpr int DKP = LPT * EKP;
  constexpr int DVP = LPT * EVP;
  constexpr bool SAME = KB == VB && DK == DV;  // one table serves both: a codebook belongs to a dimension and a width
  constexpr int KTN = KB == 0 ? 2 : KB == 2 && EK % 2 == 0 ? 32 : (1 << KB);
  constexpr int VTN = SAME ? 2 : VB == 2 && EV % 2 == 0 ? 32 : (1 << VB);
  constexpr int NQ = FINAL != 0 ? NSG - NR : NSG;  // simdgroups that share the tiles of the body
  constexpr int SMK = 2 * GS * DKP;
  constexpr int SMV = NSG * GS * DVP;
  constexpr int KPB = KP < 32 ? KP : 32;
  constexpr int VPB = VP < 32 ? VP : 32;
  constexpr float NEG = -3.0e38f;
  TQ_TABLE float2 sm_kt[KTN / 2];
  TQ_TABLE float2 sm_vt[VTN / 2];
  TQ_SHARED float4 sm_p4[NSG * TILE * GS / 4 + 1];
  TQ_SHARED float sm[SMK > SMV ? SMK : SMV];  // first the queries: rotated, then as they are; at the end the sums
  TQ_SHARED float sm_m[NSG * GS];
  TQ_SHARED float sm_l[NSG * GS];
  TQ_SHARED float sm_off[CAL != 0 ? SEGS * GS : 1];
  TQ_SHARED int sm_start[CAL != 0 ? SEGS + 1 : 1];
  const uint lane = tq_keep(thread_index_in_simdgroup);
  const uint sg = simdgroup_index_in_threadgroup;
  const uint tid = thread_position_in_threadgroup.x;
  const uint l = lane % uint(LPT);
  const uint g = lane / uint(LPT);
  constexpr uint NG = uint((ROWS + GS - 1) / GS);
  const uint kvh = threadgroup_position_in_grid.y / NG;
  const uint h0 = (threadgroup_position_in_grid.y % NG) * uint(GS);
  const uint sp = threadgroup_position_in_grid.z;
  const uint nsp = threadgroups_per_grid.z;
  const uint nq = FINAL != 0 ? 1u : nsp - 1u;
  const bool raw = FINAL != 0 ? sg >= uint(NQ) : sp == nq;
  const uint body = uint(dims[0]);
  const uint nf = uint(dims[2]);
  const uint nraw = nf + uint(dims[4]);
  const int low = WIN != 0 ? dims[8] : 0;    // first visible position of row 0 of a head; the next row sees one less
  const int high = int(nraw + body) - L;     // its last one
  // whole tiles are dealt to the splits
  const uint from = WIN != 0 ? uint(metal::max(low - int(nf), 0)) / uint(TILE) : 0u;
  const uint ends = (body + uint(TILE) - 1u) / uint(TILE);
  const uint tiles = ends > from ? ends - from : 0u;
  const uint b0 = uint(TILE) * (from + sp * tiles / nq);
  const uint b1 = FINAL == 0 && raw ? b0 : metal::min(body, uint(TILE) * (from + (sp + 1u) * tiles / nq));
  const uint t0 = raw ? 0u : b0;
  const uint t1 = raw ? nraw : b1;
  const uint ntile = t1 > t0 ? (t1 - t0 + uint(TILE) - 1u) / uint(TILE) : 0u;
  const uint first = FINAL != 0 && raw ? sg - uint(NQ) : sg;
  const uint step = FINAL != 0 ? (raw ? uint(NR) : uint(NQ)) : uint(NSG);
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
  const uint u0 = t0 + first * uint(TILE) + g * uint(N);
  const ulong kbase = ulong(kvh) * uint(dims[1]);
  const ulong vbase = ulong(kvh) * uint(dims[9]);
  const device uint* kp = (const device uint*)kpack + ((kbase + u0) * uint(KNW) + kwi);
  const device uint* vp = vpack + ((vbase + u0) * uint(VNW) + vwi);
  TQ_UNROLL for (int j = 0; j < NN; ++j) {
    kn[j] = 1.0f;
    vn[j] = 1.0f;
  }
  if (!raw && first < ntile) {
    TQ_UNROLL for (int n = 0; n < N; ++n) {
      tq_fetch<KW, KA>(kp + n * KNW, klast, &kw[n * KW]);
      tq_fetch<VW, VA>(vp + n * VNW, vlast, &vw[n * VW]);
    }
    TQ_UNROLL for (int j = 0; j < NN; ++j) {
      if (KB != 0) kn[j] = float(knorm[kbase + u0 + no + uint(j)]);
      vn[j] = float(vnorm[vbase + u0 + no + uint(j)]);
    }
  }
  threadgroup float* kt = (threadgroup float*)sm_kt;
  threadgroup float* vt = SAME ? kt : (threadgroup float*)sm_vt;
  if (KB != 0)
    for (uint i = tid; i < uint(KTN); i += uint(32 * NSG)) kt[i] = consts[uint(KAT + DK + KM * KM) + tq_table_entry<EK, KB>(i)];
  if (!SAME)
    for (uint i = tid; i < uint(VTN); i += uint(32 * NSG)) vt[i] = consts[uint(VAT + DV + VM * VM) + tq_table_entry<EV, VB>(i)];
  // queries: as they are (for raw keys and offsets), and rotated as the packed keys are
  for (uint h = sg; h < uint(GS); h += uint(NSG)) {
    const uint row = kvh * uint(ROWS) + metal::min(h0 + h, uint(ROWS - 1));
    const uint la = lane % uint(KPB);
    float x[DK / KPB];
    TQ_UNROLL for (int i = 0; i < KP / KPB; ++i) {
      TQ_UNROLL for (int b = 0; b < KM; ++b) {
        const uint d = tq_coordinate<KM>(la, i, b, uint(KPB));
        const float v = float(q[row * uint(DK) + d]) * consts[0];
        if (lane < uint(KPB)) sm[(uint(GS) + h) * uint(DKP) + (d / uint(EK)) * uint(EKP) + d % uint(EK)] = v;
        x[i * KM + b] = KB == 0 ? v : v * consts[uint(KAT) + d];
        if (CAL > 1) x[i * KM + b] /= float(chan[kvh * uint(DK) + d]);
      }
    }
    if (KB != 0) tq_rotate<KP, KM>(x, lane, consts + (KAT + DK));
    if (lane < uint(KPB)) {
      TQ_UNROLL for (int i = 0; i < KP / KPB; ++i) {
        TQ_UNROLL for (int b = 0; b < KM; ++b) {
          const uint d = tq_coordinate<KM>(la, i, b, uint(KPB));
          sm[h * uint(DKP) + (d / uint(EK)) * uint(EKP) + d % uint(EK)] = x[i * KM + b];
        }
      }
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (CAL != 0) {                            // q . offset for each segment that the split meets
    int before = 0;
    int until = 0;
    for (int i = int(lane); i < dims[7]; i += 32) {
      before += starts[i] <= int(b0) ? 1 : 0;
      until += starts[i] < int(b1) ? 1 : 0;
    }
    const uint s0 = uint(metal::max(simd_sum(before) - 1, 0));
    const uint s1 = uint(simd_sum(until));
    const uint count = s1 > s0 ? metal::min(s1 - s0, uint(SEGS)) : 0u;
    for (uint i = sg; i < count; i += uint(NSG)) {
      float dot[GS];
      TQ_UNROLL for (int h = 0; h < GS; ++h) dot[h] = 0.0f;
      for (uint d = lane; d < uint(DK); d += 32u) {
        const float mu = float(offs[(ulong(kvh) * uint(dims[7]) + s0 + i) * uint(DK) + d]);
        TQ_UNROLL for (int h = 0; h < GS; ++h)
          dot[h] = metal::fma(mu, sm[uint(GS + h) * uint(DKP) + (d / uint(EK)) * uint(EKP) + d % uint(EK)], dot[h]);
      }
      TQ_UNROLL for (int h = 0; h < GS; ++h) {
        dot[h] = simd_sum(dot[h]);
        if (lane == 0u) sm_off[i * uint(GS) + uint(h)] = dot[h];
      }
      if (lane == 0u) sm_start[i] = starts[s0 + i];
    }
    if (tid == 0u) sm_start[count] = 0x7fffffff;
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  const tq_table ktab = tq_open(kt);
  const tq_table vtab = tq_open(vt);
  float qv[GS * EK];
  float acc[GS * EV];
  const uint qrow = raw ? uint(GS) : 0u;
  TQ_UNROLL for (int h = 0; h < GS; ++h) {
    TQ_UNROLL for (int e = 0; e < EK; ++e)
      qv[h * EK + e] = sm[(qrow + (HB > 0 ? uint(h) ^ (hl * uint(SH)) : uint(h))) * uint(DKP) + l * uint(EKP) + uint(e)];
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
        const ulong at = i < nf ? ulong(kvh) * uint(dims[3]) + i : ulong(kvh) * uint(dims[5]) + (i - nf);
        float c[EK];
        tq_raw_row<EK, RT>((i < nf ? fk : tk) + (at * uint(DK) + l * uint(EK)), c);
        tq_scores<EK, GS>(qv, c, &s[n * GS]);
      }
    } else {                                 // no branch between its tokens, so that their loads overlap
      TQ_UNROLL for (int n = 0; n < N; ++n) {
        float c[EK];
        tq_align<KW, KA>(&kw[n * KW], ksh);
        tq_unpack<EK, KB, RT>(&kw[n * KW], ktab, c);
        tq_scores<EK, GS>(qv, c, &s[n * GS]);
      }
      if (more) {
        kp += step * uint(TILE * KNW);
        TQ_UNROLL for (int n = 0; n < N; ++n) tq_fetch<KW, KA>(kp + n * KNW, klast, &kw[n * KW]);
      }
    }
    tq_scatter_heads<N, GS, GS, LPT / 2, HB>(s);
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
        if (CAP != 0) x = tq_soft_cap(x, consts[1], consts[2]);
        const bool hidden = t >= t1 || (L > 1 && at > high + seen[k]) || (WIN != 0 && at < low + seen[k]);
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
          if (m < LN || m >= LPT) x = metal::max(x, simd_shuffle_xor(x, ushort(m)));
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
        const ulong at = i < nf ? ulong(kvh) * uint(dims[3]) + i : ulong(kvh) * uint(dims[5]) + (i - nf);
        float c[EV];
        tq_raw_row<EV, RT>((i < nf ? fv : tv) + (at * uint(DV) + l * uint(EV)), c);
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
          if (KB != 0) kn[j] = float(knorm[kbase + at]);
          vn[j] = float(vnorm[vbase + at]);
        }
      }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
  // sum over the lanes of the simdgroup, then over the simdgroups
  TQ_UNROLL for (int k = 0; k < SH; ++k) {
    TQ_UNROLL for (int m = 1; m < 32; m <<= 1) {
      if (m < LN || m >= LPT) ls[k] += simd_shuffle_xor(ls[k], ushort(m));
    }
    if (g == 0u && l % uint(LN) == 0u) {
      sm_m[sg * uint(GS) + hl * uint(SH) + uint(k)] = ms[k];
      sm_l[sg * uint(GS) + hl * uint(SH) + uint(k)] = ls[k];
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (GS * EV % TPS == 0) {
    constexpr int C = GS * EV / TPS;
    tq_reduce_scatter<GS * EV, 16, LPT>(acc, lane);
    TQ_UNROLL for (int i = 0; i < C; ++i) {
      const uint at = g * uint(C) + uint(i);
      sm[(sg * uint(GS) + at / uint(EV)) * uint(DVP) + l * uint(EVP) + at % uint(EV)] = acc[i];
    }
  } else {
    TQ_UNROLL for (int h = 0; h < GS; ++h) {
      TQ_UNROLL for (int e = 0; e < EV; ++e) {
        float x = acc[h * EV + e];
        TQ_UNROLL for (int m = LPT; m < 32; m <<= 1) x += simd_shuffle_xor(x, ushort(m));
        if (g == 0u) sm[(sg * uint(GS) + uint(h)) * uint(DVP) + l * uint(EVP) + uint(e)] = x;
      }
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint h = sg; h < uint(GS); h += uint(NSG)) {
    const uint la = lane % uint(VPB);
    const bool writes = lane < uint(VPB) && h0 + h < uint(ROWS);
    const uint row = kvh * uint(ROWS) + h0 + h;
    float top = NEG;
    for (int i = 0; i < NSG; ++i) top = metal::max(top, sm_m[uint(i * GS) + h]);
    float total = 0.0f;
    if (FINAL != 0 && SINK != 0) {
      const float sink = float(sinks[metal::min(row, kvh * uint(ROWS) + uint(ROWS - 1)) % uint(HKV * ROWS) / uint(L)]) * 1.4426950408889634f;
      top = metal::max(top, sink);
      total = tq_exp2(sink - top);
    }
    float x[DV / VPB];                       // of rotated sums
    float y[DV / VPB];                       // of raw ones
    TQ_UNROLL for (int i = 0; i < DV / VPB; ++i) {
      x[i] = 0.0f;
      y[i] = 0.0f;
    }
    for (int n = 0; n < NSG; ++n) {
      const float f = tq_exp2(sm_m[uint(n * GS) + h] - top);
      total += f * sm_l[uint(n * GS) + h];
      TQ_UNROLL for (int i = 0; i < VP / VPB; ++i) {
        TQ_UNROLL for (int b = 0; b < VM; ++b) {
          const uint d = tq_coordinate<VM>(la, i, b, uint(VPB));
          const float v = f * sm[(uint(n * GS) + h) * uint(DVP) + (d / uint(EV)) * uint(EVP) + d % uint(EV)];
          if (FINAL != 0 && n >= NQ) y[i * VM + b] += v; else x[i * VM + b] += v;
        }
      }
    }
    if (FINAL != 0) {
      tq_unrotate<VP, VM>(x, lane, consts + (VAT + DV));
    } else if (raw) {
      TQ_UNROLL for (int i = 0; i < VP / VPB; ++i) {
        TQ_UNROLL for (int b = 0; b < VM; ++b) x[i * VM + b] *= consts[uint(VAT) + tq_coordinate<VM>(la, i, b, uint(VPB))];
      }
      tq_rotate<VP, VM>(x, lane, consts + (VAT + DV));
    }
    if (writes) {
      const ulong to = FINAL != 0 ? ulong(row) * uint(DV) : (ulong(row) * nsp + sp) * uint(DV + 2);
      const float r = 1.0f / total;
      TQ_UNROLL for (int i = 0; i < VP / VPB; ++i) {
        TQ_UNROLL for (int b = 0; b < VM; ++b) {
          const uint d = tq_coordinate<VM>(la, i, b, uint(VPB));
          const float v = FINAL != 0 ? (x[i * VM + b] * consts[uint(VAT) + d] + y[i * VM + b]) * r : x[i * VM + b];
          part[to + d] = OT(v);
        }
      }
      if (FINAL == 0 && lane == 0u) {
        part[to + uint(DV)] = OT(top);
        part[to + uint(DV + 1)] = OT(total);
      }
    }
  }
