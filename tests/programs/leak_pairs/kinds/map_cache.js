import { MANY, Session } from "../session.js";

class SessionCache {
  sessions = new Map();
}

const cache = new SessionCache();

export function leak() {
  for (let user = 0; user < MANY; user++) cache.sessions.set(user, new Session(user));
}
