// Keys and values of all heads in one launch: vectors to packed codes and norms.
// constants: KP, KM, KB, KTRIALS, KMATCHED, KSPLIT, KLTRIALS, CAL, VP, VM, VB, VTRIALS, VMATCHED, VSPLIT (0), VLTRIALS, VPG; as in
//   encode, for each part
// inputs: k (rows, KP * KM), v (rows, VP * VM), dims, kconsts, vconsts, offset, channel, order
// outputs: kwords, knorms, vwords, vnorms
// grid (32 * VPG * groups, 1, 2)  group (32 * VPG, 1, 1); z: 0 keys, 1 values
  constexpr int KPB = KP / (1 + KSPLIT) < 32 ? KP / (1 + KSPLIT) : 32;
  constexpr int VPB = VP < 32 ? VP : 32;
  constexpr int KN = KSPLIT != 0 ? (5 << KB) / 2 : 1 << KB;
  constexpr int TN = KN > (1 << VB) ? KN : 1 << VB;
  constexpr int KC = 32 / KPB * KP * KM;
  constexpr int VC = 32 / VPB * VP * VM;
  TQ_SHARED float sm_bounds[TN];
  TQ_SHARED float sm_centroids[TN];
  TQ_SHARED uchar sm_codes[VPG * (KC > VC ? KC : VC)];
  const uint sg = simdgroup_index_in_threadgroup;
  const uint lane = thread_index_in_simdgroup;
  const uint tid = thread_position_in_threadgroup.x;
  const uint at = threadgroup_position_in_grid.x * uint(VPG) + sg;
  const bool key = threadgroup_position_in_grid.z == 0u;
  if (key) {
    tq_codec_tables<KP * KM, KM, KB, KSPLIT>(kconsts, tid, uint(32 * VPG), sm_bounds, sm_centroids);
  } else {
    tq_codec_tables<VP * VM, VM, VB, VSPLIT>(vconsts, tid, uint(32 * VPG), sm_bounds, sm_centroids);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (key) {
    tq_encode<KP, KM, KB, KTRIALS, KMATCHED, CAL, KSPLIT, KLTRIALS>(
        k, offset, channel, order, uint(dims[1]), uint(dims[0]), at * uint(32 / KPB), lane, kconsts, sm_bounds, sm_centroids,
        sm_codes + sg * uint(KC), kwords, knorms);
  } else {
    tq_encode<VP, VM, VB, VTRIALS, VMATCHED, 0, VSPLIT, VLTRIALS>(
        v, offset, channel, order, uint(dims[1]), uint(dims[0]), at * uint(32 / VPB), lane, vconsts, sm_bounds, sm_centroids,
        sm_codes + sg * uint(VC), vwords, vnorms);
  }
