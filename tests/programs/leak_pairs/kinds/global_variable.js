import { MANY, Session } from "../session.js";

export function leak() {
  globalThis.lateSessions = [];
  for (let user = 0; user < MANY; user++) globalThis.lateSessions.push(new Session(user));
}
