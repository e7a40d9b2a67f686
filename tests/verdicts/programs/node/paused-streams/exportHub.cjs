'use strict';
const { PassThrough } = require('stream');
const { text } = require('../lib/sample.cjs');
class ExportHub {
  constructor() { this.openExports = new Set(); }
  start(id) {
    const out = new PassThrough({ objectMode: true, highWaterMark: 64 });
    this.openExports.add(out);
    out.on('end', () => this.openExports.delete(out));
    for (let i = 0; i < 60; i++) out.write({ export: id, row: i, columns: [text(60), text(60)] });
    out.end();
    return out;
  }
}
module.exports = new ExportHub();
