'use strict';
class Statement {
  constructor(sql) { this.tokens = sql.split(/[\s,()]+/); this.plan = this.tokens.map((t, i) => ({ t, i })); }
  run() { return this.plan.length; }
}
// Statements can be collected when nobody runs them any more.
class StatementCache {
  constructor() { this.preparedBySql = new Map(); this.hits = 0; }
  prepare(sql) {
    const known = this.preparedBySql.get(sql)?.deref();
    if (known) { this.hits++; return known; }
    const made = new Statement(sql);
    this.preparedBySql.set(sql, new WeakRef(made));
    return made;
  }
}
exports.StatementCache = StatementCache;
