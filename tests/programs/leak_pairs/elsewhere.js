// Code elsewhere in the bundle, before the change.
class Formatter {
  format(value) {
    return "<" + value + ">";
  }
}

export function warmUp() {
  return new Formatter().format(1);
}
