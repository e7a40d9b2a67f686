'use strict';
const { text } = require('../lib/sample.cjs');
let currentBatch = null;
exports.rotateBatch = function rotateBatch(no) {
  const previous = currentBatch;
  const explain = function () { if (previous) return 'after ' + previous.no; };
  currentBatch = { no, payload: text(20000), flush() { return 'flushed'; } };
  return typeof explain;
};
