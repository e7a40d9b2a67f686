'use strict';
const { InboxPoller } = require('./recursive-poll/inbox.cjs');
const { catalog, text } = require('./lib/sample.cjs');
const goods = catalog(6000);
const answers = Array.from({ length: 50 }, (_, i) => ({ topic: i, body: text(8000) }));
const poller = new InboxPoller();
poller.pollFrom(0).catch(() => 0);
setInterval(() => goods.size + answers.length + poller.handled, 8000);
const whenDone = setInterval(() => { if (poller.handled >= 12000) { clearInterval(whenDone); require('./lib/heapdump.cjs').whenIdle(); } }, 50);
