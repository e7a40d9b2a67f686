
  // The page of a run: the sections of snapshots; those of traces are in trace.js.
  const share = (bytes) => (data.run.shallow > 0 ? (100 * bytes / data.run.shallow).toFixed(1) + " %" : "");

  // ---- head, tiles ----
  const run = data.run;
  const head = () => {
    const labels = run.labels.map(([key, value]) => name(text(key) + "=" + text(value)));
    const moment = run.captured === null ? null : new Date(run.captured).toISOString();
    const facts = [
      ["Captured", moment === null ? "not known" : el("time", { datetime: moment }, moment.slice(0, 19).replace("T", " ") + " UTC")],
      ["Release", name(text(run.release))],
      labels.length > 0 ? ["Labels", labels.map((label, i) => [i > 0 ? ", " : null, label])] : null,
      ["Input", [name(text(run.source)), ", " + size(run.input_bytes) + ", ", name(text(run.format))]],
    ];
    byId("head").append(el("h1", null, name(text(run.snapshot))), el("dl", { class: "facts" }, facts.filter(Boolean).map(([what, value]) => el("div", null, el("dt", null, what), el("dd", null, value)))));
    for (const remark of run.remarks) byId("head").append(el("p", { class: "soft", role: "note" }, "Note: ", el("bdi", null, text(remark))));
    if (run.partial !== null) {
      byId("head").append(el("p", { class: "warn", role: "note" }, "The input is damaged. This leaves out ", name(text(run.partial)), "."));
    }
    byId("foot").append("heaplake " + text(run.version) + ". Sizes are bytes of the heap in units of 1024." + (data.groups ? " Chart: Apache ECharts (Apache License 2.0)." : ""));
  };
  const tiles = () => {
    const findings = data.findings ? data.findings.rows : null;
    const high = findings ? findings.filter((finding) => text(finding.severity) === "high").length : 0;
    const exact = data.duplicates ? data.duplicates.rows.find((set) => text(set.status) === "exact") : undefined;
    const waste = exact === undefined ? null : exact.additional;
    const list = [
      ["Heap", size(run.shallow), run.native === null ? null : "and " + size(run.native) + " of native memory"],
      ["Objects", count(run.nodes), count(run.edges) + " references"],
      ["Classes", count(run.classes), count(run.strings) + " strings"],
      findings === null ? null : ["Findings", count(data.findings.of), high === 0 ? "none of high severity" : high + " of high severity"],
      waste === null ? null : ["Largest duplicate", size(waste), count(data.duplicates.of) + " sets"],
      run.unreachable > 0 ? ["Unreachable", size(run.unreachable_bytes), plural(run.unreachable, "object", "objects")] : null,
      run.detached > 0 ? ["Detached", count(run.detached), "DOM nodes"] : null,
      ["Analysis", run.seconds.toFixed(1) + " s", run.peak === null ? null : "peak memory " + size(run.peak)],
    ];
    summary(list);
  };

  // ---- links between sections ----
  // What brings a row into view, by kind of row.
  const links = {};
  const shownHere = (table, id) => Boolean(data.allocations && data.allocations[table] && data.allocations[table].rows.some((row) => row.id === id));
  const classLink = (id, label) => (classRow.has(id) ? el("a", { href: "#class-" + id }, name(label)) : name(label));
  const setLink = (id) => el("a", { href: "#set-" + id }, "set " + id);
  const nodeText = (node) => {
    const known = data.nodes[node];
    if (!known) return "node " + node;
    const own = known.name === null || text(known.name) === "" ? "" : " " + JSON.stringify(text(known.name));
    return text(known.class) + (known.id === null ? "" : " @" + known.id) + own;
  };

  // ---- what keeps an object alive ----
  const aboveOf = new Map(data.above.map((one) => [one.node, one]));
  // A word of a command line as a shell takes it.
  const quoted = (word) => (/^[\w/.+:,@%-][\w/.+:,@%=-]*$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'");
  // A command to paste, with a button that copies it where the browser lets it.
  const command = (line) => {
    const done = el("span", { class: "soft", role: "status" });
    const copy = () => navigator.clipboard.writeText(line).then(() => { done.textContent = "copied"; }, () => { done.textContent = "the browser does not allow it: select the text"; });
    return el("p", { class: "command" }, el("code", null, line), navigator.clipboard ? el("button", { type: "button", class: "plain", onclick: copy }, "Copy") : null, done);
  };
  // An object by its name, which opens what keeps it alive.
  const whyLink = (node, before) => {
    const above = aboveOf.get(node);
    const made = el("details", { class: "why" }, el("summary", null, before, el("span", { class: "link" }, name(nodeText(node)))));
    // Filled when it is opened first.
    made.addEventListener("toggle", () => {
      if (!made.open || made.children.length > 1) return;
      const list = above ? above.dominators : [];
      const line = (one) => el("li", null, name(nodeText(one)), data.nodes[one] ? el("span", { class: "soft" }, " — retains " + size(data.nodes[one].retained)) : null);
      const body = el("div", { class: "body" });
      if (list.length > 0) body.append(el("p", { class: "soft" }, "Each of these alone keeps it alive, the nearest first:"), el("ol", null, list.map(line)), ...flat([above.more ? el("p", { class: "soft" }, "More are above these.") : null]));
      else if (above) body.append(el("p", { class: "soft" }, "No single object keeps it alive: several paths from the roots lead to it."));
      body.append(el("p", { class: "soft" }, "The shortest path from a root:"), command("heaplake why " + quoted(text(run.place)) + " " + node));
      made.append(body);
    });
    return made;
  };
  const classRow = new Map((data.classes ? data.classes.rows : []).map((row) => [row.id, row]));

  // ---- dominator tree ----
  const dominators = () => {
    if (!data.groups || data.groups.rows.length === 0) {
      section("tree", "Who holds the memory", missing("This run has no table of nodes, so there is no tree to show."));
      return;
    }
    const [PARENT, CLASS, COUNT, BYTES, TOTAL, EXAMPLE] = [0, 1, 2, 3, 4, 5];
    const groups = data.groups.rows;
    const below = groups.map(() => []);
    for (let at = 1; at < groups.length; at += 1) below[groups[at][PARENT]].push(at);
    // Others come last, whatever their size.
    const order = (a, b) => (groups[a][CLASS] === null) - (groups[b][CLASS] === null) || groups[b][TOTAL] - groups[a][TOTAL];
    for (const list of below) list.sort(order);
    // The name of a group's largest object, where it is one that somebody gave in the sources: that of a function.
    const ownName = (at) => {
      const known = groups[at][EXAMPLE] === null ? null : data.nodes[groups[at][EXAMPLE]];
      // Classes in brackets are those of the runtime, whose objects have no names from the sources.
      if (!known || known.name === null || !/^[\p{L}$_]/u.test(text(groups[at][CLASS])) || !/^[\p{L}$_#][\p{L}\p{N}$_.#<> ]{0,48}$/u.test(text(known.name))) return null;
      return text(known.name);
    };
    const title = (at) => {
      if (at === 0) return "Heap";
      if (groups[at][CLASS] === null) return "others";
      const own = ownName(at);
      if (groups[at][COUNT] === 1) return text(groups[at][CLASS]) + (own === null ? "" : " " + own);
      return count(groups[at][COUNT]) + " × " + text(groups[at][CLASS]) + (own === null ? "" : " (" + own + ", …)");
    };
    const describe = (at) => {
      const group = groups[at];
      const lines = [size(group[TOTAL]) + " held, " + share(group[TOTAL]) + " of the heap"];
      if (group[CLASS] === null) lines.push("smaller groups, put together here");
      else {
        lines.push(size(group[BYTES]) + " in " + plural(group[COUNT], "object itself", "objects themselves"));
        if (group[EXAMPLE] !== null) lines.push("largest: " + nodeText(group[EXAMPLE]));
      }
      return lines;
    };

    // Levels that are drawn below the group that is looked at.
    let levels = 5;
    const color = (cls) => (cls === null ? (dark.matches ? "#3a4452" : "#d0d6dd") : colorOf(text(cls)));
    const item = (at, deep) => {
      const group = groups[at];
      const made = { name: title(at), value: group[TOTAL], group: at, cls: group[CLASS] };
      if (deep > 0 && below[at].length > 0) {
        made.children = below[at].filter((child) => groups[child][TOTAL] > 0).map((child) => item(child, deep - 1));
        if (group[BYTES] > 0) made.children.push({ name: "themselves", value: group[BYTES], group: at, own: true, cls: group[CLASS] });
      }
      return made;
    };
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const map = el("div", { id: "map", role: "img" });
    const legend = el("ul", { class: "legend", "aria-label": "Colors of the map" });
    const depth = el("select", { id: "map-levels", onchange: () => { levels = Number(depth.value); draw(); } }, [1, 2, 3, 5, 8, 12, 20].map((number) => el("option", { value: number, selected: number === levels }, String(number))));
    const up = el("button", { type: "button", class: "plain", onclick: () => select(groups[current][PARENT], true) }, "Up one level");
    // The classes of the boxes that are drawn, the largest first, with the bytes in them.
    const paint = (root) => {
      const sums = new Map();
      const add = (box) => (box.children ? box.children.forEach(add) : sums.set(box.cls, (sums.get(box.cls) || 0) + box.value));
      add(root);
      const list = [...sums].filter(([, bytes]) => bytes > 0).sort((a, b) => (a[0] === null) - (b[0] === null) || b[1] - a[1]);
      const SHOWN = 9;
      // A class keeps the color that it gets first.
      for (const [cls] of list.slice(0, SHOWN)) if (cls !== null && !ranked.has(text(cls))) ranked.set(text(cls), ranked.size % LIGHT.length);
      const tint = (box) => { box.itemStyle = { color: color(box.cls) }; (box.children || []).forEach(tint); };
      tint(root);
      const rest = list.slice(SHOWN).reduce((sum, [, bytes]) => sum + bytes, 0);
      const key = ([cls, bytes]) => el("li", null, el("i", { style: "background:" + color(cls) }), name(cls === null ? "others" : text(cls)), " " + size(bytes));
      legend.replaceChildren(...list.slice(0, SHOWN).map(key), ...(rest > 0 ? [el("li", { class: "soft" }, "and " + plural(list.length - SHOWN, "class", "classes") + ", " + size(rest))] : []));
      up.disabled = current === 0;
    };
    const crumbs = el("ol", { class: "crumbs", "aria-label": "Path to the group that is shown" });
    const detail = el("p", { class: "soft", id: "group-detail", "aria-live": "polite" });
    const outline = el("ul", { role: "tree", "aria-label": "Groups of the dominator tree" });
    const { of } = data.groups;
    const folded = of > groups.length ? " Of " + count(of) + " groups the " + count(groups.length) + " largest are shown; the rest is in “others”, nothing is lost." : "";
    section("tree", "Who holds the memory",
      soft("The dominator tree: what is inside a box goes when the box goes. Objects of one class in the same place are one group, recursion is folded. A name in brackets is that of the largest." + folded + " Click a box to look into it, or use the tree beside it: arrow keys move and open, Enter zooms, Backspace goes up."),
      crumbs, detail, el("div", { class: "tools" }, el("label", { for: "map-levels" }, "Levels "), depth, up),
      el("div", { class: "tree" }, el("div", null, map, el("p", { class: "soft legend-title" }, "Colors: the classes of the boxes, and what is in them"), legend), el("div", { class: "outline" }, outline)));

    const chart = echarts.init(map, null, { renderer: "canvas" });
    let current = 0;
    const draw = () => {
      const ink = getComputedStyle(document.body).getPropertyValue("--ink").trim();
      const card = getComputedStyle(document.body).getPropertyValue("--card").trim();
      const root = item(current, levels);
      paint(root);
      chart.setOption({
        animation: !still,
        animationDurationUpdate: 250,
        tooltip: {
          confine: true,
          backgroundColor: card,
          textStyle: { color: ink },
          formatter: ({ data: box }) => (box && box.group !== undefined ? el("div", null, el("b", null, name((box.own ? "in itself: " : "") + title(box.group))), box.own ? el("div", null, size(box.value)) : describe(box.group).map((line) => el("div", null, name(line)))) : ""),
        },
        series: [{
          type: "treemap", roam: false, nodeClick: false, breadcrumb: { show: false },
          left: 0, right: 0, top: 0, bottom: 0, visibleMin: 40, childrenVisibleMin: 300,
          label: { show: true, position: "insideTopLeft", lineHeight: 15, padding: [2, 0], formatter: ({ data: box }) => box.name + "\n" + size(box.value), overflow: "truncate", ellipsis: "…", color: ink },
          upperLabel: { show: true, height: 22, formatter: ({ data: box }) => box.name + "  " + size(box.value), overflow: "truncate", ellipsis: "…", color: ink, fontWeight: 600 },
          itemStyle: { borderColor: card, borderWidth: 1, gapWidth: 1 },
          levels: [{ upperLabel: { show: false } }, { itemStyle: { borderWidth: 3, gapWidth: 2 } }, { itemStyle: { borderWidth: 2, gapWidth: 1 } }],
          data: root.children || [root],
        }],
      }, true);
      map.setAttribute("aria-label", "Treemap of " + title(current) + ": " + describe(current).join(", "));
    };
    const path = (at) => { const steps = [at]; while (at !== 0) { at = groups[at][PARENT]; steps.unshift(at); } return steps; };
    const zoom = (at) => {
      current = below[at].length === 0 && at !== 0 ? groups[at][PARENT] : at;
      draw();
      crumbs.replaceChildren(...path(current).map((step) => el("li", null, el("button", { type: "button", onclick: () => select(step, true), "aria-current": step === current ? "true" : null }, name(title(step))))));
      detail.replaceChildren(...flat([el("b", null, name(title(at))), ": ", describe(at).map((line, i) => [i > 0 ? "; " : "", el("bdi", null, line)])]));
    };

    // The outline: a tree as assistive technology knows it, one stop of the Tab key.
    const items = new Map();
    const make = (at, level) => {
      const open = below[at].length > 0 ? "false" : null;
      const row = el("div", { class: "row" }, el("span", { class: "twist", "aria-hidden": "true" }, open ? "▸" : ""), el("span", { class: "grow" }, name(title(at))), el("span", { class: "size" }, size(groups[at][TOTAL])));
      const made = el("li", { role: "treeitem", "aria-level": level, "aria-expanded": open, "aria-selected": "false", tabindex: "-1" }, row);
      made.dataset.group = at;
      items.set(at, made);
      return made;
    };
    const expand = (at, yes) => {
      const made = items.get(at);
      if (below[at].length === 0 || (made.getAttribute("aria-expanded") === "true") === yes) return;
      made.setAttribute("aria-expanded", String(yes));
      made.querySelector(".twist").textContent = yes ? "▾" : "▸";
      if (yes && made.children.length === 1) {
        const level = Number(made.getAttribute("aria-level")) + 1;
        made.append(el("ul", { role: "group" }, below[at].map((child) => make(child, level))));
      }
      if (made.children.length > 1) made.children[1].hidden = !yes;
    };
    const focus = (at) => {
      for (const other of outline.querySelectorAll("[tabindex='0']")) other.tabIndex = -1;
      items.get(at).tabIndex = 0;
      items.get(at).focus();
    };
    const select = (at, reveal) => {
      if (reveal) for (const step of path(at).slice(0, -1)) expand(step, true);
      for (const other of outline.querySelectorAll("[aria-selected='true']")) other.setAttribute("aria-selected", "false");
      const made = items.get(at);
      if (made) {
        made.setAttribute("aria-selected", "true");
        if (reveal) {
          // Only the outline moves, not the page.
          const [row, frame] = [made.querySelector(".row").getBoundingClientRect(), outline.parentElement.getBoundingClientRect()];
          if (row.top < frame.top) outline.parentElement.scrollTop -= frame.top - row.top + 8;
          else if (row.bottom > frame.bottom) outline.parentElement.scrollTop += row.bottom - frame.bottom + 8;
        }
      }
      zoom(at);
    };
    const seen = () => [...outline.querySelectorAll("[role='treeitem']")].filter((made) => !made.closest("[hidden]"));
    outline.append(make(0, 1));
    items.get(0).tabIndex = 0;
    expand(0, true);
    outline.addEventListener("click", (event) => {
      const made = event.target.closest("[role='treeitem']");
      if (!made) return;
      const at = Number(made.dataset.group);
      if (event.target.closest(".twist")) expand(at, made.getAttribute("aria-expanded") !== "true");
      else { expand(at, true); select(at, false); }
      focus(at);
    });
    outline.addEventListener("keydown", (event) => {
      const at = Number(event.target.dataset.group);
      if (Number.isNaN(at)) return;
      const list = seen();
      const here = list.indexOf(items.get(at));
      const open = items.get(at).getAttribute("aria-expanded");
      const go = (made) => made && focus(Number(made.dataset.group));
      switch (event.key) {
        case "ArrowDown": go(list[here + 1]); break;
        case "ArrowUp": go(list[here - 1]); break;
        case "Home": go(list[0]); break;
        case "End": go(list[list.length - 1]); break;
        case "ArrowRight": if (open === "false") expand(at, true); else go(list[here + 1]); break;
        case "ArrowLeft": if (open === "true") expand(at, false); else if (at !== 0) focus(groups[at][PARENT]); break;
        case "Enter": case " ": select(at, true); break;
        case "Backspace": if (at !== 0) { select(groups[at][PARENT], true); focus(groups[at][PARENT]); } break;
        default: return;
      }
      event.preventDefault();
    });
    chart.on("click", ({ data: box }) => { if (box && box.group !== undefined) select(box.group, true); });
    addEventListener("resize", () => chart.resize());
    dark.addEventListener("change", draw);
    // Down to where the heap first branches.
    let begin = 0;
    while (below[begin].length > 0 && groups[below[begin][0]][CLASS] !== null && groups[below[begin][0]][TOTAL] > 0.9 * groups[begin][TOTAL] && below[below[begin][0]].length > 0) begin = below[begin][0];
    select(begin, true);
    items.get(0).tabIndex = 0;
  };

  let classGrid = null;
  const classes = () => {
    if (!data.classes) {
      section("classes", "Classes", missing("This run has no table of classes."));
      return;
    }
    const { rows, of } = data.classes;
    const most = rows.length > 0 ? rows[0].retained : 0;
    const number = (title, key, show) => ({ title, value: (row) => row[key], cell: (row) => (row[key] === null ? "" : show(row[key])) });
    const columns = [
      { title: "Class", text: true, value: (row) => text(row.name).toLowerCase(), cell: (row) => [el("span", { title: row.key === null ? null : text(row.key) }, name(text(row.name))), chained.has(row.id) ? [" ", el("a", { href: "#chain-" + row.id }, "chains")] : null] },
      { title: "Retained", value: (row) => row.retained, cell: (row) => [size(row.retained), bar(row.retained, most)] },
      { title: "of heap", value: (row) => row.retained, cell: (row) => share(row.retained) },
      number("Shallow", "shallow", size), number("Objects", "count", count), number("Largest", "largest", size), number("Distance", "distance", (far) => (far >= 1e8 ? "system" : String(far))),
    ];
    if (rows.some((row) => row.duplicates !== null)) columns.push(number("Duplicates", "duplicates", size));
    classGrid = grid("classes", columns, rows, { by: 1, down: true, of, placeholder: "Search classes", id: (row) => "class-" + row.id, words: (row) => text(row.name) + " " + text(row.key) });
    section("classes", "Classes", soft("Retained: what would go with all objects of the class, nothing counted twice."), classGrid.view);
  };

  // ---- owners ----
  const owners = () => {
    if (!data.owners) {
      section("owners", "Owners", missing("This run has no table of owners."));
      return;
    }
    const { rows, of } = data.owners;
    const most = rows.length > 0 ? rows[0].retained : 0;
    const number = (title, key, show) => ({ title, value: (row) => row[key], cell: (row) => (row[key] === null ? "" : show(row[key])) });
    const columns = [
      { title: "Owner", text: true, value: (row) => text(row.name).toLowerCase(), cell: (row) => name(text(row.name)) },
      { title: "Retained", value: (row) => row.retained, cell: (row) => [size(row.retained), bar(row.retained, most)] },
      { title: "of heap", value: (row) => row.retained, cell: (row) => share(row.retained) },
      number("Freed", "freed", size), number("Shallow", "shallow", size), number("Objects", "count", count),
    ];
    if (rows.some((row) => row.allocated !== null)) columns.push(number("Allocated", "allocated", size));
    const made = grid("owners", columns, rows, { by: 1, down: true, of, placeholder: "Search owners", id: () => null, words: (row) => text(row.name) });
    section("owners", "Owners", soft("Whose memory it is, by package or by rules. Retained: each byte counts for one owner. Freed: what would go if the owner's objects went."), made.view);
  };

  const objects = () => {
    const columns = [
      { title: "Object", text: true, value: (row) => text(row.class).toLowerCase(), cell: (row) => [aboveOf.has(row.node) ? whyLink(row.node) : [name(text(row.class) + (row.id === null ? "" : " @" + row.id)), text(row.name) === "" ? null : [" ", name(JSON.stringify(text(row.name)))]], el("div", { class: "soft" }, "in ", row.path.map((step, i) => [i > 0 ? " › " : null, i === 3 && row.left_out > 0 ? "… " + count(row.left_out) + " more … › " : null, name(text(step))]))] },
      { title: "Retained", value: (row) => row.retained, cell: (row) => size(row.retained) },
      { title: "of heap", value: (row) => row.retained, cell: (row) => share(row.retained) },
      { title: "Shallow", value: (row) => row.shallow, cell: (row) => size(row.shallow) },
      { title: "Node", value: (row) => row.node, cell: (row) => String(row.node) },
    ];
    const made = grid("objects", columns, data.objects, { by: 1, down: true, of: data.objects.length, placeholder: "Search objects", id: (row) => "node-" + row.node, words: (row) => text(row.class) + " " + text(row.name) + " " + row.id });
    section("objects", "Largest objects", soft("Those that retain most, and their dominators from the root down."), made.view);
  };

  // ---- chains ----
  const chained = new Map();
  for (const chain of data.chains ? data.chains.rows : []) {
    if (!chained.has(chain.class)) chained.set(chain.class, []);
    chained.get(chain.class).push(chain);
  }
  const KINDS = { reference: "Shortest chains from a root", dominator: "Held by: chains of dominators" };
  const chains = () => {
    if (!data.chains) {
      section("chains", "Reference chains", missing("This run has no table of chains."));
      return;
    }
    const step = ([edge, cls, repeats]) => (cls === null ? ["…"] : [edge === null ? null : el("span", { class: "edge" }, name(/^[[(]/.test(text(edge)) ? text(edge) : "." + text(edge)), " "), name(text(cls)), repeats ? el("b", { title: "this step repeats, as along a list", "aria-label": "repeats" }, " ⟳") : null]);
    // Paths that begin alike share their beginning.
    const grow = (list) => {
      const root = { below: new Map(), count: 0, retained: 0 };
      for (const chain of list) {
        let at = root;
        for (const element of chain.path) {
          const key = element.join("|");
          if (!at.below.has(key)) at.below.set(key, { element, below: new Map(), count: 0, retained: 0 });
          at = at.below.get(key);
          at.count += chain.count;
          at.retained += chain.retained;
        }
        at.end = chain;
      }
      return root;
    };
    const numbers = (at) => [" — ", plural(at.count, "object", "objects"), ", ", size(at.retained), at.end ? ", for example node " + at.end.example : null];
    const render = (at) => {
      // A run of single steps is one line.
      const steps = [at];
      while (at.below.size === 1 && !at.end) { at = at.below.values().next().value; steps.push(at); }
      const line = [steps.map((one, i) => [i > 0 ? " › " : null, step(one.element)]), el("span", { class: "soft" }, numbers(at))];
      if (at.below.size === 0) return el("div", { class: "leafline" }, line);
      const made = el("details", null, el("summary", null, line));
      made.addEventListener("toggle", () => { if (made.open && made.children.length === 1) made.append(...children(at)); });
      return made;
    };
    const children = (at) => [...at.below.values()].sort((a, b) => b.retained - a.retained || b.count - a.count).map(render);
    const kindsOf = (list) => [...new Set(list.map((chain) => text(chain.kind)))];
    const one = ([id, list]) => {
      const top = kindsOf(list).map((kind) => list.filter((chain) => text(chain.kind) === kind));
      const total = Math.max(...top.map((chains) => chains.reduce((sum, chain) => sum + chain.retained, 0)));
      const made = el("details", { id: "chain-" + id }, el("summary", null, name(text(list[0].name)), el("span", { class: "soft" }, " — " + size(total))));
      made.addEventListener("toggle", () => {
        if (!made.open || made.children.length > 1) return;
        for (const chains of top) made.append(el("p", { class: "soft" }, KINDS[text(chains[0].kind)] || text(chains[0].kind)), ...children(grow(chains)));
      });
      return made;
    };
    const { rows, of } = data.chains;
    const words = rows.length < of ? " The " + count(rows.length) + " largest of " + count(of) + " chains are in this page." : "";
    section("chains", "Reference chains", soft("For each big class, the chains of classes from the roots to its objects. Open a line to follow it. ⟳ marks a step that repeats, such as the entries of a linked list: it stands for any number of objects of this class." + words), [...chained].map(one));
  };

  // ---- duplicates ----
  let setGrid = null;
  const duplicates = () => {
    if (!data.duplicates) {
      section("duplicates", "Duplicates", missing("Duplicates were not looked for in this run."));
      return;
    }
    const { rows, of } = data.duplicates;
    const shownSets = new Set(rows.map((row) => row.set));
    // Of a set that is only possible, or was not compared to the end: from what is certain to what is possible.
    const additional = (row) => row.bounds !== null ? size(row.bounds[0]) + " to " + size(row.bounds[1]) : row.exact ? size(row.additional) : "up to " + size(row.additional) + " of their own";
    const columns = [
      { title: "Class and preview", text: true, value: (row) => text(row.name).toLowerCase(), cell: (row) => [classLink(row.class, text(row.name)), row.preview === null ? null : el("div", { class: "soft" }, name(text(row.preview)))] },
      { title: "Additional", value: (row) => row.additional, cell: additional },
      { title: "Members", value: (row) => row.members, cell: (row) => count(row.members) },
      { title: "One member", value: (row) => row.instance, cell: (row) => size(row.instance) },
      { title: "Status", value: (row) => text(row.status), cell: (row) => el("span", { title: row.reason === null ? null : text(row.reason) }, text(row.status)) },
      { title: "Held by", value: (row) => row.holder, cell: (row) => (row.holder === null ? "" : shownSets.has(row.holder) ? setLink(row.holder) : "set " + row.holder) },
      { title: "Set", value: (row) => row.set, cell: (row) => String(row.set) },
    ];
    setGrid = grid("duplicates", columns, rows, { by: 1, down: true, of, placeholder: "Search duplicates", id: (row) => "set-" + row.set, words: (row) => text(row.name) + " " + text(row.preview) + " " + text(row.status) });
    section("duplicates", "Duplicates", soft("Additional: what would go if the members were merged into one. Sets nest, so these do not add up."), setGrid.view, possibleClasses());
  };

  // ---- stages and tables ----
  const stages = () => {
    const parts = [];
    if (data.stages) {
      const most = Math.max(...data.stages.map((stage) => stage.seconds), 0);
      const row = (stage) => el("tr", null, el("td", { class: "text" }, text(stage.name)), el("td", null, stage.seconds.toFixed(3) + " s", bar(stage.seconds, most)), el("td", null, count(stage.rows)), el("td", null, size(stage.spilled)));
      const titles = ["Stage", "Time", "Rows", "Spilled"].map((title, i) => el("th", { scope: "col", class: i === 0 ? "text" : null }, title));
      parts.push(el("details", null, el("summary", null, "Times of the " + plural(data.stages.length, "stage", "stages")), el("div", { class: "scroll" }, el("table", null, el("thead", null, el("tr", null, titles)), el("tbody", null, data.stages.map(row))))));
    } else {
      parts.push(missing("This run has no table of itself, so the times of its stages are not known."));
    }
    const list = run.tables.map(([file, rows, bytes]) => el("li", null, el("code", null, text(file)), " — " + plural(rows, "row", "rows") + ", " + size(bytes)));
    section("stages", "How it was made", parts, el("p", { class: "soft" }, "Tables of the run:"), el("ul", null, list));
  };

  // ---- links open what they lead to ----
  const arrive = () => {
    const [, kind, id] = location.hash.match(/^#(class|set|chain|holders|type|function)-(\d+)$/) || [];
    if (!kind) return;
    if (links[kind]) links[kind](Number(id));
    if (kind === "class" && classGrid && classRow.has(Number(id))) classGrid.reveal(classRow.get(Number(id)));
    if (kind === "set" && setGrid) {
      const row = data.duplicates.rows.find((one) => one.set === Number(id));
      if (row) setGrid.reveal(row);
    }
    const target = byId(location.hash.slice(1));
    if (!target) return;
    if (kind === "chain" || kind === "holders") target.open = true;
    for (const other of document.querySelectorAll(".target")) other.classList.remove("target");
    target.classList.add("target");
    target.tabIndex = -1;
    target.scrollIntoView({ block: "center" });
    target.focus({ preventScroll: true });
  };
