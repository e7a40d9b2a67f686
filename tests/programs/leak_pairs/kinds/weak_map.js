import { MANY, Session } from "../session.js";

class Key {}

class Annotations {
  keys = [];
  notes = new WeakMap();
}

const annotations = new Annotations();

export function leak() {
  for (let user = 0; user < MANY; user++) {
    const key = new Key();
    annotations.keys.push(key);
    annotations.notes.set(key, new Session(user));
  }
}
