import { MANY, Session } from "../session.js";

class Pipeline {
  steps = new Map();
}

const pipeline = new Pipeline();

function* process(session) {
  yield session.user;
  return session.views;
}

export function leak() {
  for (let user = 0; user < MANY; user++) {
    const steps = process(new Session(user));
    steps.next();
    pipeline.steps.set("p" + user, steps);
  }
}
