'use strict';
class ConsoleCapture {
  constructor() { this.output = ''; this.lines = 0; }
  write(line) { this.output += line + '\n'; this.lines++; }
  lastLines() { return this.lines; }
}
module.exports = new ConsoleCapture();
