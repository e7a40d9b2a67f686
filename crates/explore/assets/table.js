// Tables that sort, filter, read further pages and save themselves as CSV.
import { count, el } from "./shared.js";
import { fileName, save } from "./parts.js";
import { amend } from "./route.js";

const FIRST = 50;
const MORE = 200;
// A table of so many rows needs no filter.
const FEW = 8;

const cellOf = (value) => {
  if (value === null || value === undefined) return "";
  const text = String(value);
  // A spreadsheet takes some beginnings as a formula.
  const plain = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? "'" + text : text;
  return /[",\n\r]/.test(plain) ? '"' + plain.replaceAll('"', '""') + '"' : plain;
};
export const csv = (columns, rows) => [columns.map((column) => cellOf(column.title)), ...rows.map((row) => columns.map((column) => cellOf((column.csv || column.value)(row))))].map((cells) => cells.join(",") + "\r\n").join("");

// Columns: title, value to sort by and to save, cell, whether text. Options: `by` and `down` the first order; without `by`,
// the order of the answer, in which a page at a time is read: `next` gives further rows, or null. `q` the filter at first,
// `words` the texts that it looks at; `file` a name for the CSV; `total` of all rows, if known.
export const table = (id, columns, all, options) => {
  let { by, down } = options;
  let rows = all;
  let found = rows;
  let shown = FIRST;
  let reading = false;
  const words = new Map();
  const wordsOf = (row) => { if (!words.has(row)) words.set(row, options.words(row).toLowerCase()); return words.get(row); };
  const body = el("tbody");
  const status = el("span", { class: "soft", role: "status" });
  const more = el("button", { type: "button", class: "plain" });
  const search = el("input", { type: "search", id: id + "-filter", value: options.q || "", placeholder: options.placeholder, "aria-label": options.placeholder });
  const headers = columns.map((column, at) => el("th", { scope: "col", class: column.text ? "text" : null },
    el("button", { type: "button", onclick: () => { down = by === at ? !down : !column.text; by = at; update(); } }, column.title)));
  const fill = () => {
    body.replaceChildren(...found.slice(0, shown).map((row) => el("tr", null, columns.map((column) => el("td", { class: column.text ? "text" : null }, column.cell(row))))));
    const hidden = found.length - Math.min(shown, found.length);
    more.hidden = hidden === 0 && !options.next;
    more.textContent = hidden > 0 ? "Show " + count(Math.min(MORE, hidden)) + " more" : "Read more";
    const total = options.total ?? rows.length;
    const read = total > rows.length ? "; " + count(rows.length) + " of " + count(total) + " are read" : options.next && options.total === undefined ? "; there are more" : "";
    status.textContent = count(Math.min(shown, found.length)) + " of " + count(found.length) + read;
  };
  const update = () => {
    const wanted = search.value.toLowerCase();
    found = wanted === "" ? rows.slice() : rows.filter((row) => wordsOf(row).includes(wanted));
    if (by !== undefined) {
      const key = columns[by].value;
      const order = (a, b) => { const [x, y] = [key(a), key(b)]; return x === y ? 0 : x === null || x === undefined ? 1 : y === null || y === undefined ? -1 : (x < y ? -1 : 1) * (down ? -1 : 1); };
      found.sort(order);
    }
    headers.forEach((header, at) => (at === by ? header.setAttribute("aria-sort", down ? "descending" : "ascending") : header.removeAttribute("aria-sort")));
    fill();
  };
  const read = async () => {
    if (reading || !options.next) return;
    reading = true;
    more.disabled = true;
    try {
      const page = await options.next();
      if (page === null) options.next = null;
      else { rows = rows.concat(page.rows); if (!page.more) options.next = null; }
      shown += MORE;
      update();
    } catch (error) {
      if (error.name !== "AbortError") status.textContent = error.message;
    } finally {
      reading = false;
      more.disabled = false;
    }
  };
  more.addEventListener("click", () => { if (found.length > shown) { shown += MORE; fill(); } else read(); });
  search.addEventListener("input", () => { shown = FIRST; update(); if (options.keeps) amend({ q: search.value }); });
  const file = el("button", { type: "button", class: "plain", onclick: () => save(fileName(options.file) + ".csv", "text/csv;charset=utf-8", csv(columns, found)) }, "Save as CSV");
  update();
  const view = [
    el("div", { class: "tools" }, all.length > FEW || options.next || options.keeps ? search : null, status, file),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": options.label }, el("table", { id }, el("caption", { class: "hidden" }, options.label), el("thead", null, el("tr", null, headers)), body)),
    el("p", null, more),
  ];
  // More rows that came later, as while all pages are read.
  const add = (list) => { rows = list; update(); };
  return { view, add };
};
