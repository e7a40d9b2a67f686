// Code elsewhere in the bundle, after the change: more lines, more functions, and names that other files have as well.
const units = ["B", "KiB", "MiB"];

class Rounding {
  constructor(digits) {
    this.digits = digits;
  }

  of(value) {
    return Math.round(value * 10 ** this.digits) / 10 ** this.digits;
  }
}

class Formatter {
  rounding = new Rounding(2);

  format(value) {
    const at = value > 1024 ? 1 : 0;
    return "<" + this.rounding.of(value) + units[at] + ">";
  }
}

const cache = new Map();
const log = (text) => cache.set(text.length, text);
const registry = [new Formatter(), new Formatter()];

function later(value) {
  return () => log(registry[0].format(value));
}

export function warmUp() {
  return [later(1), later(2)].map((format) => format());
}
