// Opens the page of a snapshot with allocation tracking in a real browser: node alive.mjs CHROMIUM FOLDER PAGE.
// Says what failed and exits with 1, or prints "all well".
import assert from "node:assert/strict";
import { chromium } from "playwright-core";
import { bytes, columnOf, isSorted, opener } from "./pages.mjs";

const [executablePath, folder, page] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const open = opener(browser);
const told = (opened) => opened.textContent("#alive-detail");
const classes = (opened) => columnOf(opened, 1, "alive");
const objects = async (opened) => Number((await told(opened)).match(/: ([\d,]+) objects? /)[1].replaceAll(",", ""));

// From the middle of a bar to the middle of another.
const drag = async (opened, from, to) => {
  const line = opened.locator("#alive-line");
  await line.scrollIntoViewIfNeeded();
  const { x, y, width, height } = await line.boundingBox();
  const bars = await line.locator("g").count();
  const middle = (bar) => x + (bar + 0.5) / bars * width;
  await opened.mouse.move(middle(from), y + height / 2);
  await opened.mouse.down();
  await opened.mouse.move(middle(to), y + height / 2, { steps: 5 });
  await opened.mouse.up();
};

// A range has the objects that were allocated in it, which DevTools' time line has, too.
const selects = async (opened) => {
  assert.match(await told(opened), /^All: [\d,]+ objects with [\d.]+ MiB still alive, of \d+ classes$/);
  const whole = await objects(opened);
  await drag(opened, 3, 5);
  assert.match(await told(opened), /^102 ms to 350 ms: 57,415 objects with 6.8 MiB still alive, of \d+ classes$/);
  const names = await classes(opened);
  assert.ok(names.includes("Order"), String(names));
  const sizes = (await columnOf(opened, 2, "alive")).map(bytes);
  assert.ok(isSorted(sizes) && sizes[0] > 0, String(sizes));
  // The other way round it is the same range.
  await drag(opened, 5, 3);
  assert.match(await told(opened), /^102 ms to 350 ms: 57,415 objects /);
  await drag(opened, 0, 0);
  assert.match(await told(opened), /^until 0 ms: 67,184 objects /);
  await drag(opened, 1, 3);
  assert.match(await told(opened), /^0 ms to 150 ms: 0 objects with 0 B still alive, of 0 classes$/);
  await opened.getByRole("button", { name: "All", exact: true }).click();
  assert.equal(await objects(opened), whole);
};

const opensStacks = async (opened) => {
  await drag(opened, 4, 4);
  const order = opened.locator("#alive tbody tr", { has: opened.locator("summary", { hasText: /^Order$/ }) });
  assert.equal(await order.locator(".stacks").count(), 0);
  await order.locator("summary").click();
  // The page fills it in when the browser tells it that it is open.
  await order.locator(".stacks li").first().waitFor();
  const stacks = await order.locator(".stacks li").allTextContents();
  assert.ok(stacks.some((stack) => /^[\d.]+ [KM]iB in [\d,]+ objects: \(root\) > .*makeHeap/.test(stack)), String(stacks));
  const sizes = stacks.map((stack) => bytes(stack.split(" in ")[0]));
  assert.ok(isSorted(sizes), String(sizes));
};

const hasKeys = async (opened) => {
  await opened.locator("#alive-line").focus();
  await opened.keyboard.press("Escape");
  assert.match(await told(opened), /^All: /);
  for (let pressed = 0; pressed < 5; pressed += 1) await opened.keyboard.press("ArrowRight");
  assert.match(await told(opened), /^150 ms to 304 ms: 57,414 objects /);
  await opened.keyboard.press("Shift+ArrowRight");
  assert.match(await told(opened), /^150 ms to 350 ms: 57,415 objects /);
};

// The functions are there, with what is alive of what they allocated.
const listsFunctions = async (opened) => {
  const titles = await opened.locator("#functions th").allTextContents();
  assert.deepEqual(titles, ["Function", "With calls", "of all", "Itself", "Objects", "Itself", "Alive", "Itself"]);
  assert.equal((await columnOf(opened, 3, "functions"))[0], "100.0 %");
  assert.ok((await opened.locator(".flame .box").count()) > 10);
};

try {
  for (const colorScheme of ["light", "dark"]) {
    const opened = await open(page, { colorScheme });
    await drag(opened, 3, 5);
    await opened.locator("#alive").screenshot({ path: `${folder}/alive-${colorScheme}.png` });
    assert.deepEqual(opened.trouble, []);
    await opened.close();
  }
  const opened = await open(page, {});
  for (const check of [selects, opensStacks, hasKeys, listsFunctions]) {
    await check(opened);
    assert.deepEqual(opened.trouble, [], check.name);
  }
  console.log("all well");
} finally {
  await browser.close();
}
