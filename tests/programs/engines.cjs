// Sessions that are never closed, in an array, and then a heap snapshot in V8's format, by Bun or Deno:
// bun engines.cjs OUT.heapsnapshot, deno run -A engines.cjs OUT.heapsnapshot.
//
// `tests/fixtures/v8/bun14_sessions` is what Bun 1.4.5 wrote; `deno29_sessions` is of Deno 2.9.6, thinned: without code,
// maps, native and hidden nodes, numbers and symbols.
'use strict';

class Session {
  constructor(i) {
    this.id = i;
    this.user = ('user ' + i + ' ').padEnd(600, 'x' + i);
  }
}

class Sessions {
  constructor() {
    this.open = [];
  }

  add(i) {
    this.open.push(new Session(i));
  }
}

globalThis.sessions = new Sessions();
for (let i = 0; i < 4000; i++) globalThis.sessions.add(i);

const out = process.argv[2];
if (typeof Bun !== 'undefined') require('fs').writeFileSync(out, Bun.generateHeapSnapshot('v8'));
else require('node:v8').writeHeapSnapshot(out);
