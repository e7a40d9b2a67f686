import { MANY, Session } from "../session.js";

class Gate {
  waiting = [];
}

const gate = new Gate();

async function enter(session) {
  await new Promise((open) => gate.waiting.push(open));
  return session.views.length;
}

export function leak() {
  for (let user = 0; user < MANY; user++) enter(new Session(user));
}
