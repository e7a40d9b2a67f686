'use strict';
exports.auditQueries = function auditQueries(knex, request) {
  knex.on('query', (q) => { request.queries.push(q.sql); });
};
