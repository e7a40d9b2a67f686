// A treemap of objects as SVG: squarified (Bruls, Huizing, van Wijk 2000), two levels or more, one inside the other.
import { colorOf, drawing, el, size } from "./shared.js";
import { fileName, nodeText, save } from "./parts.js";

// Places boxes of these bytes, the largest first, in a rectangle: rows along the shorter side, as square as they can be.
export const squarified = (list, x, y, width, height) => {
  const whole = list.reduce((sum, bytes) => sum + bytes, 0);
  const boxes = [];
  if (whole <= 0 || width <= 0 || height <= 0) return list.map(() => null);
  const scale = width * height / whole;
  let at = 0;
  while (at < list.length) {
    const side = Math.min(width, height);
    let sum = 0;
    let end = at;
    let worst = Infinity;
    while (end < list.length) {
      const next = sum + list[end] * scale;
      const ratio = Math.max(side * side * list[at] * scale / (next * next), list[end] > 0 ? next * next / (side * side * list[end] * scale) : Infinity);
      if (ratio > worst) break;
      worst = ratio;
      sum = next;
      end += 1;
    }
    if (end === at) { end = at + 1; sum = list[at] * scale; }
    const thick = side > 0 ? sum / side : 0;
    let along = 0;
    for (; at < end; at += 1) {
      const length = sum > 0 ? side * list[at] * scale / sum : 0;
      boxes.push(width >= height ? { x, y: y + along, width: thick, height: length } : { x: x + along, y, width: length, height: thick });
      along += length;
    }
    if (width >= height) { x += thick; width -= thick; } else { y += thick; height -= thick; }
  }
  return boxes;
};

const WIDTH = 1200;
const HEIGHT = 620;
const HEAD = 20;
const CHAR = 6.6;
const cut = (words, width) => { const most = Math.floor((width - 8) / CHAR); return most < 3 ? "" : words.length > most ? words.slice(0, most - 1) + "…" : words; };

// Objects with `parent`, a place in the list, as the question `tree` gives them. `open` is called with an object.
export const treemap = (objects, { open, file, label }) => {
  const below = objects.map(() => []);
  objects.forEach((one, at) => { if (one.parent !== undefined) below[one.parent].push(at); });
  const ink = getComputedStyle(document.body).getPropertyValue("--ink").trim();
  const line = getComputedStyle(document.body).getPropertyValue("--card").trim();
  const empty = getComputedStyle(document.body).getPropertyValue("--line").trim();
  const svg = drawing("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, xmlns: "http://www.w3.org/2000/svg", role: "group", "aria-label": label, class: "treemap", "font-family": "system-ui, sans-serif", "font-size": "12" });
  const draw = (at, box, deep) => {
    if (box === null || box.width < 1.5 || box.height < 1.5) return;
    const one = objects[at];
    const words = nodeText(one);
    const group = drawing("g", { "data-node": one.node });
    const rect = drawing("rect", { x: box.x.toFixed(1), y: box.y.toFixed(1), width: box.width.toFixed(1), height: box.height.toFixed(1), fill: colorOf(one.class), stroke: line, "stroke-width": deep > 1 ? "1" : "2" });
    group.append(rect, drawing("title", {}, words + "\nretains " + size(one.retained_bytes) + ", itself " + size(one.shallow_bytes)));
    const roomy = box.height > HEAD && box.width > 30;
    if (roomy) group.append(drawing("text", { x: (box.x + 4).toFixed(1), y: (box.y + 14).toFixed(1), fill: ink, "aria-hidden": "true" }, cut(words + "  " + size(one.retained_bytes), box.width)));
    if (deep > 0 && box.width > 4 && box.height > 4) {
      group.setAttribute("tabindex", deep === 1 ? "0" : "-1");
      group.setAttribute("role", "link");
    }
    svg.append(group);
    inside(at, { x: box.x + 3, y: box.y + HEAD, width: box.width - 6, height: box.height - HEAD - 3 }, deep + 1);
  };
  // What is in a box: its children, the rest of them, and the object itself, which stays empty.
  const inside = (at, box, deep) => {
    if (below[at].length === 0 || box.width < 12 || box.height < 12) return;
    const one = objects[at];
    const parts = below[at].map((child) => ({ child, bytes: objects[child].retained_bytes })).filter((part) => part.bytes > 0);
    const rest = Math.max(0, one.retained_bytes - parts.reduce((sum, part) => sum + part.bytes, 0));
    if (rest > 0) parts.push({ child: null, bytes: rest });
    parts.sort((a, b) => b.bytes - a.bytes);
    const boxes = squarified(parts.map((part) => part.bytes), box.x, box.y, box.width, box.height);
    parts.forEach((part, i) => {
      if (part.child !== null) draw(part.child, boxes[i], deep);
      else if (boxes[i] && boxes[i].width > 2 && boxes[i].height > 2) {
        const words = "itself and smaller children: " + size(part.bytes);
        svg.append(drawing("g", {}, drawing("rect", { x: boxes[i].x.toFixed(1), y: boxes[i].y.toFixed(1), width: boxes[i].width.toFixed(1), height: boxes[i].height.toFixed(1), fill: empty, stroke: line }), drawing("title", {}, words), boxes[i].height > HEAD ? drawing("text", { x: (boxes[i].x + 4).toFixed(1), y: (boxes[i].y + 14).toFixed(1), fill: ink }, cut(words, boxes[i].width)) : null));
      }
    });
  };
  inside(0, { x: 0, y: 0, width: WIDTH, height: HEIGHT }, 1);
  const chosen = (event) => { const group = event.target.closest("[data-node]"); if (group) open(Number(group.dataset.node)); };
  svg.addEventListener("click", chosen);
  svg.addEventListener("keydown", (event) => {
    const boxes = [...svg.querySelectorAll("[tabindex='0']")];
    const here = boxes.indexOf(event.target);
    if (event.key === "Enter" || event.key === " ") chosen(event);
    else if (event.key === "ArrowRight" || event.key === "ArrowDown") boxes[here + 1]?.focus();
    else if (event.key === "ArrowLeft" || event.key === "ArrowUp") boxes[here - 1]?.focus();
    else return;
    event.preventDefault();
  });
  const button = el("button", { type: "button", class: "plain", onclick: () => save(fileName(file) + ".svg", "image/svg+xml", new XMLSerializer().serializeToString(svg)) }, "Save as SVG");
  return [svg, el("p", null, button)];
};
