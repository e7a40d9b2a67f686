'use strict';
const i18next = require('i18next');
const { text } = require('./lib/sample.cjs');
const resources = {};
for (const lng of ['en', 'de', 'fr', 'it', 'pl', 'pt']) resources[lng] = { translation: Object.fromEntries(Array.from({ length: 4000 }, (_, i) => ['page' + i % 40 + '_' + i, text(70)])) };
i18next.init({ lng: 'en', showSupportNotice: false, fallbackLng: 'en', keySeparator: false, resources }).then(() => {
  require('http').createServer((req, res) => res.end(i18next.t(req.url.slice(1)))).listen(0, () => require('./lib/heapdump.cjs').whenIdle());
});
