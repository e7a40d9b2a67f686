'use strict';
const Ajv = require('ajv').default || require('ajv');
const ajv = new Ajv({ strict: false });
exports.checkForm = function checkForm(fields, body) {
  const schema = { type: 'object', required: fields.slice(0, 2), properties: Object.fromEntries(fields.map((f) => [f, { type: 'string', minLength: 1, maxLength: 80 }])) };
  return ajv.compile(schema)(body);
};
