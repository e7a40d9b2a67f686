'use strict';
const { text } = require('../lib/sample.cjs');
exports.mountTenant = function mountTenant(app, tenant) {
  const settings = { tenant, css: text(1500), menu: Array.from({ length: 6 }, () => text(40)) };
  app.get('/t/' + tenant + '/home', function tenantHome(req, res) { res.json({ css: settings.css.length, menu: settings.menu }); });
};
