'use strict';
class ErrorReporter {
  constructor() { this.unsent = []; this.online = false; }
  capture(err, request) { err.request = request; this.unsent.push(err); if (this.online) this.flush(); }
  flush() { this.unsent.length = 0; }
}
module.exports = new ErrorReporter();
