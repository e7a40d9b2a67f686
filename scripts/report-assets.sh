#!/usr/bin/env bash
# Bundles the charts of the report anew, from the versions in package-lock.json. Needs node and npm; the result is
# committed, so a build of heaplake needs neither.
set -euo pipefail
cd "$(dirname "$0")/../crates/report/assets/build"
npm ci --ignore-scripts --no-fund --no-audit
npm run --silent build
cat node_modules/echarts/LICENSE node_modules/echarts/NOTICE node_modules/zrender/LICENSE node_modules/tslib/LICENSE.txt \
    > ../echarts.LICENSE
rm -rf node_modules
ls -l ..
