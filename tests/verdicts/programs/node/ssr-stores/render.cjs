'use strict';
const React = require('react');
const { renderToString } = require('react-dom/server');
const { createStore } = require('redux');
const h = React.createElement;
const storesByRequest = {};
function Page({ store }) { const s = store.getState(); return h('ul', null, s.lines.map((l, i) => h('li', { key: i }, l.sku + l.qty))); }
exports.renderOrder = function renderOrder(requestId, order) {
  const store = storesByRequest[requestId] = createStore((s = order) => s);
  return renderToString(h(Page, { store }));
};
