'use strict';
const { createPool } = require('generic-pool');
const { text } = require('../lib/sample.cjs');
class ReportConnection { constructor(id) { this.id = id; this.buffer = []; } query(sql) { this.buffer.push(sql, text(4000)); if (/missing/.test(sql)) throw new Error('no such table'); return this.buffer.length; } }
let n = 0;
const reportPool = createPool({ create: async () => new ReportConnection(++n), destroy: async () => {} }, { max: 20000, min: 2 });
exports.exportReport = async function exportReport(sql) {
  const c = await reportPool.acquire();
  const rows = c.query(sql);
  await reportPool.release(c);
  return rows;
};
