'use strict';
// Least recently used first; never more than `limit` entries.
class BoundedCache {
  constructor(limit) { this.limit = limit; this.entries = new Map(); }
  get(k, make) {
    let v = this.entries.get(k);
    if (v === undefined) v = make(k); else this.entries.delete(k);
    this.entries.set(k, v);
    if (this.entries.size > this.limit) this.entries.delete(this.entries.keys().next().value);
    return v;
  }
}
module.exports = { BoundedCache };
