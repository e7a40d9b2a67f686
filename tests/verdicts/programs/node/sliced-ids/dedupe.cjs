'use strict';
const recentTraceIds = new Set();
exports.firstSeen = function firstSeen(line) {
  const at = line.indexOf('trace=') + 6;
  const id = line.slice(at, at + 32);
  if (recentTraceIds.has(id)) return false;
  recentTraceIds.add(id);
  return true;
};
