'use strict';
const { Exporter } = require('./signal-any/exporter.cjs');
const { order, catalog, text } = require('./lib/sample.cjs');
const goods = catalog(5000);
const layouts = Array.from({ length: 80 }, (_, i) => ({ id: i, xml: text(5000) }));
(async () => {
  const exporter = new Exporter(new AbortController());
  let bytes = 0;
  for (let i = 0; i < 4000; i++) bytes += await exporter.exportOrder(order(i), new AbortController().signal);
  setInterval(() => goods.size + layouts.length + bytes + exporter.done, 8000);
  require('./lib/heapdump.cjs').whenIdle();
})();
