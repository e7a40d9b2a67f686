// An object: what it is, its fields, its references in both directions, what keeps it alive, and what it keeps.
import { count, el, name, plural, size, soft } from "./shared.js";
import { ask } from "./ask.js";
import { href } from "./route.js";
import { classLink, coverage, distance, later, nodeLink, nodeText, pathSteps, section, setLink, share, short } from "./parts.js";
import { about, further, objectColumns } from "./lists.js";
import { table } from "./table.js";

const referenceColumns = (run) => [
  { title: "Reference", text: true, value: (row) => row.edge, cell: (row) => [name(short(row.edge || "")), row.essential === false ? el("span", { class: "soft" }, " weak") : null] },
  { title: "Object", text: true, value: nodeText, cell: (row) => nodeLink(run, row) },
  { title: "Retained", value: (row) => row.retained_bytes, cell: (row) => size(row.retained_bytes) },
  { title: "Kind", value: (row) => row.kind, cell: (row) => name(row.kind) },
  { title: "Node", value: (row) => row.node, cell: (row) => String(row.node) },
];

// References of one direction: those of the answer about the object, or all in pages.
const references = (run, node, direction, rows, total, label, signal) => {
  if (rows === undefined && total === undefined) return soft("The run has no table of references.");
  const options = { placeholder: "Filter " + direction.replace("_", " "), label, file: [direction, String(node), run], words: (row) => row.edge + " " + nodeText(row) };
  const place = el("div");
  const show = (list, more) => place.replaceChildren(...table("references-" + direction, referenceColumns(run), list, { ...options, total, next: more }).view);
  const all = async () => {
    const args = { run, node, direction, limit: 200 };
    const answer = await ask("references", args, signal);
    return { rows: answer.heap_data.references || [], next: further("references", args, "references", answer, signal), answer };
  };
  // The first page of all replaces the few, whose order may be another.
  const more = rows && total > rows.length ? async () => {
    const first = await all();
    show(first.rows, first.next);
    return null;
  } : null;
  show(rows || [], more);
  return place;
};

const fieldColumns = (run) => [
  { title: "Field", text: true, value: (row) => row.name, cell: (row) => name(short(row.name)) },
  { title: "Kind", value: (row) => row.kind, cell: (row) => name(row.kind) },
  { title: "Value", text: true, value: (row) => row.value ?? row.class ?? "", cell: (row) => [row.value === undefined ? null : name(row.value), row.to === undefined ? null : [row.value === undefined ? null : " ", el("a", { href: href("object", { run, node: row.to }) }, name(short(row.class || "node")), " " + row.to)], row.set === undefined ? null : [" ", setLink(run, row.set)]] },
];

const fields = (run, node, data, signal) => {
  if (data.fields === undefined) return soft(data.fields_total === 0 ? "It has none." : "The run has no table of values: heaplake analyze --values adds it.");
  const total = data.fields_total;
  const args = { run, node, limit: 200 };
  let rest = total > data.fields.length ? async () => {
    const { rows, next } = await ask("fields", args, signal).then((answer) => ({ rows: answer.heap_data.fields || [], next: further("fields", args, "fields", answer, signal) }));
    const beyond = rows.slice(data.fields.length);
    rest = next;
    return { rows: beyond, more: next !== null };
  } : null;
  const next = rest === null ? null : () => rest();
  return table("fields", fieldColumns(run), data.fields, { placeholder: "Filter fields", label: "Fields", file: ["fields", String(node), run], total, next, words: (row) => row.name + " " + (row.value ?? "") + " " + (row.class ?? "") }).view;
};

const several = (run, node, signal) => {
  const place = el("div");
  const button = el("button", { type: "button", class: "plain", onclick: () => {
    button.hidden = true;
    place.append(later(async () => {
      const answer = await ask("why", { run, node, paths: 10 }, signal);
      const paths = answer.heap_data.paths || [];
      return [...coverage(answer), paths.length === 0 ? soft("There is no other path over references that keep it alive.") : paths.map((path, at) => [el("h3", null, "Path " + (at + 1)), pathSteps(run, path.steps)])];
    }));
  } }, "Up to ten paths");
  place.append(el("p", null, button));
  return place;
};

