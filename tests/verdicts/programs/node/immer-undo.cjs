'use strict';
const { DocumentHistory } = require('./immer-undo/documentHistory.cjs');
const { text, catalog, rnd } = require('./lib/sample.cjs');
const goods = catalog(5000);
const whiteboard = new DocumentHistory({ shapes: Array.from({ length: 300 }, (_, i) => ({ id: i, x: i, y: i, label: text(30) })) });
for (let i = 0; i < 4000; i++) whiteboard.edit((d) => { d.shapes[rnd(300)].x += 1; });
setInterval(() => whiteboard.undo(), 9000);
setInterval(() => goods.size, 8000);
require('./lib/heapdump.cjs').whenIdle();
