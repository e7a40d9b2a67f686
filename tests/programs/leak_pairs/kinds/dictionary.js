import { MANY, Session } from "../session.js";

class Directory {
  byToken = {};
}

const directory = new Directory();

export function leak() {
  for (let user = 0; user < MANY; user++) directory.byToken["t" + user * 7919] = new Session(user);
}
