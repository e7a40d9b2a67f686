import { MANY, Session } from "../session.js";

class Key {}

class Annotations {
  // The way over the keys is longer than that over the map, so that it is no tie which of them is a path.
  keys = { known: { list: [] } };
  notes = new WeakMap();
}

const annotations = new Annotations();

export function leak() {
  for (let user = 0; user < MANY; user++) {
    const key = new Key();
    annotations.keys.known.list.push(key);
    annotations.notes.set(key, new Session(user));
  }
}
