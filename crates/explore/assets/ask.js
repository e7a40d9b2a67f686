// Questions to the server. The token comes with the first URL, and stays where only this port of this host can read it.
const KEY = "heaplake-token";
let token = "";

export const takeToken = () => {
  const url = new URL(location.href);
  const given = url.searchParams.get("token");
  if (given !== null) {
    // An address that is pasted somewhere has no token.
    url.searchParams.delete("token");
    history.replaceState(history.state, "", url.pathname + url.search + url.hash);
  }
  try {
    if (given !== null) localStorage.setItem(KEY, given);
    token = localStorage.getItem(KEY) || "";
  } catch {
    // Without storage, a reload needs the printed URL.
    token = given || "";
  }
};

// What the server refused: its cause, advice and proposals.
export class Refusal extends Error {
  constructor(body) {
    super(body.error || "the server gave no answer");
    this.advice = body.advice || "";
    this.nearest = body.nearest || [];
  }
}

// Recent answers, so that going back is immediate.
const KEPT = 40;
const kept = new Map();

const urlOf = (question, args) => {
  const pairs = Object.entries(args).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return "api/" + question + "?" + new URLSearchParams(pairs);
};

export const ask = async (question, args, signal) => {
  const url = urlOf(question, args);
  if (kept.has(url)) return kept.get(url);
  let response;
  try {
    response = await fetch(url, { headers: { "x-heaplake-token": token }, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal({ error: "The server does not answer.", advice: "Start heaplake explore again, and open the URL that it prints." });
  }
  if (response.status === 403) throw new Refusal({ error: "The token is missing or old.", advice: "Open the URL that heaplake explore printed." });
  let body;
  try {
    body = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal({ error: "The answer is no JSON, status " + response.status + "." });
  }
  if (!response.ok) throw new Refusal(body);
  kept.set(url, body);
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  return body;
};

// All rows of a list, page by page, up to `most`; `seen` gets each page.
export const askAll = async (question, args, list, signal, { most = Infinity, seen = () => {} } = {}) => {
  const rows = [];
  let answer;
  let cursor = null;
  do {
    answer = await ask(question, { ...args, cursor }, signal);
    rows.push(...(answer.heap_data[list] || []));
    seen(rows, answer);
    cursor = answer.coverage.cursor || null;
  } while (cursor !== null && rows.length < most);
  return { rows, answer, total: answer.coverage.total ?? rows.length, more: cursor };
};
