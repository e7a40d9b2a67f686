
  // ---- what is alive, by when it was allocated ----
  // A time line of bars, of which a range can be chosen, and the classes and stacks of what was allocated in it.
  const alive = () => {
    const { of, bars, rows, stacks } = data.alive;
    const [BAR, CLASS, STACK, COUNT, BYTES] = [0, 1, 2, 3, 4];
    const [UNKNOWN, OTHERS] = [-1, -2];
    const MOST_STACKS = 30;
    const seconds = (time) => (time < 1 ? (1000 * time).toFixed(0) + " ms" : time.toFixed(2) + " s");
    const span = (first, last) => (bars[first].from === null ? "until " : seconds(bars[first].from) + " to ") + seconds(bars[last].to);
    // The classes of the rows of a range, or of all rows, each with its stacks.
    const sums = (range) => {
      const classes = new Map();
      for (const row of rows) {
        if (range && (row[BAR] === null || row[BAR] < range[0] || row[BAR] > range[1])) continue;
        if (!classes.has(row[CLASS])) classes.set(row[CLASS], { name: row[CLASS] === null ? "small classes" : text(row[CLASS]), count: 0, bytes: 0, stacks: new Map() });
        const sum = classes.get(row[CLASS]);
        const stack = sum.stacks.get(row[STACK]) || [0, 0];
        sum.stacks.set(row[STACK], [stack[0] + row[COUNT], stack[1] + row[BYTES]]);
        sum.count += row[COUNT];
        sum.bytes += row[BYTES];
      }
      return [...classes.values()].sort((a, b) => b.bytes - a.bytes).map((sum, at) => ({ ...sum, at }));
    };
    const stackName = (stack) => (stack === UNKNOWN ? "no stack is known" : stack === OTHERS ? "other stacks" : text(stacks[stack][1]));
    const stackList = (sum) => {
      const list = [...sum.stacks].sort((a, b) => b[1][1] - a[1][1]);
      const line = ([stack, [number, bytes]]) => el("li", null, el("b", null, size(bytes)), " in " + plural(number, "object", "objects") + ": ", name(stackName(stack)));
      const left = list.length - MOST_STACKS;
      return el("ol", { class: "stacks" }, list.slice(0, MOST_STACKS).map(line), left > 0 ? el("li", { class: "soft" }, "and " + plural(left, "stack", "stacks")) : null);
    };
    const opened = (sum) => {
      const made = el("details", null, el("summary", null, name(sum.name)));
      // Filled when it is opened first.
      made.addEventListener("toggle", () => { if (made.open && made.children.length === 1) made.append(stackList(sum)); });
      return made;
    };
    const list = el("div");
    const told = el("p", { id: "alive-detail", "aria-live": "polite" });
    let range = null;
    const show = () => {
      const found = sums(range);
      const [number, bytes] = found.reduce(([number, bytes], sum) => [number + sum.count, bytes + sum.bytes], [0, 0]);
      told.replaceChildren(el("b", null, range ? span(range[0], range[1]) : "All"), ": " + plural(number, "object", "objects") + " with " + size(bytes) + " still alive, of " + plural(found.length, "class", "classes"));
      const most = found.length > 0 ? found[0].bytes : 0;
      const columns = [
        { title: "Class", text: true, value: (row) => row.name.toLowerCase(), cell: opened },
        { title: "Alive", value: (row) => row.bytes, cell: (row) => [size(row.bytes), bar(row.bytes, most)] },
        { title: "of these", value: (row) => row.bytes, cell: (row) => (bytes > 0 ? (100 * row.bytes / bytes).toFixed(1) + " %" : "") },
        { title: "Objects", value: (row) => row.count, cell: (row) => count(row.count) },
      ];
      list.replaceChildren(...flat(grid("alive", columns, found, { by: 1, down: true, of: 0, placeholder: "Search classes", id: (row) => "alive-" + row.at, words: (row) => row.name }).view));
    };
    const words = "Objects that were allocated while allocations were tracked and are still alive. Open a class to see the stacks that allocated its objects.";
    const { view, choose } = bars.length > 0 ? picked(bars, span, of, (chosen) => { range = chosen; show(); }) : { view: [], choose: show };
    section("alive", "Still alive", soft(words), view, told, list);
    choose(null);
  };

  // The bars, of which dragging or the arrow keys choose a range.
  const picked = (bars, span, of, chosen) => {
    const [wide, high] = [1000, 100];
    const step = wide / bars.length;
    // What is older than the first sample may be the whole program; it does not make the others small.
    const later = bars.slice(1).reduce((most, one) => Math.max(most, one.bytes), 0);
    const most = later > 0 ? later : Math.max(1, bars[0].bytes);
    const tall = (one) => high * Math.min(1, one.bytes / most);
    const boxes = bars.map((one, at) => drawing("g", {},
      drawing("title", {}, span(at, at) + "\n" + plural(one.count, "object", "objects") + "\n" + size(one.bytes) + " still alive"),
      drawing("rect", { x: at * step, y: 0, width: step, height: high, class: "field" }),
      drawing("rect", { x: at * step + step * 0.1, y: high - tall(one), width: step * 0.8, height: tall(one), class: one.bytes > most ? "cut" : "kept" })));
    const mark = drawing("rect", { x: 0, y: 0, width: 0, height: high, class: "chosen" });
    const picture = drawing("svg", { viewBox: "0 0 " + wide + " " + high, preserveAspectRatio: "none", tabindex: 0, role: "group", class: "pick", id: "alive-line", "aria-label": "Time line of " + plural(of, "sample", "samples") + ". Arrow keys choose a bar, with Shift a range, Escape all." }, boxes, mark);
    let [from, to] = [null, null];
    const whole = el("button", { type: "button", class: "plain", onclick: () => choose(null) }, "All");
    const choose = (range) => {
      [from, to] = range || [null, null];
      const sorted = range && [Math.min(from, to), Math.max(from, to)];
      mark.setAttribute("x", sorted ? sorted[0] * step : 0);
      mark.setAttribute("width", sorted ? (sorted[1] - sorted[0] + 1) * step : 0);
      whole.disabled = !range;
      chosen(sorted);
    };
    const at = (event) => {
      const { left, width } = picture.getBoundingClientRect();
      return Math.max(0, Math.min(bars.length - 1, Math.floor((event.clientX - left) / width * bars.length)));
    };
    let drags = false;
    picture.addEventListener("pointerdown", (event) => { drags = true; picture.setPointerCapture(event.pointerId); choose([at(event), at(event)]); });
    picture.addEventListener("pointermove", (event) => { if (drags && at(event) !== to) choose([from, at(event)]); });
    for (const end of ["pointerup", "pointercancel"]) picture.addEventListener(end, () => { drags = false; });
    picture.addEventListener("keydown", (event) => {
      const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") choose(null);
      else if (way === undefined) return;
      else {
        const next = to === null ? (way > 0 ? 0 : bars.length - 1) : Math.max(0, Math.min(bars.length - 1, to + way));
        choose([event.shiftKey && from !== null ? from : next, next]);
      }
      event.preventDefault();
    });
    const cut = bars[0].bytes > most ? " The first bar is cut: it is what was there before." : "";
    const view = [
      soft("When it was allocated: drag over the time line to choose a range." + (bars.length < of ? " Neighbours share a bar." : "") + cut),
      el("div", { class: "timeline" }, el("div", { class: "axis", "aria-hidden": "true" }, el("span", null, size(most)), el("span", null, "0")), el("div", { class: "plot" }, picture)),
      el("p", { class: "pair soft" }, el("span", null, span(0, 0)), whole, el("span", null, span(bars.length - 1, bars.length - 1))),
    ];
    return { view, choose };
  };