const why = async (run, node, signal) => {
  const answer = await ask("why", { run, node }, signal);
  const data = answer.heap_data;
  const stored = data.path_of_finding ? el("ol", { class: "path" }, data.path_of_finding.map((one) => el("li", null, name(one.step)))) : null;
  return [
    ...coverage(answer),
    el("h3", null, "A shortest path from a root"), data.path ? pathSteps(run, data.path) : stored || soft("It is not known."),
    data.path ? several(run, node, signal) : null,
    el("h3", null, "Dominators"), soft("Each of them alone keeps alive what is below it."), pathSteps(run, data.dominators),
  ];
};

const dominated = async (run, node, whole, signal) => {
  const args = { run, node, limit: 50 };
  const answer = await ask("dominated", args, signal);
  const rows = answer.heap_data.children || [];
  if (rows.length === 0) return soft("It alone keeps no other object alive.");
  const made = table("dominated", objectColumns(run, whole), rows, { placeholder: "Filter what is read", label: "Children in the dominator tree", file: ["dominated", String(node), run], total: answer.coverage.total, next: further("dominated", args, "children", answer, signal), words: nodeText });
  return [soft(el("a", { href: href("tree", { run, node }) }, "As a tree and a map")), made.view];
};

const factsOf = (run, one, whole) => {
  const list = [
    ["Class", one.class_id === undefined ? name(one.class) : classLink(run, one.class_id, one.class)],
    ["Retained", size(one.retained_bytes) + (whole ? ", " + share(one.retained_bytes, whole) + " of the heap" : "")],
    ["Shallow", size(one.shallow_bytes)],
    ["Kind", one.kind ? name(one.kind) : ""],
    ["Distance", distance(one.distance)],
    ["Dominator", one.dominator === undefined ? "" : el("a", { href: href("object", { run, node: one.dominator }) }, "node " + one.dominator)],
    ["Owner", one.owner ? el("a", { href: href("objects", { run, owner: one.owner }) }, name(one.owner)) : ""],
    ["Source", one.place ? name(one.place) : ""],
    ["Duplicates", one.duplicate_set === undefined ? "" : setLink(run, one.duplicate_set)],
    ["Node", String(one.node)], ["Id", one.id === undefined ? "" : "@" + one.id],
  ];
  return el("dl", { class: "facts" }, list.filter(([, value]) => value !== "").map(([what, value]) => el("div", null, el("dt", null, what), el("dd", null, value))));
};

export const object = async ({ values, signal }) => {
  const { run } = values;
  const { whole } = await about(run, signal);
  const answer = await ask("object", { run, node: values.node }, signal);
  const data = answer.heap_data;
  const one = data.object;
  const { node } = one;
  const held = data.held_by_total === undefined ? "" : plural(data.held_by_total, "reference", "references") + " to it; ";
  return {
    title: short(nodeText(one)), run,
    head: [el("h1", null, name(nodeText(one))), factsOf(run, one, whole)],
    parts: [
      ...coverage({ ...answer, coverage: { ...answer.coverage, cut: (answer.coverage.cut || []).filter((cut) => !/^(holds|held_by):/.test(cut)) } }),
      section("Why it is alive", later(() => why(run, node, signal))),
      section("Fields", fields(run, node, data, signal)),
      section("References to it", soft(held, data.holds_total === undefined ? "" : "it has " + count(data.holds_total) + "."), references(run, node, "held_by", data.held_by, data.held_by_total, "References to the object", signal)),
      section("References of it", references(run, node, "holds", data.holds, data.holds_total, "References of the object", signal)),
      section("What it keeps alive", later(() => dominated(run, node, whole, signal))),
    ],
  };
};
