'use strict';
const hitsByAddress = {};
exports.rateLimit = function rateLimit(req, res, next) {
  const key = req.headers['x-forwarded-for'] + '|' + req.path;
  const list = hitsByAddress[key] || (hitsByAddress[key] = []);
  list.push({ at: Date.now(), url: req.url, agent: req.headers['user-agent'] });
  if (list.length > 50) return res.sendStatus(429);
  next();
};
