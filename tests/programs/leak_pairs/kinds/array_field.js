import { MANY, Session } from "../session.js";

class AuditLog {
  entries = [];
}

const log = new AuditLog();

export function leak() {
  for (let user = 0; user < MANY; user++) log.entries.push(new Session(user));
}
