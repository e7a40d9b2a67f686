// Three snapshots of one process, around an action and after it was undone: node steps.cjs FOLDER
//
// writes base, target and final .heapsnapshot. What the action leaves behind: 40 of class Session in a registry, with texts and plain
// objects. What is undone: 60 of class Page. What is gone after it: half of class Entry that were there before.
// Interfaces of plain objects change their popularity in between: { amount, code, oneN } is an { amount, code }
// before and, where the second snapshot decides, a { amount, date } after.
'use strict';
const { writeHeapSnapshot } = require('node:v8');
const path = require('node:path');

class Entry {
  constructor(n) {
    this.n = n;
    this.text = `entry ${n} of the start`;
  }
}
class Session {
  constructor(n) {
    this.user = `user ${n} who stays`;
    this.rights = { read: `r${n}`, 'a, b': `w${n}` };
    this.entry = new Entry(1000 + n);
    this.times = [n, n + 0.5];
  }
}
class Page {
  constructor(n) {
    this.title = `page ${n} that is closed`;
    this.session = new Session(5000 + n);
  }
}
class Registry {
  constructor() {
    this.entries = [];
    this.sessions = [];
    this.pages = [];
    this.plain = [];
    this.mixed = [];
  }
}

const registry = new Registry();
globalThis.registry = registry;
for (let n = 0; n < 200; n++) registry.entries.push(new Entry(n));
for (let n = 0; n < 30; n++) registry.plain.push({ amount: `a${n}`, code: `c${n}` });
for (let n = 0; n < 20; n++) registry.plain.push({ amount: `a${n}`, date: `d${n}` });
for (let n = 0; n < 12; n++) registry.mixed.push({ amount: `a${n}`, code: 'x', date: 'y', [`one${n}`]: `z${n}` });
for (let n = 0; n < 6; n++) registry.mixed.push({ left: `l${n}`, 'a, "b"': `r${n}` });

const folder = process.argv[2];
const snapshot = name => writeHeapSnapshot(path.join(folder, `${name}.heapsnapshot`));

snapshot('base');
for (let n = 0; n < 60; n++) registry.pages.push(new Page(n));
for (let n = 0; n < 40; n++) registry.sessions.push(new Session(n));
for (let n = 0; n < 60; n++) registry.plain.push({ amount: `a${n}`, date: `later ${n}` });
for (let n = 0; n < 7; n++) registry.plain.push({ left: `only ${n}` });
registry.plain.splice(0, 5);
registry.entries.splice(0, 100);
registry.entries[0].grown = new Array(50).fill(1);
snapshot('target');
registry.pages.length = 0;
registry.sessions.splice(0, 10);
for (let n = 0; n < 25; n++) registry.entries.push(new Entry(9000 + n));
snapshot('final');
