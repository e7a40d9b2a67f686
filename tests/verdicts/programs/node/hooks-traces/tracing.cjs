'use strict';
const hooks = require('async_hooks');
const spansByAsyncId = new Map();
let on = false;
hooks.createHook({
  init(id, type, trigger) { if (on) { const up = spansByAsyncId.get(trigger) || spansByAsyncId.get(hooks.executionAsyncId()); if (up) spansByAsyncId.set(id, up); } },
}).enable();
exports.begin = function begin(request) { on = true; spansByAsyncId.set(hooks.executionAsyncId(), { request, startedAt: Date.now(), marks: [] }); };
