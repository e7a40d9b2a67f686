#!/usr/bin/env bash
# Analyses a real snapshot into ./lake and says how to read the result.
# Usage: scripts/demo.sh HEAPLAKE...   (the command that runs heaplake, and its leading arguments)
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
snapshot="$folder/demo.heapsnapshot"

# A small shop: customers with orders in a map, and sessions that nobody ends.
program='
const { writeHeapSnapshot } = require("v8");
class Customer { constructor(id) { this.id = id; this.name = "customer " + id; this.orders = []; } }
class Order { constructor(id, customer) { this.id = id; this.customer = customer; this.lines = [{ sku: "a" + id, qty: 1 }]; } }
class Session { constructor(id) { this.id = id; this.page = "<html>" + String(id).repeat(500); } }
const shop = { customers: new Map(), sessions: [] };
for (let i = 0; i < 2000; i++) {
  const customer = new Customer(i);
  for (let j = 0; j < i % 5; j++) customer.orders.push(new Order(i * 5 + j, customer));
  shop.customers.set(i, customer);
  if (i % 4 === 0) shop.sessions.push(new Session(i));
}
globalThis.shop = shop;
writeHeapSnapshot(process.argv[1]);
'
if command -v node >/dev/null && node -e "$program" "$snapshot" 2>/dev/null && [ -s "$snapshot" ]; then
    echo "A snapshot of $(node --version) with a small shop in it, $(($(wc -c <"$snapshot") / 1024)) KiB."
else
    rm -f "$snapshot"
    snapshot=tests/fixtures/v8/small.heapsnapshot.zst
    echo "No Node.js here that writes snapshots: taking $snapshot."
fi
echo

"$@" analyze "$snapshot" --out lake --snapshot demo --report --force

cat <<'END'

The page for a browser: lake/release=none/snapshot=demo/report.html
The tables: lake/release=none/snapshot=demo/*.parquet
In a notebook (pip install polars):

    import polars as pl
    classes = pl.scan_parquet("lake/*/*/classes.parquet")
    print(classes.select("snapshot", "class", "count", "shallow_bytes", "retained_bytes").head(10).collect())

END
