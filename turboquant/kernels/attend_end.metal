// Sums of the simdgroups to the split's part, or (FINAL) to the finished output. Follows attend_lanes or attend_matrix.
  constexpr int VPB = VP < 32 ? VP : 32;
  const uint rows_all = threadgroups_per_grid.y / NG * uint(ROWS);
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
          const float v = f * sums[(uint(n * GS) + h) * uint(DVP) + tq_padded<EV>(d)];
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
      const ulong to = FINAL != 0 ? ulong(row) * uint(DV) : (ulong(row) * nsp + sp) * uint(DV);
      const float r = 1.0f / total;
      TQ_UNROLL for (int i = 0; i < VP / VPB; ++i) {
        TQ_UNROLL for (int b = 0; b < VM; ++b) {
          const uint d = tq_coordinate<VM>(la, i, b, uint(VPB));
          if (FINAL != 0) {
            out[to + d] = OT((x[i * VM + b] * consts[uint(VAT) + d] + y[i * VM + b]) * r);
          } else {
            part[to + d] = PT(x[i * VM + b]);
          }
        }
      }
      if (FINAL == 0 && lane == 0u) {
        const ulong at = ulong(rows_all) * nsp * uint(DV) + (ulong(row) * nsp + sp) * 2u;
        part[at] = PT(top);
        part[at + 1u] = PT(total);
      }
    }
  }
