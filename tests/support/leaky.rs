//! Small V8 snapshots of a service, healthy or with one of five leaks.

use heaplake_generator::rng::Rng;
use heaplake_oracle::{Layout, Snapshot};

/// Leaks: the growing part of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leak {
    Sessions,
    Orders,
    /// A log of events behind another global object.
    Events,
    /// An object with the entries of a cache as properties.
    Cache,
    Callbacks,
}

impl Leak {
    pub const ALL: [Self; 5] = [Self::Sessions, Self::Orders, Self::Events, Self::Cache, Self::Callbacks];

    /// Path of the leaking container.
    pub fn path(self) -> &'static str {
        match self {
            Self::Sessions => "Object.sessions",
            Self::Orders => "Object.pending",
            Self::Events => "Object.log",
            Self::Cache => "Object.cache",
            Self::Callbacks => "Object.timers",
        }
    }
}

/// Adds a container of `count` objects of a class, each with its own text.
fn container(heap: &mut Snapshot, holder: (usize, &str), class: &str, (kind, element): (&str, &str), count: usize) {
    let container = heap.add_node("object", class, 32);
    heap.add_edge(holder.0, "property", holder.1, container);
    let table = heap.add_node("array", "(object elements)", 16 + 8 * count as u64);
    heap.add_edge(container, "internal", "table", table);
    for at in 0..count {
        let one = heap.add_node(kind, element, 56);
        heap.add_numbered_edge(table, "element", at as u64, one);
        let text = heap.add_node("string", &*format!("{element} {at}"), 400);
        heap.add_edge(one, "property", "text", text);
    }
}

/// Adds an object with `count` entries as properties.
fn cache(heap: &mut Snapshot, app: usize, count: usize) {
    let cache = heap.add_node("object", "Object", 56);
    heap.add_edge(app, "property", "cache", cache);
    let table = heap.add_node("array", "(object properties)", 16 + 24 * count as u64);
    heap.add_edge(cache, "internal", "properties", table);
    for at in 0..count {
        let entry = heap.add_node("object", "Entry", 56);
        heap.add_edge(cache, "property", &*format!("key{at}"), entry);
        let text = heap.add_node("string", &*format!("value {at}"), 400);
        heap.add_edge(entry, "property", "value", text);
    }
}

/// A snapshot; each seed is another host at another time.
pub fn snapshot(leak: Option<Leak>, seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut between = |low: usize, high: usize| low + (rng.draw() % (high - low) as u64) as usize;
    let heap = &mut Snapshot::new();
    let root = heap.add_node("synthetic", "", 0);
    let roots = heap.add_node("synthetic", "(GC roots)", 0);
    let global = heap.add_node("object", "global", 40);
    heap.add_numbered_edge(root, "element", 1, roots);
    heap.add_edge(root, "shortcut", "1", global);
    let app = heap.add_node("object", "Object", 56);
    heap.add_edge(global, "property", "app", app);
    let bus = heap.add_node("object", "Object", 56);
    heap.add_edge(global, "property", "bus", bus);
    container(heap, (app, "config"), "Array", ("object", "Config"), between(300, 400));
    container(heap, (app, "catalog"), "Map", ("object", "Product"), between(500, 900));
    container(heap, (app, "recent"), "Array", ("object", "Session"), between(20, 60));
    // A suspect retains at least a megabyte.
    let many = between(4000, 9000);
    match leak {
        None => {}
        Some(Leak::Sessions) => container(heap, (app, "sessions"), "Map", ("object", "Session"), many),
        Some(Leak::Orders) => container(heap, (app, "pending"), "Array", ("object", "Order"), many),
        Some(Leak::Events) => container(heap, (bus, "log"), "Array", ("object", "Message"), many),
        Some(Leak::Callbacks) => container(heap, (app, "timers"), "Set", ("closure", "tick"), many),
        Some(Leak::Cache) => cache(heap, app, many),
    }
    heap.to_json(&Layout::default())
}
