'use strict';
const i18next = require('i18next');
const { text } = require('./lib/sample.cjs');
const { PageFormatter } = require('./i18next-observers/formatter.cjs');
const words = (n) => Object.fromEntries(Array.from({ length: n }, (_, i) => ['k' + i, text(60)]));
i18next.init({ lng: 'en', showSupportNotice: false, resources: { en: { translation: { title: 'Hello {{name}}', ...words(5000) } }, de: { translation: { title: 'Hallo {{name}}', ...words(5000) } } } }).then(() => {
  for (let i = 0; i < 4000; i++) new PageFormatter({ name: 'p' + i, blocks: [text(900), text(700)], meta: { seo: text(300) } }).title();
  setInterval(() => i18next.t('title'), 8000);
  require('./lib/heapdump.cjs').whenIdle();
});
