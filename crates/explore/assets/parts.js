// Parts of several views.
import { clauses, count, el, name, pathOf, plural, size, soft } from "./shared.js";
import { href } from "./route.js";

export const section = (title, ...children) => {
  const id = "part-" + title.toLowerCase().replace(/[^a-z]+/g, "-");
  return el("section", { id, "aria-labelledby": id + "-title" }, el("h2", { id: id + "-title" }, title), children);
};
export const tiles = (list) => el("section", { class: "bare", "aria-label": "Summary" }, el("dl", { class: "tiles" }, list.filter(Boolean).map(([what, value, more]) => el("div", null, el("dt", null, what), el("dd", null, value, more ? el("small", null, more) : null)))));

// A text of the heap, on one line.
export const LONGEST_NAME = 120;
export const short = (words) => (words.length > LONGEST_NAME ? words.slice(0, LONGEST_NAME - 1) + "…" : words);
export const nodeText = (row) => row.class + (row.id === undefined ? "" : " @" + row.id) + (row.name ? " " + JSON.stringify(row.name) : "");
export const nodeLink = (run, row) => el("a", { href: href("object", { run, node: row.node }) }, name(short(nodeText(row))));
export const classLink = (run, id, words) => el("a", { href: href("class", { run, class: id }) }, name(short(words)));
export const runLink = (run, words = run) => el("a", { href: href("run", { run }) }, name(words));
export const setLink = (run, set) => el("a", { href: href("set", { run, set }) }, "set " + set);
export const share = (bytes, whole) => (whole > 0 ? (100 * bytes / whole).toFixed(1) + " %" : "");
export const night = (moment) => (moment ? moment.slice(0, 10) : "");
// Distances from here on mean that only the runtime leads there.
const SYSTEM = 1e8;
export const distance = (far) => (far === undefined ? "" : far >= SYSTEM ? "system" : String(far));

// What an answer leaves out, and its remarks.
export const coverage = (answer) => [
  ...(answer.notes || []).map((note) => soft(el("bdi", null, note))),
  ...(answer.coverage.cut || []).map((cut) => soft("Left out: ", el("bdi", null, cut), ".")),
];

export const failure = (error) => el("div", { class: "warn", role: "alert" },
  el("p", null, el("bdi", null, error.message)),
  error.advice ? el("p", { class: "soft" }, el("bdi", null, error.advice)) : null,
  error.nearest && error.nearest.length > 0 ? el("p", { class: "soft" }, "Nearest: ", error.nearest.map((near, i) => [i > 0 ? ", " : null, name(near)])) : null);

// A part whose answer is on its way.
export const later = (work) => {
  const place = el("div", { "aria-busy": "true" }, soft("Reading …"));
  const done = (...children) => { place.removeAttribute("aria-busy"); place.replaceChildren(...children.flat(9).filter(Boolean)); };
  work().then((made) => done(made), (error) => { if (error.name !== "AbortError") done(failure(error)); });
  return place;
};

// Saves a text as a file.
export const save = (file, type, text) => {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = el("a", { href: url, download: file });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
};
// A file name out of any text.
export const fileName = (...words) => words.join("-").replace(/[^A-Za-z0-9._-]+/g, "-").slice(0, 80);

export const finding = (run, one) => {
  const { title, rest, steps } = clauses(one.statement);
  const path = one.steps && one.steps.length > 0 ? one.steps : steps;
  const id = "finding-" + one.finding;
  const links = [
    one.node !== undefined ? el("a", { href: href("object", { run, node: one.node }) }, "object " + one.node) : null,
    one.holder_node !== undefined && one.holder_node !== one.node ? el("a", { href: href("object", { run, node: one.holder_node }) }, "its holder " + one.holder_node) : null,
    one.class_id !== undefined ? el("a", { href: href("class", { run, class: one.class_id }) }, "class") : null,
    one.node !== undefined ? el("a", { href: href("tree", { run, node: one.node }) }, "dominator tree") : null,
  ].filter(Boolean);
  const facts = [one.rule, size(one.bytes || 0), plural(one.count || 0, "object", "objects"), one.owner ? ["owner ", name(one.owner)] : null, one.place ? ["at ", name(one.place)] : null].filter(Boolean);
  return el("article", { class: one.severity, id, "aria-labelledby": id + "-title" },
    el("h3", { id: id + "-title" }, el("span", { class: "badge" }, one.severity), el("bdi", null, title)),
    rest === "" ? null : el("p", null, el("bdi", null, rest)),
    pathOf(path),
    links.length > 0 ? el("p", { class: "links" }, "Look at ", links.map((link, i) => [i > 0 ? ", " : null, link])) : null,
    el("p", { class: "soft" }, facts.map((fact, i) => [i > 0 ? " · " : null, fact])));
};

// A path from the root down: the edges, and links to the objects.
export const pathSteps = (run, steps) => {
  if (!steps || steps.length === 0) return soft("There is none.");
  const step = (one) => el("li", null, el("span", { class: "step" }, one.edge ? el("span", { class: "edge" }, name(short(one.edge)), " ") : null, nodeLink(run, one)), el("span", { class: "size" }, one.retained_bytes === undefined ? "" : size(one.retained_bytes)));
  return el("ol", { class: "path" }, steps.map(step));
};

export const countOf = (rows, total) => (total > rows ? count(rows) + " of " + count(total) : count(rows));
