// The tail with its newest rows in it, sk and sv: all groups of a kv head copy a share. Arrays of their own, because the old
// ones may have other readers. Follows attend_begin.
  {
    const uint at = ((threadgroup_position_in_grid.y % NG) * nsp + sp) * uint(32 * NSG) + tid;
    tq_store_tail<DK>(tk, nk, sk, kvh, tcap, kept, uint(L), at, NG * nsp * uint(32 * NSG));
    tq_store_tail<DV>(tv, nv, sv, kvh, tcap, kept, uint(L), at, NG * nsp * uint(32 * NSG));
  }
