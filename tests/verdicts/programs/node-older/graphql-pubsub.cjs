'use strict';
const { KitchenFeed, placeOrder } = require('./graphql-pubsub/kitchen.cjs');
const { order, catalog, text, rnd } = require('./lib/sample.cjs');
const goods = catalog(5000);
const menus = Array.from({ length: 250 }, (_, i) => ({ restaurant: i, dishes: Array.from({ length: 6 }, () => text(90)) }));
(async () => {
  let shown = 0;
  for (let i = 0; i < 260; i++) { // tablets come, read some orders and go away without a word
    const feed = new KitchenFeed('r' + i);
    const wait = feed.nextOrder();
    await new Promise(setImmediate);
    placeOrder('r' + i, order(i));
    shown += (await wait).value.orderPlaced.lines.length;
  }
  for (let i = 0; i < 8000; i++) { placeOrder('r' + rnd(260), order(i)); if (i % 400 === 0) await new Promise(setImmediate); }
  setInterval(() => goods.size + menus.length + shown, 8000);
  require('./lib/heapdump.cjs').whenIdle();
})();
