// Makes a heap snapshot of a web page in headless Chromium: attached, detached and foreign DOM trees.
//
//   node chromium-dom.mjs OUT.heapsnapshot [CHROMIUM]
//
// Needs Node 22 or later (built-in WebSocket) and a chromium on the PATH.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const [out, chromium = 'chromium'] = process.argv.slice(2);
if (!out) {
  console.error('usage: chromium-dom.mjs OUT.heapsnapshot [CHROMIUM]');
  process.exit(2);
}

const page = `<!doctype html><title>dom</title><div id=app class="main page"><ul id=list></ul>
<iframe id=frame srcdoc="<p id=inner>inside</p><script>window.inFrame = {big: 'frame ' + 'x'.repeat(500)}</script>"></iframe>
<iframe id=leaving srcdoc="<p>leaves</p><script>window.own = [1, 2, {gone: true}]</script>"></iframe></div><script>
class Widget {
  constructor(n) {
    this.n = n;
    this.element = document.createElement('section');
    this.element.className = 'widget w' + n;
    this.element.innerHTML = '<h2 id="h' + n + '">title ' + n + '</h2><p>text <b>bold</b></p>';
    this.element.addEventListener('click', () => this.n++);
    this.element.owner = this;
  }
}
const app = document.getElementById('app'), list = document.getElementById('list');
for (let i = 0; i < 50; i++) {
  const li = document.createElement('li');
  li.textContent = 'entry ' + i;
  li.dataset.index = i;
  list.append(li);
}
window.attachedWidgets = Array.from({length: 20}, (_, i) => { const w = new Widget(i); app.append(w.element); return w; });
// Kept from script only.
window.detachedWidgets = Array.from({length: 20}, (_, i) => new Widget(100 + i));
// Once in the document; a reference to an inner node keeps the whole removed tree.
const doomed = document.createElement('table');
for (let r = 0; r < 30; r++) doomed.insertRow().insertCell().textContent = 'cell ' + r;
app.append(doomed);
window.keptCell = doomed.rows[7].cells[0];
doomed.remove();
window.fragment = document.createDocumentFragment();
window.fragment.append(document.createElement('em'), 'text');
window.shadowHost = document.createElement('div');
window.shadowHost.attachShadow({mode: 'open'}).innerHTML = '<slot></slot><span>shadow</span>';
window.looseText = document.createTextNode('loose text');
window.otherDocument = new DOMParser().parseFromString('<p class=a>other <i>document</i></p>', 'text/html');
window.observers = [new MutationObserver(() => {}), new IntersectionObserver(() => {})];
window.observers[0].observe(list, {childList: true});
window.sides = new WeakMap([[window.keptCell, {about: 'cell'}], [list, {about: 'list', nodes: [...list.children].slice(0, 3)}]]);
window.blob = new Blob(['data'.repeat(1000)]);
window.canvas = Object.assign(document.createElement('canvas'), {width: 200, height: 100});
window.canvas.getContext('2d').fillRect(0, 0, 10, 10);
window.request = new XMLHttpRequest();
window.controller = new AbortController();
window.records = Array.from({length: 500}, (_, i) => ({id: i, label: 'record ' + i, node: i % 50 ? null : list.children[i / 50]}));
addEventListener('load', () => {
  const leaving = document.getElementById('leaving');
  window.lostWindow = leaving.contentWindow;
  window.lostNode = leaving.contentDocument.querySelector('p');
  window.innerNode = document.getElementById('frame').contentDocument.getElementById('inner');
  leaving.remove();
  window.ready = true;
});
</script>`;

const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'chromium-'));
const browser = spawn(chromium, ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync', `--user-data-dir=${profile}`,
  '--remote-debugging-port=0', 'about:blank'], { stdio: ['ignore', 'ignore', 'pipe'] });
const address = await new Promise((resolve, reject) => {
  let text = '';
  browser.stderr.on('data', d => {
    text += d;
    const found = /DevTools listening on (ws:\S+)/.exec(text);
    if (found) resolve(found[1]);
  });
  browser.on('error', reject);
  browser.on('exit', code => reject(new Error(`browser ended with ${code}: ${text}`)));
});

const socket = new WebSocket(address);
await new Promise((resolve, reject) => Object.assign(socket, { onopen: resolve, onerror: reject }));
const waiting = new Map();
const fd = fs.openSync(out, 'w');
socket.onmessage = ({ data }) => {
  const m = JSON.parse(data);
  if (m.method === 'HeapProfiler.addHeapSnapshotChunk') fs.writeSync(fd, m.params.chunk);
  else if (m.id) {
    const { resolve, reject } = waiting.get(m.id);
    m.error ? reject(new Error(m.error.message)) : resolve(m.result);
  }
};
let sent = 0, sessionId;
const send = (method, params = {}) => new Promise((resolve, reject) => {
  waiting.set(++sent, { resolve, reject });
  socket.send(JSON.stringify({ id: sent, method, params, sessionId }));
});

try {
  const { targetId } = await send('Target.createTarget', {
    url: 'data:text/html;charset=utf-8,' + encodeURIComponent(page),
  });
  sessionId = (await send('Target.attachToTarget', { targetId, flatten: true })).sessionId;
  for (let tries = 0; ; tries++) {
    const { result } = await send('Runtime.evaluate', { expression: 'window.ready === true' });
    if (result.value) break;
    if (tries > 100) throw new Error('the page did not load');
    await new Promise(r => setTimeout(r, 100));
  }
  await send('HeapProfiler.enable');
  await send('HeapProfiler.collectGarbage');
  await send('HeapProfiler.takeHeapSnapshot', { reportProgress: false, exposeInternals: false });
} finally {
  fs.closeSync(fd);
  socket.close();
  const ended = new Promise(r => browser.once('exit', r));
  browser.kill();
  await ended;
  fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
}
