  // Elements, sizes and colours, as all pages have them, also those of heaplake explore. Everything from inputs reaches the
  // document through textContent, never as markup.
  const byId = (id) => document.getElementById(id);

  // Elements and texts out of lists of lists with gaps.
  const flat = (children) => children.flat(9).filter((child) => child !== null && child !== undefined).map((child) => (child instanceof Node ? child : String(child)));
  // An element: properties, then children, which are elements or texts.
  const el = (tag, properties, ...children) => {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(properties || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      // As a property, since a content security policy may forbid the attribute.
      else if (key === "style") element.style.cssText = value;
      else element.setAttribute(key, value === true ? "" : value);
    }
    element.append(...flat(children));
    return element;
  };
  // The same for drawings.
  const drawing = (tag, properties, ...children) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(properties)) element.setAttribute(key, value);
    element.append(...flat(children));
    return element;
  };
  const name = (value) => el("bdi", { class: "name" }, value);
  const capital = (words) => words[0].toUpperCase() + words.slice(1);

  const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  const size = (bytes) => {
    let unit = 0;
    while (bytes >= 1024 && unit + 1 < UNITS.length) { bytes /= 1024; unit += 1; }
    return unit === 0 ? bytes + " B" : bytes.toFixed(1) + " " + UNITS[unit];
  };
  const count = (number) => number.toLocaleString("en-US");
  const plural = (number, one, many) => count(number) + " " + (number === 1 ? one : many);

  // A name has the same color wherever it is.
  const LIGHT = ["#9dc0ee", "#a8d8b9", "#f0c9a0", "#cdb6ea", "#f0b3c0", "#a5d8de", "#dcdc9c", "#e3b9a6", "#b9c3ee", "#c2e0a0"];
  const DARK = ["#2f5f9e", "#3f7d5a", "#8a5a2b", "#6d4b93", "#8b3f55", "#2f7680", "#6f6f2f", "#7a4a38", "#4d5a8f", "#557a2f"];
  const dark = matchMedia("(prefers-color-scheme: dark)");
  // The classes that matter most have colors of their own; others share those that their names give.
  const ranked = new Map();
  const colorOf = (words) => {
    if (ranked.has(words)) return (dark.matches ? DARK : LIGHT)[ranked.get(words)];
    let hash = 7;
    for (const c of words) hash = (31 * hash + c.codePointAt(0)) % 65521;
    return (dark.matches ? DARK : LIGHT)[hash % LIGHT.length];
  };
  const bar = (bytes, most) => el("span", { class: "bar", style: "width:" + (most > 0 ? Math.max(1, 100 * bytes / most).toFixed(1) : 0) + "%" });
  const soft = (...children) => el("p", { class: "soft" }, children);
