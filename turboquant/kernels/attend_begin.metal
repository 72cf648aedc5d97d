// Decode attention of the query rows of each kv head (its group's heads times the L newest tokens) over one split of the
// body, or over the raw tokens, with an online softmax in units of log2(e). This is what each way of doing it begins with;
// attend_lanes or attend_matrix follows, then attend_end.
// constants: OT (out), PT (part), RT (raw tokens), KP, KM, KB, VP, VM, VB (dims P * M and bits; KB 0: raw keys), SPLIT (keys of KB + 1
//   and KB - 1 bits in turn, see split.py), ROWS, L, GS (rows that share one unpacking), KL, VL (lanes of a token's key and
//   value), TILE (tokens of a simdgroup's step), NSG (simdgroups), NR (FINAL: of them on raw tokens), CAL (0; 1 key offsets;
//   2 and channel scale), SEGS (segments that fit the table), WIN (1 sliding window, 2 the first rows of body and tail are out of sight), CAP (soft cap), BIAS (score bias), SINK,
//   HKV, STORE (the newest L raw rows aren't in the tail yet, see attend_store), FINAL (one group sees everything, un-rotates and
//   writes), JOIN (the last group of a row joins the splits),
//   KAT, VAT (places in consts)
// inputs: q (batch, heads, L, DK), kpack, knorm, vpack, vnorm (batch * kv heads, capacity, ...), tk, tv (raw tail), nk, nv (STORE:
//   its newest rows (batch * kv heads, L, D)), fixed (32-bit
//   words, see below), offs (batch * kv heads, G, DK), bias (batch * kv heads * ROWS, body rows), sinks (heads), dims, tickets
//   (JOIN: one a group of rows, zero before and after)
// fixed: consts [scale, cap, 2 / cap .., signs / sqrt(P), Q, centroids of K (SPLIT: of each half); the same of V]; and from the
//   words that dims names: starts (G), chan, order (batch * kv heads, DK), fk, fv (raw first tokens)
// dims: [body rows, capacity of their keys, first, its capacity, tail, its capacity, splits with the raw one, G,
//   first visible position of row 0, capacity of the body's values, words in fixed: starts, chan, order, fk, fv]
// output: part [sums (batch * kv heads * ROWS, splits, DV), maximum and sum of weights (.., splits, 2)], out (batch, heads, L, DV)
// grid (32 * NSG, batch * kv heads * ceil(ROWS / GS), splits with the raw one; FINAL: 1)  group (32 * NSG, 1, 1)
  constexpr int DK = KP * KM;
  constexpr int DV = VP * VM;
  constexpr int EK = DK / KL;                // coordinates of a lane
  constexpr int EV = DV / VL;
  constexpr int KBITS = KB == 0 ? 16 : KB;
  constexpr int KNW = (DK * KBITS + 31) / 32;
  constexpr int VNW = (DV * VB + 31) / 32;
  constexpr bool KA = EK * KBITS % 32 == 0;
  constexpr bool VA = EV * VB % 32 == 0;
  constexpr int KW = KA ? EK * KBITS / 32 : (EK * KBITS + 31) / 32 + 1;
  constexpr int VW = VA ? EV * VB / 32 : (EV * VB + 31) / 32 + 1;
  constexpr int DKP = KL * (EK + 1);         // padded: no bank conflicts
  constexpr int DVP = VL * (EV + 1);
  constexpr int NQ = FINAL != 0 ? NSG - NR : NSG;  // simdgroups that share the tiles of the body
  constexpr float NEG = -3.0e38f;
  TQ_SHARED float sm_m[NSG * GS];
  TQ_SHARED float sm_l[NSG * GS];
  TQ_SHARED float sm_off[CAL != 0 ? SEGS * GS : 1];
  TQ_SHARED int sm_start[CAL != 0 ? SEGS + 1 : 1];
  const uint lane = tq_keep(thread_index_in_simdgroup);
  const uint sg = simdgroup_index_in_threadgroup;
  const uint tid = thread_position_in_threadgroup.x;
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
  const uint fcap = uint(dims[3]);
  const uint tcap = uint(dims[5]);
  const uint kept = STORE != 0 ? uint(dims[4]) - uint(L) : 0u;
  const ulong fbase = ulong(kvh) * fcap;
  const ulong tbase = ulong(kvh) * tcap;
  const ulong nbase = ulong(kvh) * uint(L);
  const int low = WIN != 0 ? dims[8] : 0;    // first visible position of row 0 of a head; WIN 1: the next row sees one less
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
  const ulong kbase = ulong(kvh) * uint(dims[1]);
  const ulong vbase = ulong(kvh) * uint(dims[9]);
  const device float* consts = (const device float*)fixed;
  const device int* starts = (const device int*)(fixed + dims[10]);
  const device float16_t* chan = (const device float16_t*)(fixed + dims[11]);
  const device ushort* order = (const device ushort*)(fixed + dims[12]);
  const device RT* fk = (const device RT*)(fixed + dims[13]);
  const device RT* fv = (const device RT*)(fixed + dims[14]);
  const float scale = consts[0];
  // offsets fall to simdgroups that have no query row to rotate, where there are some
  constexpr uint IDLE = uint(NSG > GS ? NSG - GS : NSG);
  const uint idle = NSG > GS ? sg - uint(GS) : sg;
