// What tests of pages have in common.
import { pathToFileURL } from "node:url";

// Opens a page that may not complain and may load nothing but itself.
export const opener = (browser) => async (path, options, drawn = "#map canvas") => {
  const opened = await browser.newPage({ viewport: { width: 1400, height: 1000 }, reducedMotion: "reduce", ...options });
  const url = pathToFileURL(path).href;
  opened.trouble = [];
  opened.on("console", (message) => { if (["error", "warning"].includes(message.type())) opened.trouble.push(message.text()); });
  opened.on("pageerror", (error) => opened.trouble.push(String(error)));
  opened.on("request", (request) => { if (request.url() !== url) opened.trouble.push("asked for " + request.url()); });
  opened.on("dialog", (dialog) => { opened.trouble.push("dialog " + dialog.message()); dialog.dismiss(); });
  await opened.goto(url);
  await opened.waitForSelector(drawn);
  return opened;
};

// The cells of a column of a table.
export const columnOf = (opened, number, table) => opened.$$eval(`#${table} tbody td:nth-child(${number})`, (cells) => cells.map((cell) => cell.textContent));
const units = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };
export const bytes = (text) => { const [value, unit] = text.split(" "); return Number(value) * units[unit]; };
export const isSorted = (values) => values.every((value, i) => i === 0 || values[i - 1] >= value);
