// A schema of graphql that loads users through dataloader: node dataloader_global.cjs leaking|healthy OUT.heapsnapshot
//
// leaking: one loader for the whole process, which caches every user. healthy: a loader per request, as its manual says.
"use strict";
const v8 = require("node:v8");
const DataLoader = require("dataloader");
const { buildSchema, graphql } = require("graphql");

const [mode, out] = process.argv.slice(2);

class User {
  constructor(id) {
    this.id = id;
    this.name = "user " + id;
    this.roles = Array.from({ length: 20 }, (_, row) => ({ row, id }));
  }
}
const newLoader = () => new DataLoader(async (ids) => ids.map((id) => new User(id)));
const sharedLoader = newLoader();
const schema = buildSchema("type User { id: ID!, name: String! } type Query { user(id: ID!): User }");
const rootValue = { user: ({ id }, { loader }) => loader.load(id) };

async function main() {
  for (let id = 0; id < 8000; id += 1) {
    const contextValue = { loader: mode === "leaking" ? sharedLoader : newLoader() };
    const { errors } = await graphql({ schema, rootValue, contextValue, source: `{ user(id: ${id}) { id name } }` });
    if (errors) throw errors[0];
  }
  v8.writeHeapSnapshot(out);
  process.exit(0);
}
main();
