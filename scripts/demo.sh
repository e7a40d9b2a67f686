#!/usr/bin/env bash
# Analyses a real snapshot into ./lake, shows the leak that was planted in it, and says how to read the result.
# Usage: scripts/demo.sh HEAPLAKE...   (the command that runs heaplake, and its leading arguments)
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
snapshot="$folder/demo.heapsnapshot"
run=lake/release=none/snapshot=demo

# A small shop: customers with orders in a map, and sessions that nobody ends.
program='
const { writeHeapSnapshot } = require("v8");
class Customer { constructor(id) { this.id = id; this.name = "customer " + id; this.orders = []; } }
class Order { constructor(id, customer) { this.id = id; this.customer = customer; this.lines = [{ sku: "a" + id, qty: 1 }]; } }
class Session { constructor(id) { this.id = id; this.page = Buffer.from("<html>" + String(id).repeat(60)).toString("latin1"); } }
class SessionStore { constructor() { this.open = new Map(); } }
const shop = { customers: new Map(), sessions: new SessionStore() };
for (let i = 0; i < 2000; i++) {
  const customer = new Customer(i);
  for (let j = 0; j < i % 5; j++) customer.orders.push(new Order(i * 5 + j, customer));
  shop.customers.set(i, customer);
}
for (let i = 0; i < 20000; i++) shop.sessions.open.set("session " + i, new Session(i));
globalThis.shop = shop;
writeHeapSnapshot(process.argv[1]);
'
if command -v node >/dev/null && node -e "$program" "$snapshot" >/dev/null 2>&1 && [ -s "$snapshot" ]; then
    echo "A heap snapshot of Node.js $(node --version): a small shop whose sessions nobody ends ($(($(wc -c <"$snapshot") / 1024)) KiB)."
else
    rm -f "$snapshot"
    snapshot=tests/fixtures/v8/alloc20.heapsnapshot.zst
    echo "There is no Node.js here that writes snapshots, so this takes $snapshot, whose orders nobody removes."
fi
"$@" analyze "$snapshot" --out lake --snapshot demo --report --force --quiet

echo
"$@" ls lake
echo
echo "The first finding:"
echo
# The summary has the findings under their title; each is a message and its advice.
"$@" show "$run" | awk '/^Findings/ { on = 1; next } /^Tables/ { exit } on && NF { if (/^  (HIGH|MEDIUM|LOW)/ && seen++) exit; print }'

cat <<END

The whole summary:    $* show $run
The tables:           $run/*.parquet
In a notebook, after pip install polars:

import polars as pl
classes = pl.scan_parquet("lake/*/*/classes.parquet")
print(classes.select("snapshot", "class", "count", "shallow_bytes", "retained_bytes").head(10).collect())

The page for a browser: $PWD/$run/report.html
END

# A desktop shows the page at once; anything else has its path.
if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && [ -z "${CI:-}" ] && command -v xdg-open >/dev/null; then
    (xdg-open "$run/report.html" >/dev/null 2>&1 &) || true
fi
