  // A message is a sentence, and mostly a path after it. The title is its first clause, the path becomes steps.
  const ARROW = / [→›] /;
  const clauses = (message) => {
    const arrow = message.search(ARROW);
    const before = arrow < 0 ? message : message.slice(0, arrow);
    const cut = arrow < 0 ? -1 : Math.max(before.lastIndexOf(": ") + 2, before.lastIndexOf(" for example ") + 13);
    // Without one of these marks, it is not known where the path begins.
    const marked = cut > 12 || (cut > 1 && before.includes(": "));
    const sentence = (marked ? message.slice(0, cut).replace(/(, for example |: )$/, "") : message).trim();
    const steps = marked ? message.slice(cut).split(ARROW) : [];
    const end = sentence.search(/; |\. |, held by |, and what |, which retain /);
    if (end < 0) return { title: sentence, rest: "", steps };
    const rest = sentence.slice(end).replace(/^[;.,] /, "").replace(/^which retain/, "they retain");
    return { title: sentence.slice(0, end), rest: rest[0].toUpperCase() + rest.slice(1), steps };
  };

  // Steps of a path; of a long one the middle opens.
  const ENDS = 5;
  const pathOf = (steps) => {
    if (steps.length === 0) return null;
    const one = (step) => el("li", null, name(step));
    const list = el("ol", { class: "steps", "aria-label": "Path from a root" }, steps.map(one));
    if (steps.length > 2 * ENDS + 1) {
      const hidden = [...list.children].slice(ENDS, -ENDS);
      for (const step of hidden) step.hidden = true;
      const open = el("li", null, el("button", { type: "button", class: "plain", onclick: () => { for (const step of hidden) step.hidden = false; open.remove(); } }, count(hidden.length) + " more steps"));
      hidden[0].before(open);
    }
    return list;
  };
