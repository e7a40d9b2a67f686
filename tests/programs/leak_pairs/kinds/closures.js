import { MANY, Session } from "../session.js";

class Scheduler {
  tasks = [];
}

const scheduler = new Scheduler();

function later(session) {
  return () => session.views.length;
}

export function leak() {
  for (let user = 0; user < MANY; user++) scheduler.tasks.push(later(new Session(user)));
}
