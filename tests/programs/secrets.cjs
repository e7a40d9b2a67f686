// Plants the texts of a list in a heap: node --expose-gc secrets.cjs ITEMS.json HEAP.heapsnapshot
// Each text is held by an object of a class of its own, as the list says: class, field, place, halves of the text.
'use strict';
const fs = require('fs');
const v8 = require('v8');

function plant(items) {
  return items.map(({ holder, field, place, first, second }) => {
    const Holder = new Function(`return class ${holder} {}`)();
    const object = new Holder();
    // A flat copy, as a program has it that read the text from a file or a connection.
    const text = place === 'pieces' ? first + second : Buffer.from(first + second).toString();
    switch (place) {
      case 'element':
        object[field] = [null, null, text];
        break;
      case 'map':
        object[field] = new Map([['id', text]]);
        break;
      default:
        object[field] = text;
    }
    return object;
  });
}

globalThis.planted = plant(JSON.parse(fs.readFileSync(process.argv[2], 'utf8')));
setTimeout(() => {
  globalThis.gc();
  v8.writeHeapSnapshot(process.argv[3]);
}, 10);
