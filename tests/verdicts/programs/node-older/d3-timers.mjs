import { createRequire } from 'module';
import { parseHTML } from 'linkedom';
import { Sparkline } from './d3-timers/sparkline.mjs';
const require = createRequire(import.meta.url);
const { catalog, text, rnd, WORDS } = require('./lib/sample.cjs');
const goods = catalog(5000);
const { document } = parseHTML('<html><body><h1>Plant</h1><div id="board"></div></body></html>');
const board = document.getElementById('board');
const machines = Array.from({ length: 300 }, (_, i) => ({ id: 'm' + i, hall: WORDS[rnd(26)], manual: text(1200) }));
for (let i = 0; i < 520; i++) {
  board.innerHTML = ''; // another machine is shown
  new Sparkline(document, board, machines[i % 300], Array.from({ length: 14 }, () => rnd(100)));
}
board.innerHTML = '<p>Choose a machine.</p>';
setInterval(() => goods.size + machines.length, 8000);
require('./lib/heapdump.cjs').whenIdle();
