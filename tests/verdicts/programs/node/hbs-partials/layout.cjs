'use strict';
const Handlebars = require('handlebars');
const page = Handlebars.compile('<html>{{> (which)}}</html>');
exports.renderPage = function renderPage(req, content) {
  const name = 'content-' + req.id;
  Handlebars.registerPartial(name, content);
  return page({ which: () => name });
};
