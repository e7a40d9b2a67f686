// Makes a big heap snapshot with a regular shape: records with many references, strings, arrays, maps.
//
//   node --max-old-space-size=8000 big.mjs OUT.heapsnapshot [RECORDS]
//
// The default of 960,000 records gives about 4.8 million nodes, 27 million edges and more than 540 MB of file: more
// than the longest string V8 can hold, so that readers which load the file as one string fail.
import v8 from 'node:v8';

const [out, recordsText = '960000'] = process.argv.slice(2);
const count = Number(recordsText);

class Item {
  constructor(n, all) {
    // References to earlier records in varying distance, so that the graph is neither a list nor a tree.
    const earlier = d => (n ? all[(n - 1 - (d * 7919) % n + n) % n] : null);
    this.name = 'record number ' + n + ' of the heap';
    this.previous = earlier(0);
    this.near = earlier(n % 17);
    this.far = earlier(n % 4099);
    this.half = n ? all[n >> 1] : null;
    this.parent = n ? all[n >> 4] : null;
    this.group = groups[n % groups.length];
    this.kind = kinds[n % kinds.length];
    this.number = n;
    this.price = n % 3 ? null : n / 7;
    this.links = n % 4 ? none : [this.near, this.far, this.half, this.parent, this.group, this.kind];
    this.note = n % 5 ? nothing : { text: this.name, of: this.parent, kind: this.kind };
  }
}
class Group { constructor(n) { this.label = 'group ' + n; this.members = new Map(); } }

const kinds = Array.from({ length: 20 }, (_, i) => 'kind ' + i);
const groups = Array.from({ length: 2000 }, (_, i) => new Group(i));
const none = [], nothing = {};
const all = [];
for (let n = 0; n < count; n++) {
  const item = new Item(n, all);
  all.push(item);
  if (n % 3 === 0) item.group.members.set(item.name, item);
}
globalThis.everything = { all, groups };
v8.writeHeapSnapshot(out);
