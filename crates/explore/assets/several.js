// Several runs: what grew between two runs or releases, and what leaks in several.
import { count, el, name, plural, size, soft } from "./shared.js";
import { ask, askAll } from "./ask.js";
import { go } from "./route.js";
import { coverage, later, night, runLink, section, tiles } from "./parts.js";
import { runsOf } from "./lake.js";
import { table } from "./table.js";

const amount = (measure, value) => (value === undefined || value === null ? "" : measure.includes("bytes") ? size(Math.abs(value)) : count(value));
const signed = (row) => { const change = (row.target || 0) - (row.base || 0); return (change < 0 ? "-" : "+") + amount(row.measure, Math.abs(change)); };

const grown = (rows) => {
  const columns = [
    { title: "Table", text: true, value: (row) => row.table, cell: (row) => row.table },
    { title: "Subject", text: true, value: (row) => row.subject, cell: (row) => [name(row.subject), row.grew_through ? el("div", { class: "soft" }, "through ", name(row.grew_through)) : null, row.changed_on ? el("div", { class: "soft" }, "on " + row.changed_on, row.hosts ? [": ", name(row.hosts.join ? row.hosts.join(", ") : String(row.hosts))] : null) : null] },
    { title: "Status", value: (row) => row.status, cell: (row) => el("span", { class: "badge " + row.status }, row.status.replaceAll("_", " ")) },
    { title: "Base", value: (row) => row.base, cell: (row) => amount(row.measure, row.base) },
    { title: "Target", value: (row) => row.target, cell: (row) => amount(row.measure, row.target) },
    { title: "Change", value: (row) => (row.target || 0) - (row.base || 0), cell: signed },
    { title: "q", value: (row) => row.q, cell: (row) => (row.q === undefined ? "" : row.q.toPrecision(2)) },
  ];
  return table("grown", columns, rows, { placeholder: "Filter", label: "What grew", file: ["grown"], words: (row) => [row.table, row.subject, row.status, row.grew_through || ""].join(" ") }).view;
};

const side = (id, label, value) => [el("label", { for: id }, label), el("input", { type: "search", id, value: value || "", list: "sides", placeholder: "run, or release=…" })];

export const compare = async ({ values, signal }) => {
  const { base, target } = values;
  const { rows: runs } = await runsOf(signal);
  const releases = [...new Set((runs || []).map((row) => row.run.slice(0, row.run.indexOf("/"))))];
  const form = el("form", { class: "tools", onsubmit: (event) => { event.preventDefault(); go("compare", { base: form.elements[0].value.trim(), target: form.elements[1].value.trim() }); } },
    side("base", "Base ", base), side("target", "Target ", target), el("button", { class: "plain" }, "Compare"),
    el("datalist", { id: "sides" }, releases.map((release) => el("option", { value: "release=" + release })), (runs || []).map((row) => el("option", { value: row.run }))));
  const asked = (base && target) || (!base && !target);
  const answered = async () => {
    const { rows, answer } = await askAll("compare", { base, target, limit: 200 }, "grown", signal);
    const data = answer.heap_data;
    const one = (words, of) => (of ? [words, size(of.mean_bytes), of.selection + ", " + plural(of.runs, "run", "runs")] : null);
    return [tiles([one("Base, a run", data.base), one("Target, a run", data.target)]), ...coverage(answer), section("What grew", grown(rows))];
  };
  return {
    title: "Compare",
    head: [el("h1", null, "Compare"), soft("Two runs, or two releases: a run is RELEASE/NAME; conditions such as release=1.2,label.host=web* select several. Without both, the newest release is compared with the one before.")],
    parts: [form, asked ? later(answered) : soft("Name the other side.")],
  };
};

export const clusters = async ({ signal }) => {
  const { rows, answer } = await askAll("clusters", { limit: 200 }, "clusters", signal);
  const common = answer.heap_data.common || [];
  const columns = [
    { title: "Holder", text: true, value: (row) => row.signature, cell: (row) => [name(row.signature), row.is_new ? el("span", { class: "badge new" }, " new") : null, el("div", { class: "soft" }, (row.some_runs || []).map((run, i) => [i > 0 ? ", " : null, runLink(run)]), (row.some_runs || []).length < row.runs ? ", …" : null)] },
    { title: "Runs", value: (row) => row.runs, cell: (row) => count(row.runs) },
    { title: "Hosts", value: (row) => row.hosts, cell: (row) => count(row.hosts) },
    { title: "Releases", text: true, value: (row) => (row.releases || []).join(", "), cell: (row) => name((row.releases || []).join(", ")) },
    { title: "Median", value: (row) => row.median_bytes, cell: (row) => size(row.median_bytes) },
    { title: "Most", value: (row) => row.max_bytes, cell: (row) => size(row.max_bytes) },
    { title: "First", value: (row) => row.first, cell: (row) => night(row.first) }, { title: "Last", value: (row) => row.last, cell: (row) => night(row.last) },
  ];
  const everywhere = [
    { title: "Finding", text: true, value: (row) => row.signature, cell: (row) => name(row.signature) },
    { title: "Release", text: true, value: (row) => row.release, cell: (row) => name(row.release || "") },
    { title: "Runs", value: (row) => row.runs_with, cell: (row) => count(row.runs_with) + " of " + count(row.runs) },
    { title: "Median", value: (row) => row.median_bytes, cell: (row) => size(row.median_bytes) },
    { title: "Most", value: (row) => row.max_bytes, cell: (row) => size(row.max_bytes) },
    { title: "Worst run", text: true, value: (row) => row.worst, cell: (row) => (row.worst ? runLink(row.worst) : "") },
  ];
  const list = (id, of, all, label) => table(id, of, all, { placeholder: "Filter", label, file: [id], words: (row) => JSON.stringify(row) }).view;
  return {
    title: "Clusters",
    head: [el("h1", null, "Clusters"), soft("Runs in which the same holder retains far more than usual, and the findings with most bytes over all runs.")],
    parts: [...coverage(answer), section("Leaks of several runs", list("clusters", columns, rows, "Clusters")), section("What all have", list("common", everywhere, common, "Common findings"))],
  };
};
