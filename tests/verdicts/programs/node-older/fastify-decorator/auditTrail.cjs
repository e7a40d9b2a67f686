'use strict';
// Gives each request a list of what was done for it; it goes to the log when the request took long.
exports.auditTrail = function auditTrail(app) {
  app.decorateRequest('auditSteps', []);
  app.decorateRequest('note', function note(step, details) { this.auditSteps.push({ step, details, at: Date.now(), url: this.url, agent: this.headers['user-agent'] }); });
  app.addHook('onRequest', async (request) => request.note('received', { ip: request.ip, query: request.query }));
  app.addHook('preHandler', async (request) => request.note('parsed', { body: request.body }));
};
