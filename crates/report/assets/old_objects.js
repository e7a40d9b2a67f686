
  // ---- old objects of a recording of Java ----
  const oldObjects = () => {
    const title = "Old objects";
    if (!data.old_objects) {
      section("old-objects", title, missing("This run has no table of old objects."));
      return;
    }
    const { rows, of } = data.old_objects;
    const age = (seconds) => (seconds === null ? "" : seconds < 1 ? Math.round(1000 * seconds) + " ms" : seconds < 120 ? seconds.toFixed(1) + " s" : seconds < 7200 ? (seconds / 60).toFixed(1) + " min" : (seconds / 3600).toFixed(1) + " h");
    const kind = (row) => (shownHere("types", row.type_id) ? el("a", { href: "#type-" + row.type_id }, name(text(row.name))) : name(text(row.name)));
    const rootOf = (row) => row.root.filter((part) => part !== null).map(text).filter((part) => part !== "<unknown>").join(", ");
    // The chain, filled when it is opened first. Its end says what is behind it.
    const chain = (row) => {
      if (row.path === null) return el("span", { class: "soft" }, "no chain was recorded");
      const steps = text(row.path).split(" > ");
      const made = el("details", null, el("summary", null, name(rootOf(row) || "(root)"), el("span", { class: "soft" }, " — " + plural(row.length, "holder", "holders"))));
      made.addEventListener("toggle", () => {
        if (!made.open || made.children.length > 1) return;
        made.append(pathOf(steps), ...flat([row.cut ? soft("The chain goes on behind this; the recording or a limit cut it.") : null]));
      });
      return made;
    };
    const columns = [
      { title: "Type", text: true, value: (row) => text(row.name), cell: (row) => [kind(row), row.description === null ? null : el("span", { class: "soft" }, " " + text(row.description))] },
      { title: "Age", value: (row) => row.age, cell: (row) => age(row.age) },
      { title: "Bytes", value: (row) => row.bytes, cell: (row) => (row.bytes === null ? "" : size(row.bytes)) },
      { title: "Elements", value: (row) => row.elements, cell: (row) => (row.elements === null ? "" : count(row.elements)) },
      { title: "Held by, from the root", text: true, value: (row) => text(row.path), cell: chain },
      { title: "Allocated in", text: true, value: (row) => text(row.function), cell: (row) => [row.function === null ? null : name(text(row.function)), row.thread === null ? null : el("span", { class: "soft" }, " in thread " + text(row.thread))] },
    ];
    const held = rows.filter((row) => row.path !== null).length;
    const words = rows.length < of ? " The page has " + count(rows.length) + " of " + count(of) + ": those that something holds first, then the oldest." : "";
    const none = held === 0 && rows.length > 0 ? missing("No chain was recorded: record with", "path-to-gc-roots=true") : null;
    const made = grid("old-objects", columns, rows, { by: 1, down: true, of, placeholder: "Search types, chains, functions", id: (row) => "old-object-" + row.sample, words: (row) => [row.name, row.path, row.function, row.thread].map(text).join(" ") });
    section("old-objects", title, soft("Objects that the recording sampled when they were allocated and that were alive when it was written. The same chain again and again, in all ages, is what leaks. Objects without a chain are young, or garbage that no collection has seen." + words), none, made.view);
  };
