
  // ---- flame graphs ----
  // A tree as boxes, each as wide as its part of the whole. An icicle grows down from what calls, a flame up. A graph has a
  // title, words for its parts, and rows: position of the one above or null, name, bytes, objects, and those of its own.
  const HEIGHT = 20;
  const flames = (id, graphs) => {
    const [PARENT, NAME, MEASURE, OWN] = [0, 1, 2, 4];
    const MEASURES = [{ title: "bytes", show: size }, { title: "objects", show: (number) => plural(number, "object", "objects") }];
    for (const graph of graphs) {
      graph.below = graph.rows.map(() => []);
      graph.top = [];
      graph.rows.forEach((row, at) => (row[PARENT] === null ? graph.top : graph.below[row[PARENT]]).push(at));
      graph.totals = [0, 1].map((by) => graph.top.reduce((sum, at) => sum + graph.rows[at][MEASURE + by], 0));
    }
    // What is looked at: -1 is the whole.
    let [graph, by, up, zoomed, wanted, focused] = [graphs[0], 0, false, -1, "", -1];
    const label = (at) => (at < 0 ? "all allocations" : text(graph.rows[at][NAME]));
    const value = (at) => (at < 0 ? graph.totals[by] : graph.rows[at][MEASURE + by]);
    const below = (at) => (at < 0 ? graph.top : graph.below[at]).filter((child) => value(child) > 0).sort((a, b) => value(b) - value(a));
    const above = (at) => (at < 0 || graph.rows[at][PARENT] === null ? -1 : graph.rows[at][PARENT]);
    const hits = (at) => at >= 0 && wanted !== "" && label(at).toLowerCase().includes(wanted);
    const part = (number, of) => (of > 0 ? (100 * number / of).toFixed(1) + " %" : "");
    const describe = (at) => {
      const all = [0, 1].map((other) => (at < 0 ? graph.totals[other] : graph.rows[at][MEASURE + other]));
      const lines = [MEASURES[0].show(all[0]), MEASURES[1].show(all[1])];
      lines.unshift(lines.splice(by, 1)[0]);
      lines[0] += " (" + part(value(at), graph.totals[by]) + " of all)";
      const own = at < 0 ? 0 : graph.rows[at][OWN + by];
      if (own > 0) lines.push(MEASURES[by].show(own) + " in itself");
      const left = value(at) - own - below(at).reduce((sum, child) => sum + value(child), 0);
      if (left > 0 && (below(at).length > 0 || graph.own)) lines.push(MEASURES[by].show(left) + " " + graph.rest);
      return lines;
    };
    // The end of a name says more than its beginning.
    const short = (words) => {
      const [type, method] = words.split(/::(?=[^:]*$)/);
      const bare = type.replace(/[[<(].*$/, "").split(/[./](?=[^./]+$)/).pop();
      return method === undefined ? bare : bare + "::" + method;
    };

    const chart = el("div", { class: "flame", role: "tree", "aria-label": "Boxes of calls" });
    const frame = el("div", { class: "flame-frame" }, chart);
    const detail = el("p", { class: "soft", id: id + "-detail", "aria-live": "polite" });
    const found = el("span", { class: "soft", "aria-live": "polite" });
    const boxes = new Map();
    const tell = (at) => detail.replaceChildren(...flat([el("b", null, name(label(at))), ": ", describe(at).join("; ")]));
    const box = (at, depth, left, width) => {
      const words = label(at);
      const room = width * frame.clientWidth;
      const shown = room < 24 ? "" : words.length * 6.6 < room ? words : short(words);
      const made = el("div", {
        role: "treeitem", class: "box" + (hits(at) ? " hit" : wanted !== "" ? " miss" : "") + (depth > 0 && at === zoomed ? " zoomed" : ""), tabindex: "-1",
        "aria-level": depth + 1, "aria-label": words + ", " + describe(at)[0], title: [words, ...describe(at)].join("\n"),
        style: "left:" + (100 * left).toFixed(4) + "%;width:" + (100 * width).toFixed(4) + "%;" + (up ? "bottom:" : "top:") + depth * HEIGHT + "px;background:" + (at < 0 ? "var(--line)" : colorOf(words)),
      }, shown === "" ? null : name(shown));
      made.dataset.at = at;
      boxes.set(at, made);
      return made;
    };
    const path = (at) => { const steps = []; for (let step = at; step >= 0; step = above(step)) steps.unshift(step); return [-1, ...steps]; };
    const draw = () => {
      boxes.clear();
      const least = 1.2 / Math.max(1, frame.clientWidth);
      const made = path(zoomed).map((at, depth) => box(at, depth, 0, 1));
      let deepest = made.length;
      const waiting = [[zoomed, made.length - 1, 0, 1]];
      while (waiting.length > 0) {
        const [at, depth, left, width] = waiting.pop();
        let from = left;
        for (const child of below(at)) {
          const share = width * value(child) / Math.max(1, value(at));
          if (share >= least) {
            made.push(box(child, depth + 1, from, share));
            deepest = Math.max(deepest, depth + 2);
            waiting.push([child, depth + 1, from, share]);
          }
          from += share;
        }
      }
      chart.style.height = deepest * HEIGHT + "px";
      chart.replaceChildren(...made);
      if (!boxes.has(focused)) focused = zoomed;
      boxes.get(focused).tabIndex = 0;
      // Of boxes inside boxes, the outer one counts.
      if (wanted === "") found.textContent = "";
      else {
        let [sum, number] = [0, 0];
        const inside = new Set();
        graph.rows.forEach((row, at) => {
          if (row[PARENT] !== null && inside.has(row[PARENT])) inside.add(at);
          if (!hits(at)) return;
          number += 1;
          if (!inside.has(at)) { sum += value(at); inside.add(at); }
        });
        found.textContent = plural(number, "box", "boxes") + ", " + part(sum, graph.totals[by]) + " of all " + MEASURES[by].title;
      }
    };
    // Only the frame moves, not the page.
    const reveal = (made) => {
      const [inner, outer] = [made.getBoundingClientRect(), frame.getBoundingClientRect()];
      if (inner.top < outer.top) frame.scrollTop -= outer.top - inner.top;
      else if (inner.bottom > outer.bottom) frame.scrollTop += inner.bottom - outer.bottom;
    };
    const focus = (at) => {
      const made = boxes.get(at);
      if (!made) return;
      boxes.get(focused).tabIndex = -1;
      focused = at;
      made.tabIndex = 0;
      made.focus({ preventScroll: true });
      reveal(made);
      tell(at);
    };
    const zoom = (at) => {
      zoomed = at;
      focused = at;
      draw();
      tell(at);
      reveal(boxes.get(at));
    };
    chart.addEventListener("click", (event) => {
      const made = event.target.closest(".box");
      if (made) { zoom(Number(made.dataset.at)); focus(zoomed); }
    });
    chart.addEventListener("focusin", (event) => { const made = event.target.closest(".box"); if (made) tell(Number(made.dataset.at)); });
    chart.addEventListener("keydown", (event) => {
      const at = focused;
      const beside = (step) => { const list = below(above(at)).filter((other) => boxes.has(other)); return list[list.indexOf(at) + step]; };
      const deeper = () => below(at).find((child) => boxes.has(child));
      const go = (to) => to !== undefined && focus(to);
      switch (event.key) {
        case "ArrowDown": go(up ? above(at) : deeper()); break;
        case "ArrowUp": go(up ? deeper() : above(at)); break;
        case "ArrowRight": if (at >= 0) go(beside(1)); break;
        case "ArrowLeft": if (at >= 0) go(beside(-1)); break;
        case "Home": go(-1); break;
        case "Enter": case " ": zoom(at); focus(at); break;
        case "Backspace": case "Escape": zoom(above(zoomed)); focus(zoomed); break;
        default: return;
      }
      event.preventDefault();
    });

    const choice = (title, options, set) => {
      const select = el("select", { "aria-label": title, onchange: () => { set(Number(select.value)); draw(); tell(focused); if (up) frame.scrollTop = frame.scrollHeight; } },
        options.map((option, at) => el("option", { value: at }, option)));
      return select;
    };
    const which = choice("What is drawn", graphs.map((one) => one.title), (at) => { graph = graphs[at]; zoomed = -1; focused = -1; });
    const shape = choice("Direction", ["icicle: grows down", "flames: grow up"], (at) => { up = at === 1; });
    const measure = choice("Width of boxes", ["by bytes", "by objects"], (at) => { by = at; });
    const search = el("input", { type: "search", id: id + "-search", placeholder: "Search calls", "aria-label": "Search calls", oninput: () => { wanted = search.value.toLowerCase(); draw(); } });
    const whole = el("button", { type: "button", class: "plain", onclick: () => zoom(-1) }, "Whole");
    dark.addEventListener("change", draw);
    addEventListener("resize", draw);
    // Shows a graph, and of it a top box of this name, or all boxes of it.
    const show = (at, words, top) => {
      which.value = at;
      graph = graphs[at];
      search.value = top ? "" : words;
      wanted = search.value.toLowerCase();
      zoom(top ? graph.top.find((node) => label(node) === words) ?? -1 : -1);
      frame.scrollIntoView({ block: "center" });
      focus(zoomed);
    };
    const view = [el("div", { class: "tools" }, graphs.length > 1 ? which : null, shape, measure, search, whole, found), detail, frame];
    return { view, begin: () => zoom(-1), show, has: (at, words) => graphs[at].top.some((node) => text(graphs[at].rows[node][NAME]) === words) };
  };
