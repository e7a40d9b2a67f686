'use strict';
const winston = require('winston');
const { Writable } = require('stream');
const logger = winston.createLogger({ level: 'info', format: winston.format.json(), transports: [new winston.transports.Console({ silent: true })] });
logger.setMaxListeners(0);
exports.logFor = function logFor(req) {
  const lines = [];
  const sink = new Writable({ write(chunk, enc, cb) { lines.push(chunk); cb(); } });
  logger.add(new winston.transports.Stream({ stream: sink, level: 'error' }));
  return { error: (m) => logger.error(m, { path: req.path }), lines, req };
};
