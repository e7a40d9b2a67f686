
  // ---- the page, from top to bottom ----
  head();
  if (data.trace) traceTiles();
  else tiles();
  findings();
  if (!data.trace) {
    dominators();
    classes();
    holders();
    owners();
    chains();
    duplicates();
    objects();
  }
  if (data.alive) alive();
  if (data.old_objects || (data.trace && data.trace.old_object_count > 0)) oldObjects();
  if (data.allocations) allocations();
  stages();
  addEventListener("hashchange", arrive);
  arrive();
