
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
  if (data.allocations) allocations();
  stages();
  addEventListener("hashchange", arrive);
  arrive();
