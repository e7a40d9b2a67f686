// The dominator tree as a tree grid: children are read when a row opens.
import { count, el, size } from "./shared.js";
import { nodeLink, share } from "./parts.js";
import { ask } from "./ask.js";
import { go } from "./route.js";

const PAGE = 100;

export const dominatorTree = (run, top, whole, signal) => {
  const body = el("tbody");
  const status = el("p", { class: "soft", role: "status" });
  // Rows by their element: the object, its level, and whether its children are there.
  const known = new WeakMap();
  const make = (row, level) => {
    const open = row.node !== top.node && row.retained_bytes <= row.shallow_bytes ? null : "false";
    const twist = el("button", { type: "button", class: "twist", tabindex: "-1", "aria-hidden": "true" }, open === null ? "" : "▸");
    const cell = el("td", { class: "text", role: "gridcell" }, el("span", { class: "indent" }, twist, nodeLink(run, row)));
    cell.firstChild.style.paddingLeft = (level - 1) * 1.1 + "rem";
    cell.querySelector("a").tabIndex = -1;
    const made = el("tr", { role: "row", "aria-level": level, "aria-expanded": open, tabindex: "-1" }, cell, [size(row.retained_bytes), share(row.retained_bytes, whole), size(row.shallow_bytes), String(row.node)].map((text) => el("td", { role: "gridcell" }, text)));
    known.set(made, { row, level, children: null });
    return made;
  };
  const levelOf = (element) => (known.has(element) ? known.get(element).level : Number(element.dataset.level));
  const below = (element) => {
    const list = [];
    for (let next = element.nextElementSibling; next && levelOf(next) > levelOf(element); next = next.nextElementSibling) list.push(next);
    return list;
  };
  const page = async (element, cursor) => {
    const { row, level } = known.get(element);
    const answer = await ask("dominated", { run, node: row.node, limit: PAGE, cursor }, signal);
    const rows = (answer.heap_data.children || []).map((child) => make(child, level + 1));
    if (answer.coverage.cursor) {
      const left = answer.coverage.total - answer.coverage.first - answer.coverage.shown;
      const more = el("button", { type: "button", class: "plain" }, count(Math.min(PAGE, left)) + " more of " + count(left));
      const holder = el("tr", { role: "row", "aria-level": level + 1, tabindex: "-1" }, el("td", { class: "text", role: "gridcell", colspan: "5" }, el("span", { class: "indent" }, more)));
      holder.firstChild.firstChild.style.paddingLeft = level * 1.1 + "rem";
      holder.dataset.level = level + 1;
      const read = async () => {
        more.disabled = true;
        const next = await page(element, answer.coverage.cursor);
        const had = holder.contains(document.activeElement);
        holder.replaceWith(...next);
        if (had && next[0]) focus(next[0]);
      };
      more.addEventListener("click", () => read().catch(tell));
      rows.push(holder);
    }
    status.textContent = count(answer.coverage.total ?? rows.length) + " children";
    return rows;
  };
  const tell = (error) => { if (error.name !== "AbortError") status.textContent = error.message; };
  const expand = async (element, yes) => {
    const state = known.get(element);
    if (!state || element.getAttribute("aria-expanded") === null || (element.getAttribute("aria-expanded") === "true") === yes) return;
    element.querySelector(".twist").textContent = yes ? "▾" : "▸";
    element.setAttribute("aria-expanded", String(yes));
    if (!yes) { for (const one of below(element)) one.remove(); return; }
    element.setAttribute("aria-busy", "true");
    try {
      const rows = await page(element, null);
      if (rows.length === 0) { element.removeAttribute("aria-expanded"); element.querySelector(".twist").textContent = ""; }
      if (element.getAttribute("aria-expanded") === "true" && below(element).length === 0) element.after(...rows);
    } catch (error) {
      element.setAttribute("aria-expanded", "false");
      element.querySelector(".twist").textContent = "▸";
      tell(error);
    } finally {
      element.removeAttribute("aria-busy");
    }
  };
  const focus = (element) => {
    if (!element) return;
    for (const other of body.querySelectorAll("tr[tabindex='0']")) other.tabIndex = -1;
    element.tabIndex = 0;
    element.focus();
  };
  const parentOf = (element) => {
    let before = element.previousElementSibling;
    while (before && levelOf(before) >= levelOf(element)) before = before.previousElementSibling;
    return before;
  };
  body.addEventListener("click", (event) => {
    const element = event.target.closest("tr");
    if (event.target.closest("a") || !known.has(element)) return;
    focus(element);
    expand(element, element.getAttribute("aria-expanded") !== "true");
  });
  body.addEventListener("keydown", (event) => {
    const element = event.target.closest("tr");
    const open = element.getAttribute("aria-expanded");
    switch (event.key) {
      case "ArrowDown": focus(element.nextElementSibling); break;
      case "ArrowUp": focus(element.previousElementSibling); break;
      case "Home": focus(body.firstElementChild); break;
      case "End": focus(body.lastElementChild); break;
      case "ArrowRight": if (open === "false") expand(element, true); else if (open === "true") focus(element.nextElementSibling); break;
      case "ArrowLeft": if (open === "true") expand(element, false); else focus(parentOf(element)); break;
      case "Enter": if (known.has(element)) go("object", { run, node: known.get(element).row.node }); else element.querySelector("button").click(); break;
      default: return;
    }
    event.preventDefault();
  });
  const first = make(top, 1);
  first.tabIndex = 0;
  body.append(first);
  const titles = ["Object", "Retained", "of heap", "Shallow", "Node"];
  const grid = el("table", { role: "treegrid", id: "tree", "aria-label": "Dominator tree" }, el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, titles.map((title, at) => el("th", { scope: "col", role: "columnheader", class: at === 0 ? "text" : null }, title)))), body);
  body.setAttribute("role", "rowgroup");
  expand(first, true);
  return [status, el("div", { class: "scroll" }, grid)];
};
