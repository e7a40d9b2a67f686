import { MANY, Session } from "../session.js";

class Registry {
  members = new Set();
}

const registry = new Registry();

export function leak() {
  for (let user = 0; user < MANY; user++) registry.members.add(new Session(user));
}
