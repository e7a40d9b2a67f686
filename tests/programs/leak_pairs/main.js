// One leak of `kinds`, and a snapshot of it: node main.js KIND OUT.heapsnapshot
import { writeHeapSnapshot } from "node:v8";
import { warmUp } from "./elsewhere.js";
import * as array_field from "./kinds/array_field.js";
import * as buffers from "./kinds/buffers.js";
import * as closures from "./kinds/closures.js";
import * as dictionary from "./kinds/dictionary.js";
import * as global_variable from "./kinds/global_variable.js";
import * as linked_list from "./kinds/linked_list.js";
import * as listeners from "./kinds/listeners.js";
import * as map_cache from "./kinds/map_cache.js";
import * as memoize from "./kinds/memoize.js";
import * as nested_maps from "./kinds/nested_maps.js";
import * as plain_objects from "./kinds/plain_objects.js";
import * as promises from "./kinds/promises.js";
import * as set_registry from "./kinds/set_registry.js";
import * as static_field from "./kinds/static_field.js";
import * as task_generators from "./kinds/task_generators.js";
import * as timers from "./kinds/timers.js";
import * as weak_map from "./kinds/weak_map.js";

const kinds = {
  array_field,
  buffers,
  closures,
  dictionary,
  global_variable,
  linked_list,
  listeners,
  map_cache,
  memoize,
  nested_maps,
  plain_objects,
  promises,
  set_registry,
  static_field,
  task_generators,
  timers,
  weak_map,
};

const [kind, out] = process.argv.slice(2);
globalThis.leaking = kinds[kind].leak;
globalThis.kept = [warmUp(), kinds[kind].leak()];
// Later, so that nothing is held by code that runs.
setImmediate(() => {
  writeHeapSnapshot(out);
  process.exit(0);
});
