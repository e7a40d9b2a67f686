// A class: sums, what holds its instances, and the instances.
import { count, el, name, size, soft } from "./shared.js";
import { ask } from "./ask.js";
import { href } from "./route.js";
import { coverage, nodeText, section, tiles } from "./parts.js";
import { about, further, objectColumns } from "./lists.js";
import { table } from "./table.js";

const object = (run) => ({ title: "For example", value: (row) => row.node, cell: (row) => el("a", { href: href("object", { run, node: row.node }) }, "node " + row.node) });
const path = { title: "Path", text: true, value: (row) => row.path, cell: (row) => name(row.path) };
const retained = { title: "Retained", value: (row) => row.retained_bytes, cell: (row) => size(row.retained_bytes) };

export const classView = async ({ values, signal }) => {
  const { run } = values;
  const { whole } = await about(run, signal);
  const args = { run, class: values.class, limit: 200 };
  const answer = await ask("class", args, signal);
  const { class: one, holders, chains, instances } = answer.heap_data;
  const held = [path, { title: "Instances", value: (row) => row.count, cell: (row) => count(row.count) + (row.looked_at === undefined ? "" : " of " + count(row.looked_at)) }, { title: "Held by nothing else", value: (row) => row.only_count, cell: (row) => (row.only_count === undefined ? "" : count(row.only_count)) }, retained, object(run)];
  const chain = [path, { title: "Instances", value: (row) => row.count, cell: (row) => count(row.count) }, retained, object(run)];
  const list = (id, columns, rows, label) => table(id, columns, rows, { placeholder: "Filter", label, file: [id, one.class, run], words: (row) => row.path }).view;
  const made = table("instances", objectColumns(run, whole), instances || [], { placeholder: "Filter what is read", label: "Instances by retained size", file: ["instances", one.class, run], total: answer.coverage.total, next: further("class", args, "instances", answer, signal), words: nodeText });
  return {
    title: one.class, run,
    head: [el("h1", null, name(one.class)), soft("Class " + one.class_id + " of run ", name(run))],
    parts: [
      tiles([["Objects", count(one.count), one.duplicate_count === undefined ? null : count(one.duplicate_count) + " in sets of duplicates"], ["Retained", size(one.retained_bytes)], ["Shallow", size(one.shallow_bytes)], ["Largest", size(one.max_retained_bytes)]]),
      ...coverage(answer),
      section("Holders", soft("Paths of holders, merged by class and field, the nearest holder last but one."), holders ? list("holders", held, holders, "Holders") : soft("The run has none for this class.")),
      section("Chains from a root", chains ? list("chains", chain, chains, "Chains") : soft("The run has none: only big classes have chains.")),
      section("Instances", made.view),
    ],
  };
};
