import { MANY, Session } from "../session.js";

class Job {
  constructor(session, next) {
    this.session = session;
    this.next = next;
  }
}

class Backlog {
  head = null;
}

const backlog = new Backlog();

export function leak() {
  for (let user = 0; user < MANY; user++) backlog.head = new Job(new Session(user), backlog.head);
}
