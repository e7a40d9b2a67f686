// Each view has an address: #VIEW?NAME=VALUE&….

// An address, with its empty values left out.
export const href = (view, values = {}) => {
  const pairs = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return "#" + view + (pairs.length > 0 ? "?" + new URLSearchParams(pairs) : "");
};

export const current = () => {
  const [view, query] = location.hash.slice(1).split(/\?(.*)/s);
  return { view: view || "lake", values: Object.fromEntries(new URLSearchParams(query || "")) };
};

export const go = (view, values) => { location.hash = href(view, values); };

// Changes values of the current address without a step of the history, as while one types; tells whoever shows the view.
let told = () => {};
export const onAmended = (work) => { told = work; };
export const amend = (values) => {
  const { view, values: before } = current();
  history.replaceState(history.state, "", href(view, { ...before, ...values }));
  told();
};
