// Lists of a run: findings, classes, objects, owners, types, the dominator tree, sets of duplicates.
import { bar, capital, count, el, name, plural, size, soft } from "./shared.js";
import { ask, askAll } from "./ask.js";
import { amend, go, href } from "./route.js";
import { classLink, coverage, distance, finding, later, nodeLink, nodeText, section, setLink, share, short } from "./parts.js";
import { mapOf, OF_TRACES } from "./run.js";
import { table } from "./table.js";
import { dominatorTree } from "./tree.js";

// Bytes of the heap of a run, for shares, and whether it is of a trace.
export const about = async (run, signal) => {
  const { heap_data: data } = await ask("overview", { run }, signal);
  return { whole: data.run.heap_bytes || 0, places: data.allocations ? OF_TRACES : undefined };
};
const titled = (run, words) => [el("h1", null, words), soft("Run ", name(run))];
const bytesColumn = (title, key, whole) => ({ title, value: (row) => row[key], cell: (row) => (row[key] === undefined ? "" : whole ? [size(row[key]), bar(row[key], whole)] : size(row[key])) });
const numberColumn = (title, key) => ({ title, value: (row) => row[key], cell: (row) => (row[key] === undefined ? "" : count(row[key])) });
const shareColumn = (whole) => ({ title: "of heap", value: (row) => row.retained_bytes, csv: (row) => share(row.retained_bytes, whole), cell: (row) => share(row.retained_bytes, whole) });
export const objectColumns = (run, whole) => [
  { title: "Object", text: true, value: (row) => nodeText(row).toLowerCase(), csv: nodeText, cell: (row) => nodeLink(run, row) },
  bytesColumn("Retained", "retained_bytes"), shareColumn(whole), bytesColumn("Shallow", "shallow_bytes"),
  { title: "Distance", value: (row) => row.distance, cell: (row) => distance(row.distance) },
  { title: "Node", value: (row) => row.node, cell: (row) => String(row.node) },
];

// Reads further pages of a list.
export const further = (question, args, list, answer, signal) => {
  let cursor = answer.coverage.cursor;
  if (!cursor) return null;
  return async () => {
    const page = await ask(question, { ...args, cursor }, signal);
    cursor = page.coverage.cursor;
    return { rows: page.heap_data[list] || [], more: Boolean(cursor) };
  };
};

export const findings = async ({ values, signal }) => {
  const { run } = values;
  const { places } = await about(run, signal);
  const { rows, answer } = await askAll("findings", { run, severity: values.severity, limit: 200 }, "findings", signal);
  const level = el("select", { id: "severity", "aria-label": "Least severity", onchange: () => go("findings", { run, severity: level.value }) }, ["low", "medium", "high"].map((one) => el("option", { value: one, selected: one === (values.severity || "low") }, one + (one === "low" ? ": all" : one === "medium" ? " and above" : " only"))));
  const search = el("input", { type: "search", placeholder: "Filter findings", "aria-label": "Filter findings", value: values.q || "" });
  const list = el("div", { class: "cards" });
  const status = el("span", { class: "soft", role: "status" });
  const fill = () => {
    const wanted = search.value.toLowerCase();
    const found = rows.filter((one) => [one.statement, one.path || "", one.rule, one.owner || ""].join(" ").toLowerCase().includes(wanted));
    list.replaceChildren(...found.map((one) => finding(run, one)));
    status.textContent = count(found.length) + " of " + count(rows.length);
  };
  search.addEventListener("input", () => { fill(); amend({ q: search.value }); });
  fill();
  return { title: "Findings", run, places, head: titled(run, "Findings"), parts: [...coverage(answer), section("All findings", el("div", { class: "tools" }, search, el("label", { for: "severity" }, "Severity "), level, status), list)] };
};

