import { MANY, Session } from "../session.js";

function poll(session) {
  setInterval(function refresh() {
    session.views[0]++;
  }, 1000000).unref();
}

export function leak() {
  for (let user = 0; user < MANY; user++) poll(new Session(user));
}
