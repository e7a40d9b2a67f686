// A run: what it is of, what the rules say, and the largest of everything.
import { bar, count, el, name, size, soft } from "./shared.js";
import { ask } from "./ask.js";
import { go, href } from "./route.js";
import { classLink, coverage, finding, later, nodeLink, section, share, tiles } from "./parts.js";
import { treemap } from "./treemap.js";

export const PLACES = [["run", "Overview"], ["findings", "Findings"], ["classes", "Classes"], ["objects", "Objects"], ["owners", "Owners"], ["tree", "Dominator tree"], ["duplicates", "Duplicates"]];
export const OF_TRACES = [["run", "Overview"], ["findings", "Findings"], ["types", "Types"]];

export const facts = (run) => {
  const labels = Object.entries(run.labels || {}).map(([key, value]) => name(key + "=" + value));
  const list = [
    ["Captured", run.captured_at ? el("time", { datetime: run.captured_at }, run.captured_at.slice(0, 19).replace("T", " ")) : "not known"],
    labels.length > 0 ? ["Labels", labels.map((label, i) => [i > 0 ? ", " : null, label])] : null,
    ["Input", [name(run.source || ""), ", ", name(run.format)]],
  ].filter(Boolean);
  return el("dl", { class: "facts" }, list.map(([what, value]) => el("div", null, el("dt", null, what), el("dd", null, value))));
};

const small = (titles, rows) => el("div", { class: "scroll" }, el("table", null, el("thead", null, el("tr", null, titles.map((title, at) => el("th", { scope: "col", class: at === 0 ? "text" : null }, title)))), el("tbody", null, rows)));

const ofTrace = (data, answer, run) => [
  ...coverage(answer),
  section("Findings", (data.suspects || []).map((one) => finding(run, one)), soft(el("a", { href: href("findings", { run }) }, "All findings"))),
  ...Object.entries(data.allocations || {}).map(([what, rows]) => section(what[0].toUpperCase() + what.slice(1) + " that allocate most", small(["Name", "Bytes", "Objects"], rows.map((row) => el("tr", null, el("td", { class: "text" }, name(row.name)), el("td", null, size(row.bytes || 0)), el("td", null, count(row.count || 0))))))),
];

// The map of an object's part of the dominator tree; a box leads to its own.
export const mapOf = async (run, node, signal) => {
  const answer = await ask("tree", { run, node, depth: 4 }, signal);
  const objects = answer.heap_data.objects || [];
  if (objects.length < 2) return soft("It dominates no other object.");
  const top = objects[0];
  return treemap(objects, { open: (at) => go(objects.some((one) => one.parent !== undefined && objects[one.parent].node === at) ? "tree" : "object", { run, node: at }), file: ["dominators", run, String(top.node)], label: "Treemap of the dominator tree: " + top.class + ", " + size(top.retained_bytes) });
};

export const run = async ({ values, signal }) => {
  const run = values.run;
  const answer = await ask("overview", { run }, signal);
  const data = answer.heap_data;
  const about = data.run;
  const head = [el("h1", null, name(run)), facts(about)];
  if (data.allocations) return { title: run, run, places: OF_TRACES, head, parts: ofTrace(data, answer, run) };
  const whole = about.heap_bytes;
  const classRow = (row) => el("tr", null, el("td", { class: "text" }, classLink(run, row.class_id, row.class), row.held_by ? el("div", { class: "soft" }, "held by ", name(row.held_by)) : null), el("td", null, size(row.retained_bytes), bar(row.retained_bytes, whole)), el("td", null, share(row.retained_bytes, whole)), el("td", null, count(row.count)));
  const ownerRow = (row) => el("tr", null, el("td", { class: "text" }, el("a", { href: href("objects", { run, owner: row.owner }) }, name(row.owner))), el("td", null, size(row.retained_bytes)), el("td", null, share(row.retained_bytes, whole)));
  const objectRow = (row) => el("tr", null, el("td", { class: "text" }, nodeLink(run, row)), el("td", null, size(row.retained_bytes)), el("td", null, share(row.retained_bytes, whole)));
  const largest = async () => {
    const top = await ask("top", { run, what: "objects", limit: 10 }, signal);
    return [small(["Object", "Retained", "of heap"], (top.heap_data.objects || []).map(objectRow)), soft(el("a", { href: href("objects", { run }) }, "More objects"))];
  };
  return {
    title: run, run, head,
    parts: [
      tiles([
        ["Heap", size(whole), about.native_bytes ? "and " + size(about.native_bytes) + " of native memory" : null],
        ["Objects", count(about.objects), count(about.edges) + " references"],
        about.unreachable_bytes ? ["Unreachable", size(about.unreachable_bytes)] : null,
        about.partial ? ["Damaged", "partial", JSON.stringify(about.partial).slice(0, 80)] : null,
      ]),
      section("Findings", ...coverage(answer), el("div", { class: "cards" }, (data.suspects || []).map((one) => finding(run, one))), soft(el("a", { href: href("findings", { run }) }, "All findings"))),
      section("Map of the dominator tree", soft("What is inside a box is freed with it. A box opens with a click or Enter."), later(() => mapOf(run, null, signal))),
      section("Largest classes", small(["Class", "Retained", "of heap", "Objects"], (data.classes || []).map(classRow)), soft(el("a", { href: href("classes", { run }) }, "All classes"))),
      section("Largest objects", later(largest)),
      section("Largest owners", small(["Owner", "Retained", "of heap"], (data.owners || []).map(ownerRow)), soft(el("a", { href: href("owners", { run }) }, "All owners"))),
    ],
  };
};
