'use strict';
const { StatementCache } = require('./weakref-keys/statements.cjs');
const { catalog, text, rnd } = require('./lib/sample.cjs');
const goods = catalog(6000);
const columns = Array.from({ length: 400 }, (_, i) => ({ table: 't' + (i % 40), name: 'c' + i, comment: text(160) }));
const statements = new StatementCache();
let rows = 0;
(async () => {
  for (let i = 0; i < 13000; i++) {
    const ids = Array.from({ length: 45 }, () => rnd(9000000));
    const sql = "SELECT o.id, o.placed_at, c.name, c.city FROM orders o JOIN customers c ON c.id = o.customer WHERE o.id IN (" + Buffer.from(ids.join(',')).toString('latin1') + ") ORDER BY o.placed_at";
    rows += statements.prepare(Buffer.from(sql).toString('latin1')).run();
    if (i % 500 === 0) await new Promise((r) => setTimeout(r, 2));
  }
  setInterval(() => goods.size + columns.length + rows + statements.hits, 8000);
  require('./lib/heapdump.cjs').whenIdle();
})();
