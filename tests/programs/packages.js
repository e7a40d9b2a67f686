// Holds objects of two packages and of its own, with sizes that are easy to tell, then writes a heap snapshot:
// node packages.js FOLDER SNAPSHOT. The packages are made in FOLDER first.
const fs = require('fs');
const path = require('path');
const [folder, snapshot] = process.argv.slice(2);

function module_(name, text) {
  const place = path.join(folder, 'node_modules', ...name.split('/'));
  fs.mkdirSync(place, { recursive: true });
  fs.writeFileSync(path.join(place, 'index.js'), text);
}

module_('hoarder', `
class Hoard { constructor() { this.rows = []; } add(i) { this.rows.push(new Row(i)); } }
class Row { constructor(i) { this.cells = new Array(64).fill(i); } }
module.exports = { Hoard };
`);
module_('@scope/ticker', `
const deep = require('deep');
class Ticker { constructor() { this.listeners = []; } on(f) { this.listeners.push(f); } every(i) { const text = 'tick ' + i; this.on(() => text.length); } }
module.exports = { Ticker, box: deep.box };
`);
module_('@scope/ticker/node_modules/deep', `
class Box { constructor(inside) { this.inside = inside; } }
module.exports = { box: (inside) => new Box(inside) };
`);
fs.writeFileSync(path.join(folder, 'main.js'), `
const { Hoard } = require('hoarder');
const { Ticker, box } = require('@scope/ticker');
class Shop { constructor() { this.hoard = new Hoard(); this.ticker = new Ticker(); this.boxes = []; } }
const shop = new Shop();
for (let i = 0; i < 3000; i++) shop.hoard.add(i);
for (let i = 0; i < 1000; i++) shop.ticker.every(i);
for (let i = 0; i < 500; i++) shop.boxes.push(box({ i: 'inside ' + i }));
module.exports = shop;
`);
globalThis.shop = require(path.join(folder, 'main.js'));
require('v8').writeHeapSnapshot(snapshot);
