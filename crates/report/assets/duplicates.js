  // ---- classes with possible duplicates ----
  // Commands name the run, so that they can be pasted.
  const withPlace = (words) => words.replace(/(heaplake (?:duplicates|why|top|dominators|report|show)) RUN/g, (_, verb) => verb + " " + quoted(text(run.place)));

  const possibleClasses = () => {
    if (!data.possible || data.possible.rows.length === 0) return null;
    const { rows, of } = data.possible;
    // The command is what stands between the marks.
    const commandOf = (row) => (withPlace(text(row.next)).match(/`(.*)`/s) || [])[1];
    const columns = [
      { title: "Class", text: true, value: (row) => text(row.name).toLowerCase(), cell: (row) => el("span", { title: text(row.message) }, classLink(row.class, text(row.name))) },
      { title: "At most", value: (row) => row.bytes, cell: (row) => size(row.bytes) },
      { title: "Members", value: (row) => row.members, cell: (row) => count(row.members) },
      { title: "To find its duplicates", text: true, value: (row) => commandOf(row) || "", cell: (row) => (commandOf(row) ? command(commandOf(row)) : el("span", { class: "soft" }, "the snapshot does not tell more")) },
    ];
    const made = grid("possible", columns, rows, { by: 1, down: true, of, placeholder: "Search classes", id: (row) => "possible-" + row.class, words: (row) => text(row.name) });
    return el("details", { id: "possible-classes" }, el("summary", null, plural(of, "class has", "classes have") + " possible duplicates"), soft("Objects that look alike, but of which it is not known whether they are duplicates. At most: what sharing them would save of their own bytes; what they refer to comes on top."), made.view);
  };
