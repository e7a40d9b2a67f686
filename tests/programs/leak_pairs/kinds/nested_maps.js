import { MANY, Session } from "../session.js";

class Tenants {
  byName = new Map();
}

const tenants = new Tenants();

export function leak() {
  for (let user = 0; user < MANY; user++) {
    const name = "tenant " + (user % 50);
    if (!tenants.byName.has(name)) tenants.byName.set(name, new Map());
    tenants.byName.get(name).set(user, new Session(user));
  }
}
