// The last group to come of those that share query rows joins their parts: one dispatch does everything. Follows attend_end,
// where tq_last exists: it takes a fence over the whole device, which Metal has had only since version 3.2.
  constexpr int PER_ROW = NSG > GS ? NSG / GS : 1;  // simdgroups of a row
  constexpr int QUADS = (DV + 127) / 128;
  TQ_SHARED uint sm_last[1];
  if (tq_last(tickets + threadgroup_position_in_grid.y, nsp, tid, sm_last)) {
    const uint share = sg % uint(PER_ROW);
    for (uint h = sg / uint(PER_ROW); h < uint(GS); h += uint(NSG / PER_ROW)) {
      const uint row = kvh * uint(ROWS) + metal::min(h0 + h, uint(ROWS - 1));
      const ulong base = ulong(row) * nsp * uint(DV);
      const ulong stats = ulong(rows_all) * nsp * uint(DV) + ulong(row) * nsp * 2u;
      float top = NEG;
      for (uint s = lane; s < nsp; s += 32u) top = metal::max(top, part[stats + 2u * s]);
      top = simd_max(top);
      float total = 0.0f;
      if (SINK != 0) {
        const float sink = float(sinks[row % uint(HKV * ROWS) / uint(L)]) * 1.4426950408889634f;
        top = metal::max(top, sink);
        total = share == 0u ? tq_exp2(sink - top) : 0.0f;
      }
      float x[4 * QUADS];
      TQ_UNROLL for (int i = 0; i < 4 * QUADS; ++i) x[i] = 0.0f;
      for (uint s0 = share; s0 < nsp; s0 += uint(32 * PER_ROW)) {
        const uint mine = s0 + lane * uint(PER_ROW);
        const float w = mine < nsp ? tq_exp2(part[stats + 2u * metal::min(mine, nsp - 1u)] - top) : 0.0f;
        const float l = w * part[stats + 2u * metal::min(mine, nsp - 1u) + 1u];
        total += simd_sum(l);
        for (uint i = 0u; i < 32u && s0 + i * uint(PER_ROW) < nsp; i += 8u) {
          TQ_UNROLL for (int u = 0; u < 8; ++u) {  // eight loads at a time
            const uint s = metal::min(s0 + (i + uint(u)) * uint(PER_ROW), nsp - 1u);
            const float f = simd_shuffle(w, ushort(i + uint(u)));
            TQ_UNROLL for (int k = 0; k < QUADS; ++k) {
              const uint d = metal::min(uint(128 * k) + 4u * lane, uint(DV - 4));
              const float4 v = *((const device float4*)(part + (base + s * uint(DV) + d)));
              x[4 * k] = metal::fma(f, v.x, x[4 * k]);
              x[4 * k + 1] = metal::fma(f, v.y, x[4 * k + 1]);
              x[4 * k + 2] = metal::fma(f, v.z, x[4 * k + 2]);
              x[4 * k + 3] = metal::fma(f, v.w, x[4 * k + 3]);
            }
          }
        }
      }
      const uint slot = h * uint(PER_ROW) + share;
      TQ_UNROLL for (int k = 0; k < 4 * QUADS; ++k) {
        const uint d = uint(128 * (k / 4) + k % 4) + 4u * lane;
        if (d < uint(DV)) sums[slot * uint(DV) + d] = x[k];
      }
      if (lane == 0u) sm_l[slot] = total;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint h = sg; h < uint(GS); h += uint(NSG)) {
      const uint la = lane % uint(VPB);
      float x[DV / VPB];
      TQ_UNROLL for (int i = 0; i < DV / VPB; ++i) x[i] = 0.0f;
      float total = 0.0f;
      TQ_UNROLL for (int r = 0; r < PER_ROW; ++r) {
        const uint slot = h * uint(PER_ROW) + uint(r);
        total += sm_l[slot];
        TQ_UNROLL for (int i = 0; i < VP / VPB; ++i) {
          TQ_UNROLL for (int b = 0; b < VM; ++b) x[i * VM + b] += sums[slot * uint(DV) + tq_coordinate<VM>(la, i, b, uint(VPB))];
        }
      }
      tq_unrotate<VP, VM>(x, lane, consts + (VAT + DV));
      if (lane < uint(VPB) && h0 + h < uint(ROWS)) {
        const float r = 1.0f / total;
        TQ_UNROLL for (int i = 0; i < VP / VPB; ++i) {
          TQ_UNROLL for (int b = 0; b < VM; ++b) {
            const uint d = tq_coordinate<VM>(la, i, b, uint(VPB));
            out[ulong(kvh * uint(ROWS) + h0 + h) * uint(DV) + d] = OT(x[i * VM + b] * consts[uint(VAT) + d] * r);
          }
        }
      }
    }
  }
