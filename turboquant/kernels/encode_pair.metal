// Keys and values of all heads in one launch: vectors to packed codes and norms.
// constants: KP, KM, KB, KTRIALS, KMATCHED, CAL, VP, VM, VB, VTRIALS, VMATCHED, VPG; as in encode, for each part
// inputs: k (rows, KP * KM), v (rows, VP * VM), dims, kconsts, vconsts, offset, channel
// outputs: kwords, knorms, vwords, vnorms
// grid (32 * VPG * groups, 1, 2)  group (32 * VPG, 1, 1); z: 0 keys, 1 values
  constexpr int KSUB = KP < 32 ? 32 / KP : 1;
  constexpr int VSUB = VP < 32 ? 32 / VP : 1;
  constexpr int KN = 1 << KB;
  constexpr int VN = 1 << VB;
  constexpr int KAT = KP * KM + KM * KM + 8;
  constexpr int VAT = VP * VM + VM * VM + 8;
  constexpr int TN = KN > VN ? KN : VN;
  constexpr int KC = KSUB * KP * KM;
  constexpr int VC = VSUB * VP * VM;
  TQ_SHARED float sm_bounds[TN];
  TQ_SHARED float sm_centroids[TN];
  TQ_SHARED uchar sm_codes[VPG * (KC > VC ? KC : VC)];
  const uint sg = simdgroup_index_in_threadgroup;
  const uint lane = thread_index_in_simdgroup;
  const uint at = threadgroup_position_in_grid.x * uint(VPG) + sg;
  const bool key = threadgroup_position_in_grid.z == 0u;
  for (uint i = thread_position_in_threadgroup.x; i < uint(key ? KN : VN); i += uint(32 * VPG)) {
    sm_bounds[i] = key ? kconsts[uint(KAT) + i] : vconsts[uint(VAT) + i];
    sm_centroids[i] = key ? kconsts[uint(KAT + KN) + i] : vconsts[uint(VAT + VN) + i];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (key) {
    tq_encode<KP, KM, KB, KTRIALS, KMATCHED, CAL>(k, offset, channel, uint(dims[1]), uint(dims[0]), at * uint(KSUB), lane,
        kconsts, sm_bounds, sm_centroids, sm_codes + sg * uint(KC), kwords, knorms);
  } else {
    tq_encode<VP, VM, VB, VTRIALS, VMATCHED, 0>(v, offset, channel, uint(dims[1]), uint(dims[0]), at * uint(VSUB), lane,
        vconsts, sm_bounds, sm_centroids, sm_codes + sg * uint(VC), vwords, vnorms);
  }