export const classes = async ({ values, signal }) => {
  const { run } = values;
  const { whole } = await about(run, signal);
  const { rows } = await askAll("classes", { run }, "classes", signal);
  const columns = [
    { title: "Class", text: true, value: (row) => row.class.toLowerCase(), csv: (row) => row.class, cell: (row) => classLink(run, row.class_id, row.class) },
    bytesColumn("Retained", "retained_bytes", rows[0]?.retained_bytes), shareColumn(whole), bytesColumn("Shallow", "shallow_bytes"), numberColumn("Objects", "count"), bytesColumn("Largest", "max_retained_bytes"),
    rows.some((row) => row.duplicate_count !== undefined) ? numberColumn("In duplicate sets", "duplicate_count") : null,
    { title: "Class id", value: (row) => row.class_id, cell: (row) => String(row.class_id) },
  ].filter(Boolean);
  const made = table("classes", columns, rows, { by: 1, down: true, q: values.q, keeps: true, placeholder: "Filter classes", label: "Classes by retained size", file: ["classes", run], words: (row) => row.class });
  return { title: "Classes", run, head: titled(run, "Classes"), parts: [section("All classes", soft("Retained: what would be freed with all objects of the class, nothing counted twice."), made.view)] };
};

export const objects = async ({ values, signal }) => {
  const { run, owner } = values;
  const { whole } = await about(run, signal);
  // A name with the characters of patterns is meant as it is; brackets the server knows from names of arrays.
  const args = { run, what: "objects", class: values.class, owner: owner ? owner.replaceAll(/[?*]/g, "?") : null, limit: 200 };
  const answer = await ask("top", args, signal);
  const pattern = el("input", { type: "search", id: "pattern", value: values.class || "", placeholder: "Class, such as *Session*", "aria-label": "Pattern of classes" });
  const node = el("input", { type: "search", id: "node", placeholder: "Node, or @id", "aria-label": "Go to an object" });
  const form = el("form", { class: "tools", onsubmit: (event) => { event.preventDefault(); if (node.value.trim() !== "") go("object", { run, node: node.value.trim() }); else go("objects", { run, owner, class: pattern.value.trim() }); } }, pattern, node, el("button", { class: "plain" }, "Go"));
  const above = { title: "Dominators", text: true, value: (row) => (row.dominators || []).join(" › "), cell: (row) => (row.dominators || []).map((one, i) => [i > 0 ? " › " : null, name(short(one))]) };
  const columns = [...objectColumns(run, whole), above];
  const made = table("objects", columns, answer.heap_data.objects || [], { placeholder: "Filter what is read", label: "Objects by retained size", file: ["objects", run], next: further("top", args, "objects", answer, signal), words: nodeText });
  return { title: "Objects", run, head: titled(run, owner ? ["Objects of ", name(owner)] : "Largest objects"), parts: [...coverage(answer), section("Objects", form, made.view)] };
};

export const owners = async ({ values, signal }) => {
  const { run } = values;
  const { whole } = await about(run, signal);
  const { rows } = await askAll("top", { run, what: "owners", limit: 200 }, "owners", signal);
  const columns = [
    { title: "Owner", text: true, value: (row) => row.owner.toLowerCase(), csv: (row) => row.owner, cell: (row) => el("a", { href: href("objects", { run, owner: row.owner }) }, name(short(row.owner))) },
    bytesColumn("Retained", "retained_bytes", rows[0]?.retained_bytes), shareColumn(whole), bytesColumn("Freed", "freed_bytes"), bytesColumn("Shallow", "shallow_bytes"), numberColumn("Objects", "count"),
  ];
  const made = table("owners", columns, rows, { by: 1, down: true, q: values.q, keeps: true, placeholder: "Filter owners", label: "Owners by retained size", file: ["owners", run], words: (row) => row.owner });
  return { title: "Owners", run, head: titled(run, "Owners"), parts: [section("All owners", soft("Whose memory it is, by package, script or rule. Retained: each byte counts for one owner. Freed: what would be freed with the owner's objects."), made.view)] };
};

export const types = async ({ values, signal }) => {
  const { run } = values;
  const { rows, answer } = await askAll("top", { run, what: "types", limit: 200 }, "types", signal);
  const columns = [{ title: "Type", text: true, value: (row) => row.name, cell: (row) => name(short(row.name)) }, bytesColumn("Bytes", "bytes"), numberColumn("Objects", "count")];
  const made = table("types", columns, rows, { by: 1, down: true, q: values.q, keeps: true, placeholder: "Filter types", label: "Types by bytes", file: ["types", run], words: (row) => row.name });
  return { title: "Types", run, places: OF_TRACES, head: titled(run, "Types"), parts: [...coverage(answer), section("All types", made.view)] };
};

