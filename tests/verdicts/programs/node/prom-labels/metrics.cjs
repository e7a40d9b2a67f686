'use strict';
const client = require('prom-client');
const requestDuration = new client.Histogram({ name: 'http_request_duration_seconds', help: 'time per request', labelNames: ['method', 'path', 'status'], buckets: [0.01, 0.05, 0.1, 0.5, 1, 5] });
exports.observe = (req, status, s) => requestDuration.observe({ method: req.method, path: req.url, status }, s);
