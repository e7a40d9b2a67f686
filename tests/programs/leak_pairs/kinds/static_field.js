import { MANY, Session } from "../session.js";

class Store {
  static all = [];
}

export function leak() {
  for (let user = 0; user < MANY; user++) Store.all.push(new Session(user));
  return Store;
}