export const tree = async ({ values, signal }) => {
  const { run, node } = values;
  const { whole } = await about(run, signal);
  const first = await ask("dominated", { run, node, limit: 100 }, signal);
  const top = first.heap_data.object;
  const above = async () => {
    const why = await ask("why", { run, node }, signal);
    const steps = (why.heap_data.dominators || []).slice(0, -1);
    if (steps.length === 0) return null;
    return el("ol", { class: "crumbs", "aria-label": "Dominators" }, steps.map((one) => el("li", null, el("a", { href: href("tree", { run, node: one.node }) }, name(short(nodeText(one)))))));
  };
  return {
    title: "Dominator tree", run,
    head: [el("h1", null, "Dominator tree"), soft("Run ", name(run), ", below ", nodeLink(run, top), ", which retains " + size(top.retained_bytes) + ".")],
    parts: [
      node === undefined ? null : later(above),
      section("Map", later(() => mapOf(run, node, signal))),
      section("Tree", soft("Arrow keys move, open and close; Enter shows the object. Children are read when a row opens."), dominatorTree(run, top, whole, signal)),
    ],
  };
};

// Of a set that is only possible, or was not compared to the end: from what is certain to what is possible.
const additional = (row) => (row.additional_exact && row.status === "exact" ? size(row.additional_bytes) : size(row.additional_bytes_least || 0) + " to " + (row.additional_bytes_most === undefined ? "unknown" : size(row.additional_bytes_most)));

export const duplicates = async ({ values, signal }) => {
  const { run } = values;
  const args = { run, limit: 200 };
  const answer = await ask("sets", args, signal);
  const columns = [
    { title: "Class and preview", text: true, value: (row) => row.class, cell: (row) => [classLink(run, row.class_id, row.class), row.preview ? el("div", { class: "soft" }, name(short(row.preview))) : null] },
    { title: "Additional", value: (row) => row.additional_bytes, cell: additional },
    numberColumn("Members", "members"), bytesColumn("One member", "instance_bytes"),
    { title: "Status", value: (row) => row.status, cell: (row) => el("span", { title: row.reason || null }, row.status) },
    { title: "Held by", value: (row) => row.held_by, cell: (row) => (row.held_by === undefined ? "" : setLink(run, row.held_by)) },
    { title: "Set", value: (row) => row.set, cell: (row) => setLink(run, row.set) },
  ];
  const made = table("sets", columns, answer.heap_data.sets || [], { placeholder: "Filter what is read", label: "Sets of duplicates", file: ["duplicates", run], total: answer.coverage.total, next: further("sets", args, "sets", answer, signal), words: (row) => row.class + " " + (row.preview || "") + " " + row.status });
  return { title: "Duplicates", run, head: titled(run, "Duplicates"), parts: [...coverage(answer), section("Sets", soft("Additional: what would be freed if the members were merged into one. Sets nest, so these do not add up."), made.view)] };
};

export const set = async ({ values, signal }) => {
  const { run } = values;
  const { whole } = await about(run, signal);
  const args = { run, set: values.set, limit: 200 };
  const answer = await ask("members", args, signal);
  const { set, members } = answer.heap_data;
  const made = table("members", objectColumns(run, whole), members || [], { placeholder: "Filter what is read", label: "Members of the set", file: ["set", String(set.set), run], total: answer.coverage.total, next: further("members", args, "members", answer, signal), words: nodeText });
  const words = [capital(set.status) + ". ", plural(set.members, "member", "members"), " of ", classLink(run, set.class_id, set.class), ", ", size(set.instance_bytes) + " each, ", additional(set) + " to be freed by merging.", set.held_by === undefined ? null : [" Held by ", setLink(run, set.held_by), "."]];
  return { title: "Set " + set.set, run, head: titled(run, "Set " + set.set), parts: [...coverage(answer), section("Members", el("p", null, words), set.reason ? soft(el("bdi", null, set.reason)) : null, set.preview ? el("p", null, name(set.preview)) : null, made.view)] };
};
