//! Small V8 snapshots of a service, healthy or with one of five leaks.

use heaplake_generator::rng::Rng;
use std::fmt::Write;

/// Leaks: the growing part of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Leak {
    Sessions,
    Orders,
    /// A log of events behind another global object.
    Events,
    /// An object with the entries of a cache as properties.
    Cache,
    Callbacks,
}

impl Leak {
    pub(crate) const ALL: [Self; 5] = [Self::Sessions, Self::Orders, Self::Events, Self::Cache, Self::Callbacks];

    /// Path of the leaking container.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Sessions => "Object.sessions",
            Self::Orders => "Object.pending",
            Self::Events => "Object.log",
            Self::Cache => "Object.cache",
            Self::Callbacks => "Object.timers",
        }
    }
}

const OBJECT: usize = 3;
const ARRAY: usize = 1;
const STRING: usize = 2;
const CLOSURE: usize = 5;
const SYNTHETIC: usize = 9;
const ELEMENT: usize = 1;
const PROPERTY: usize = 2;
const INTERNAL: usize = 3;
const SHORTCUT: usize = 5;

#[derive(Default)]
struct Graph {
    nodes: Vec<(usize, String, usize)>,
    edges: Vec<Vec<(usize, String, usize)>>,
}

impl Graph {
    fn node(&mut self, kind: usize, name: &str, size: usize) -> usize {
        self.nodes.push((kind, name.to_owned(), size));
        self.edges.push(Vec::new());
        self.nodes.len() - 1
    }

    fn edge(&mut self, from: usize, kind: usize, name: &str, to: usize) {
        self.edges[from].push((kind, name.to_string(), to));
    }

    fn property(&mut self, from: usize, name: &str, to: usize) {
        self.edge(from, PROPERTY, name, to);
    }

    /// A container of `count` objects of a class, each with its own text.
    fn container(&mut self, holder: (usize, &str), class: &str, (kind, element): (usize, &str), count: usize) {
        let container = self.node(OBJECT, class, 32);
        self.property(holder.0, holder.1, container);
        let table = self.node(ARRAY, "(object elements)", 16 + 8 * count);
        self.edge(container, INTERNAL, "table", table);
        for at in 0..count {
            let one = self.node(kind, element, 56);
            self.edge(table, ELEMENT, &at.to_string(), one);
            let text = self.node(STRING, &format!("{element} {at}"), 400);
            self.property(one, "text", text);
        }
    }

    fn json(&self) -> String {
        let mut strings: Vec<&str> = Vec::new();
        let mut numbers = std::collections::HashMap::new();
        let mut number = |text| {
            *numbers.entry(text).or_insert_with(|| {
                strings.push(text);
                strings.len() - 1
            })
        };
        let (mut nodes, mut edges) = (Vec::new(), Vec::new());
        for (at, (kind, name, size)) in self.nodes.iter().enumerate() {
            nodes.push(format!("{kind},{},{},{size},{},0,0", number(name), 2 * at + 1, self.edges[at].len()));
            for (kind, name, to) in &self.edges[at] {
                let name = if *kind == ELEMENT { name.clone() } else { number(name).to_string() };
                edges.push(format!("{kind},{name},{}", 7 * to));
            }
        }
        let strings: Vec<String> = strings.iter().map(|text| format!("{text:?}")).collect();
        let mut out = String::new();
        write!(
            out,
            "{{\"snapshot\":{{\"meta\":{META},\"node_count\":{},\"edge_count\":{},\"trace_function_count\":0}},\n\
             \"nodes\":[{}],\n\"edges\":[{}],\n\"trace_function_infos\":[],\n\"trace_tree\":[],\n\"samples\":[],\n\
             \"locations\":[],\n\"strings\":[{}]}}",
            nodes.len(),
            edges.len(),
            nodes.join(",\n"),
            edges.join(",\n"),
            strings.join(",\n"),
        )
        .unwrap();
        out
    }
}

const META: &str = r#"{"node_fields":["type","name","id","self_size","edge_count","trace_node_id","detachedness"],"node_types":[["hidden","array","string","object","code","closure","regexp","number","native","synthetic","concatenated string","sliced string","symbol","bigint","object shape"],"string","number","number","number","number","number"],"edge_fields":["type","name_or_index","to_node"],"edge_types":[["context","element","property","internal","hidden","shortcut","weak"],"string_or_number","node"],"trace_function_info_fields":["function_id","name","script_name","script_id","line","column"],"trace_node_fields":["id","function_info_index","count","size","children"],"sample_fields":["timestamp_us","last_assigned_id"],"location_fields":["object_index","script_id","line","column"]}"#;

/// A snapshot; each seed is another host at another time.
pub(crate) fn snapshot(leak: Option<Leak>, seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let mut between = |low: usize, high: usize| low + (rng.draw() % (high - low) as u64) as usize;
    let mut graph = Graph::default();
    let root = graph.node(SYNTHETIC, "", 0);
    let roots = graph.node(SYNTHETIC, "(GC roots)", 0);
    let global = graph.node(OBJECT, "global", 40);
    graph.edge(root, ELEMENT, "1", roots);
    graph.edge(root, SHORTCUT, "1", global);
    let app = graph.node(OBJECT, "Object", 56);
    graph.property(global, "app", app);
    let bus = graph.node(OBJECT, "Object", 56);
    graph.property(global, "bus", bus);
    graph.container((app, "config"), "Array", (OBJECT, "Config"), between(300, 400));
    graph.container((app, "catalog"), "Map", (OBJECT, "Product"), between(500, 900));
    graph.container((app, "recent"), "Array", (OBJECT, "Session"), between(20, 60));
    // A suspect retains at least a megabyte.
    let many = between(4000, 9000);
    match leak {
        None => {}
        Some(Leak::Sessions) => graph.container((app, "sessions"), "Map", (OBJECT, "Session"), many),
        Some(Leak::Orders) => graph.container((app, "pending"), "Array", (OBJECT, "Order"), many),
        Some(Leak::Events) => graph.container((bus, "log"), "Array", (OBJECT, "Message"), many),
        Some(Leak::Callbacks) => graph.container((app, "timers"), "Set", (CLOSURE, "tick"), many),
        Some(Leak::Cache) => {
            let cache = graph.node(OBJECT, "Object", 56);
            graph.property(app, "cache", cache);
            let table = graph.node(ARRAY, "(object properties)", 16 + 24 * many);
            graph.edge(cache, INTERNAL, "properties", table);
            for at in 0..many {
                let entry = graph.node(OBJECT, "Entry", 56);
                graph.property(cache, &format!("key{at}"), entry);
                let text = graph.node(STRING, &format!("value {at}"), 400);
                graph.property(entry, "value", text);
            }
        }
    }
    graph.json()
}
