'use strict';
const v8 = require('v8');
// Writes a snapshot when the work is over and nothing has happened for a while.
exports.whenIdle = (ms = 400) => setTimeout(() => {
  for (let i = 0; i < 4; i++) global.gc();
  setTimeout(() => {
    global.gc();
    v8.writeHeapSnapshot(process.env.SNAP);
    process.exit(0);
  }, 50);
}, ms);
