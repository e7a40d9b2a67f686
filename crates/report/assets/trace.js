
  // ---- what a replayed trace says ----
  const COVERAGE = { none: "the trace has none", every: "each is in the trace", sampled: "of which the trace has a sample", ticks: "told by the trace in steps of bytes" };
  const traceTiles = () => {
    const { trace } = data;
    const types = data.allocations && data.allocations.types;
    const estimate = types ? types.rows.reduce((sum, row) => sum + (row.bytes || 0), 0) : 0;
    const bytes = trace.allocated_bytes > 0 ? trace.allocated_bytes : estimate;
    const found = data.findings;
    const high = found ? found.rows.filter((finding) => text(finding.severity) === "high").length : 0;
    const list = [
      ["Allocated", size(bytes), types ? plural(types.of, "type", "types") : null],
      ["Objects", trace.coverage === "ticks" ? "not counted" : count(trace.allocated_count), COVERAGE[trace.coverage]],
      ["Stacks taken", count(trace.sampled_count - trace.stackless_count), trace.interval > 1 ? "of every " + trace.interval + "th object or so" : "of every object that has one"],
      ["Collections", count(trace.collection_count)],
      trace.tracked ? ["Alive at the end", size(trace.live_bytes), plural(trace.live_count, "object", "objects")] : null,
      found ? ["Findings", count(found.of), high === 0 ? "none of high severity" : high + " of high severity"] : null,
      ["Replay", run.seconds.toFixed(1) + " s", run.peak === null ? null : "peak memory " + size(run.peak)],
    ];
    summary(list);
    const lacks = [[trace.has_stacks, "stacks"], [trace.has_moves, "moves and survivors"], [trace.has_type_names, "names of types"], [trace.has_times, "times"]];
    const missed = lacks.filter(([there]) => !there).map(([, what]) => what);
    if (missed.length > 0) byId("main").append(soft("The trace has no " + missed.join(", no ") + "."));
    const odd = Object.entries(trace.anomalies).map(([what, number]) => count(number) + " " + what.replaceAll("_", " "));
    if (odd.length > 0) byId("main").append(el("p", { class: "warn", role: "note" }, "Did not fit together: " + odd.join(", ") + "."));
  };

  // Collections as bars of what they reclaimed, and a line of what was alive after each.
  const timeline = ({ rows, of }) => {
    const most = rows.reduce((most, row) => Math.max(most, row.dead || 0, row.live || 0), 1);
    const [wide, high] = [1000, 100];
    const step = wide / rows.length;
    const y = (bytes) => high - high * bytes / most;
    const told = (row) => {
      const lines = [row.first === row.last ? "collection " + row.first : "collections " + row.first + " to " + row.last, "generation " + row.generation + (row.first === row.last ? "" : " at most")];
      if (row.dead !== null) lines.push(size(row.dead) + " reclaimed");
      if (row.live !== null) lines.push(size(row.live) + " alive after it");
      if (row.moved !== null) lines.push(size(row.moved) + " moved");
      if (row.pause !== null) lines.push((1000 * row.pause).toFixed(2) + " ms from start to end");
      return lines.join("\n");
    };
    const bars = rows.map((row, at) => drawing("g", {},
      drawing("title", {}, told(row)),
      drawing("rect", { x: at * step, y: 0, width: step, height: high, class: "field" }),
      drawing("rect", { x: at * step + step * 0.1, y: y(row.dead || 0), width: step * 0.8, height: high - y(row.dead || 0), class: "gen" + row.generation })));
    const line = drawing("polyline", { points: rows.map((row, at) => (at + 0.5) * step + "," + y(row.live || 0)).join(" "), class: "alive", "vector-effect": "non-scaling-stroke" });
    const picture = drawing("svg", { viewBox: "0 0 " + wide + " " + high, preserveAspectRatio: "none", role: "img", "aria-label": "Bytes reclaimed by and alive after " + plural(of, "collection", "collections") + ", at most " + size(most) }, bars, line);
    const sum = (of) => rows.reduce((sum, row) => sum + (of(row) || 0), 0);
    const key = (mark, words) => el("span", null, el("i", { class: mark, "aria-hidden": "true" }), words);
    const generations = [0, 1, 2].filter((generation) => rows.some((row) => row.generation === generation));
    return [
      soft(plural(of, "collection", "collections") + " reclaimed " + size(sum((row) => row.dead)) + " and moved " + size(sum((row) => row.moved)) + "." + (rows.length < of ? " Neighbours share a bar." : "")),
      el("div", { class: "timeline" }, el("div", { class: "axis", "aria-hidden": "true" }, el("span", null, size(most)), el("span", null, "0")), el("div", { class: "plot" }, picture)),
      el("p", { class: "keys soft" }, generations.map((generation) => key("gen" + generation, "reclaimed, generation " + generation)), key("alive", "alive afterwards")),
    ];
  };

  const allocations = () => {
    const { types, functions, callees, callers, collections, generations, paths } = data.allocations;
    const total = (row) => row.bytes ?? 0;
    // Of a snapshot, the function that the runtime puts above all others has everything.
    const whole = data.trace ? (types ? types.rows.reduce((sum, row) => sum + total(row), 0) : 0) : functions ? functions.rows.reduce((most, row) => Math.max(most, row.bytes), 0) : 0;
    const part = (bytes) => (whole > 0 ? (100 * bytes / whole).toFixed(1) + " %" : "");

    const graphs = [];
    const drawn = (trees, graph) => { if (trees && trees.rows.length > 0) graphs.push({ ...graph, rows: trees.rows, of: trees.of }); };
    drawn(callees, { title: "Call tree: from the outermost function down", own: true, rest: "in smaller calls that are not shown" });
    drawn(callers, { title: "By type: who allocates, and who calls that", rest: "with no caller, or in smaller ones" });
    const place = (trees) => graphs.findIndex((graph) => trees && graph.rows === trees.rows);
    let graph = null;
    if (graphs.length > 0) {
      graph = flames("calls", graphs);
      const cut = graphs.filter((one) => one.rows.length < one.of).map((one) => count(one.rows.length) + " of " + count(one.of)).join(" and ");
      section("calls", "Who allocates", soft("A box is as wide as what is allocated in a function and in what it calls. Click a box to look into it, a box above to go back; arrow keys move, Enter zooms, Backspace goes up." + (cut === "" ? "" : " The largest boxes are in this page (" + cut + "); what is missing is a gap.")), graph.view);
      graph.begin();
    } else {
      const why = data.trace && !data.trace.has_stacks ? "The trace has no stacks, so there are no calls to show." : "This run has no tables of calls.";
      section("calls", "Who allocates", missing(why));
    }

    if (collections && collections.rows.length > 0) {
      const known = collections.rows.some((row) => row.dead !== null);
      section("collections", "Collections", known ? timeline(collections) : soft(plural(collections.of, "collection", "collections") + ". The trace does not tell what they reclaimed."));
    }

    const jump = (at, words, top, title) => (graph && at >= 0 ? [" ", el("button", { type: "button", class: "jump", title, onclick: () => graph.show(at, words, top) }, "calls")] : null);
    // The classes of a snapshot are in the section of what is alive.
    if (types && data.trace) {
      const most = types.rows.length > 0 ? total(types.rows[0]) : 0;
      const sampled = types.rows.some((row) => row.low !== row.high);
      const number = (title, value, show) => ({ title, value, cell: (row) => (value(row) === null ? "" : show(value(row))) });
      const columns = [
        { title: "Type", text: true, value: (row) => text(row.name).toLowerCase(), cell: (row) => [name(text(row.name)), graph && place(callers) >= 0 && graph.has(place(callers), text(row.name)) ? jump(place(callers), text(row.name), true, "Who allocates it") : null] },
        number("Objects", (row) => row.count, count),
        { title: sampled ? "Estimated" : "Bytes", value: (row) => row.bytes, cell: (row) => (row.bytes === null ? "" : [size(row.bytes), bar(row.bytes, most)]) },
        { title: "of all", value: (row) => row.bytes, cell: (row) => part(total(row)) },
      ];
      if (sampled) {
        columns.push({ title: "95 % interval", value: (row) => row.low, cell: (row) => (row.low === null ? "" : row.low === row.high ? "± 0" : size(row.low) + " – " + size(row.high)) });
      }
      generations.forEach((generation, at) => {
        if (!types.rows.some((row) => row.ends !== null && row.ends[at][1] > 0)) return;
        const title = generation === "alive" ? "Alive" : "Died in " + (generation.length === 1 ? "gen " + generation : generation);
        columns.push({ title, value: (row) => (row.ends === null ? null : row.ends[at][0]), cell: (row) => (row.ends === null || row.ends[at][1] === 0 ? "" : el("span", { title: plural(row.ends[at][1], "object", "objects") }, size(row.ends[at][0]))) });
      });
      const made = grid("types", columns, types.rows, { by: 2, down: true, of: types.of, placeholder: "Search types", id: (row) => "type-" + row.id, words: (row) => text(row.name) });
      section("types", "Types", soft("What was allocated, and in which generation it was reclaimed. Objects that die in generation 2 lived just long enough to be expensive."), made.view);
      links.type = (id) => { const row = types.rows.find((one) => one.id === id); if (row) made.reveal(row); };
    }
    if (functions) {
      const most = functions.rows.length > 0 ? functions.rows[0].bytes : 0;
      const columns = [
        { title: "Function", text: true, value: (row) => text(row.name).toLowerCase(), cell: (row) => [name(text(row.name)), jump(place(callees), text(row.name), false, "Where it is called"), row.module === null ? null : el("div", { class: "soft" }, name(text(row.module)))] },
        { title: "With calls", value: (row) => row.bytes, cell: (row) => [size(row.bytes), bar(row.bytes, most)] },
        { title: "of all", value: (row) => row.bytes, cell: (row) => part(row.bytes) },
        { title: "Itself", value: (row) => row.own_bytes, cell: (row) => size(row.own_bytes) },
        { title: "Objects", value: (row) => row.count, cell: (row) => count(row.count) },
        { title: "Itself", value: (row) => row.own_count, cell: (row) => count(row.own_count) },
      ];
      if (functions.rows.some((row) => row.live !== null)) {
        columns.push({ title: "Alive", value: (row) => row.live[0], cell: (row) => size(row.live[0]) }, { title: "Itself", value: (row) => row.live[1], cell: (row) => size(row.live[1]) });
      }
      const made = grid("functions", columns, functions.rows, { by: 1, down: true, of: functions.of, placeholder: "Search functions", id: (row) => "function-" + row.id, words: (row) => text(row.name) + " " + text(row.module) });
      section("functions", "Functions", soft("What is allocated in a function and in what it calls, and in itself. A recursive function counts once per stack."), made.view);
      links.function = (id) => { const row = functions.rows.find((one) => one.id === id); if (row) made.reveal(row); };
    }
    if (paths && paths.rows.length > 0) {
      const most = paths.rows[0].bytes;
      const columns = [
        { title: "Path of calls", text: true, value: (row) => text(row.name).toLowerCase(), cell: (row) => name(text(row.name)) },
        { title: "Bytes", value: (row) => row.bytes, cell: (row) => [size(row.bytes), bar(row.bytes, most)] },
        { title: "Objects", value: (row) => row.count, cell: (row) => count(row.count) },
      ];
      generations.forEach((generation, at) => {
        if (!paths.rows.some((row) => row.ends[at][1] > 0)) return;
        const title = generation === "alive" ? "Alive" : "Died in " + (generation.length === 1 ? "gen " + generation : generation);
        columns.push({ title, value: (row) => row.ends[at][0], cell: (row) => (row.ends[at][1] === 0 ? "" : el("span", { title: plural(row.ends[at][1], "object", "objects") }, size(row.ends[at][0]))) });
      });
      const made = grid("paths", columns, paths.rows, { by: 1, down: true, of: paths.of, placeholder: "Search paths", id: () => null, words: (row) => text(row.name) });
      section("paths", "Lifetimes by path", soft("Where objects died that the innermost function of a path allocated, by the whole path, the innermost function first."), made.view);
    }
  };
