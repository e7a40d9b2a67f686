// The runs of a lake: by release, night and label, with their sizes and findings.
import { count, el, name, plural, size, soft } from "./shared.js";
import { ask, askAll } from "./ask.js";
import { href } from "./route.js";
import { coverage, night, runLink, section } from "./parts.js";
import { table } from "./table.js";

// Runs of a lake, the newest first.
export const runsOf = (signal, seen) => askAll("runs", {}, "runs", signal, { seen });

const labels = (row) => Object.entries(row.labels || {}).map(([key, value]) => key + "=" + value);
const nameOf = (run) => run.slice(run.indexOf("/") + 1);
const releaseOf = (run) => run.slice(0, Math.max(0, run.indexOf("/")));
const severity = (at, words) => ({ title: words, value: (row) => row.findings[at], cell: (row) => (row.findings[at] > 0 ? el("span", { class: "badge " + words.toLowerCase() }, count(row.findings[at])) : "0") });

const columns = [
  { title: "Run", text: true, value: (row) => nameOf(row.run), cell: (row) => [runLink(row.run, nameOf(row.run)), row.partial ? el("span", { class: "soft" }, " damaged input") : null] },
  { title: "Release", text: true, value: (row) => releaseOf(row.run), cell: (row) => name(releaseOf(row.run)) },
  { title: "Night", value: (row) => row.captured_at, cell: (row) => el("time", { datetime: row.captured_at || null, title: row.captured_at || null }, night(row.captured_at)) },
  { title: "Labels", text: true, value: (row) => labels(row).join(" "), cell: (row) => labels(row).map((label, i) => [i > 0 ? " " : null, name(label)]) },
  { title: "Format", value: (row) => row.format, cell: (row) => name(row.format) },
  { title: "Objects", value: (row) => row.objects, cell: (row) => (row.objects === undefined ? "" : count(row.objects)) },
  { title: "Heap", value: (row) => row.heap_bytes, cell: (row) => (row.heap_bytes === undefined ? "" : size(row.heap_bytes)) },
  severity(0, "High"), severity(1, "Medium"), severity(2, "Low"),
  { title: "Growth", value: () => "", csv: () => "", cell: (row) => el("a", { href: href("compare", { target: row.run }), "aria-label": "compare " + row.run }, "compare") },
];

const releases = (list) => section("Releases", el("div", { class: "scroll" }, el("table", null,
  el("thead", null, el("tr", null, ["Release", "Runs", "With high findings", "Newest", "Growth"].map((title, at) => el("th", { scope: "col", class: at === 0 ? "text" : null }, title)))),
  el("tbody", null, list.map((row, at) => el("tr", null,
    el("td", { class: "text" }, el("a", { href: href("lake", { q: row.release }) }, name(row.release))),
    el("td", null, count(row.runs)), el("td", null, count(row.high || 0)), el("td", null, night(row.newest)),
    el("td", null, list[at + 1] ? el("a", { href: href("compare", { base: "release=" + list[at + 1].release, target: "release=" + row.release }) }, "compare with the one before") : ""))))))
);

export const lake = async ({ values, signal }) => {
  const { rows, answer } = await runsOf(signal);
  if (rows.length === 1) return { redirect: href("run", { run: rows[0].run }) };
  const first = await ask("runs", {}, signal);
  const made = table("runs", columns, rows, { by: 2, down: true, q: values.q, keeps: true, placeholder: "Filter by name, release, night or label", label: "Runs of the lake", file: ["runs"], words: (row) => [row.run, row.captured_at, row.format, ...labels(row)].join(" ") });
  return {
    title: "Lake",
    head: [el("h1", null, "Lake"), soft(plural(rows.length, "run", "runs") + ".")],
    parts: [...coverage(answer), first.heap_data.releases ? releases(first.heap_data.releases) : null, section("Runs", made.view)],
  };
};
