//! Owners by script, against a computation from the snapshot files.

use super::owners::check_sums;
use heaplake_support::fixtures;
use heaplake_support::lake::Lake;
use heaplake_support::table::Table;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Allocated bytes in the file, by the script of the allocating function.
fn traced(text: &str) -> BTreeMap<String, u64> {
    let file: Value = serde_json::from_str(text).unwrap();
    let numbers = |name: &str| -> Vec<u64> {
        file[name].as_array().unwrap().iter().map(|number| number.as_u64().unwrap_or(u64::MAX)).collect()
    };
    let infos = numbers("trace_function_infos");
    let width = file["snapshot"]["meta"]["trace_function_info_fields"].as_array().unwrap().len();
    let script = |function: u64| file["strings"][infos[function as usize * width + 2] as usize].as_str().unwrap();
    let mut sums = BTreeMap::new();
    // A node has five elements, the last is its list of callees. Each list comes with its callers' nearest script.
    let mut open = vec![(&file["trace_tree"], "")];
    while let Some((list, above)) = open.pop() {
        for node in list.as_array().unwrap().chunks(5) {
            let own = script(node[1].as_u64().unwrap());
            let nearest = if own.is_empty() { above } else { own };
            *sums.entry(nearest.to_owned()).or_default() += node[3].as_u64().unwrap();
            open.push((&node[4], nearest));
        }
    }
    sums
}

#[test]
fn allocations_belong_to_the_innermost_owned_function() {
    for name in ["alloc20.heapsnapshot", "node24_alloc.heapsnapshot"] {
        let text = fixtures::text(&format!("v8/{name}"));
        let mut expected: BTreeMap<&str, u64> = BTreeMap::new();
        for (script, bytes) in traced(&text) {
            let owner = match script.as_str() {
                "" => "(none)",
                script if script.starts_with("node:") => "node",
                _ => "(application)",
            };
            *expected.entry(owner).or_default() += bytes;
        }
        assert!(expected["(application)"] > 1 << 20, "{expected:?}");
        let lake = Lake::new();
        lake.analyze(lake.input(name, text.as_bytes())).assert().success();
        let table = Table::read(&lake.run(), "owners.parquet");
        let allocated = table.u64s("allocated_bytes");
        for (row, owner) in table.texts("owner").into_iter().enumerate() {
            let expected = expected.get(owner.as_deref().unwrap()).copied();
            assert_eq!(allocated[row].unwrap(), expected.unwrap_or(0), "{name}: {owner:?}");
        }
    }
}

/// A snapshot file, and the known scripts of its nodes.
struct Scripts<'a> {
    file: &'a Value,
    nodes: Vec<usize>,
    edges: Vec<usize>,
    /// Fields per node, and the positions of its type, name and number of edges.
    width: usize,
    kind: usize,
    name: usize,
    /// First edge of each node.
    starts: Vec<usize>,
    scripts: Vec<Option<String>>,
}

fn numbers(file: &Value, section: &str) -> Vec<usize> {
    file[section].as_array().unwrap().iter().map(|number| number.as_u64().unwrap_or(u64::MAX) as usize).collect()
}

impl<'a> Scripts<'a> {
    fn new(file: &'a Value) -> Self {
        let fields = file["snapshot"]["meta"]["node_fields"].as_array().unwrap();
        let field = |name: &str| fields.iter().position(|field| field == name).unwrap();
        let (width, kind, name, edge_count) = (fields.len(), field("type"), field("name"), field("edge_count"));
        let (nodes, edges) = (numbers(file, "nodes"), numbers(file, "edges"));
        let count = nodes.len() / width;
        let mut starts = vec![0];
        (0..count).for_each(|node| starts.push(starts[node] + nodes[node * width + edge_count]));
        Self { file, nodes, edges, width, kind, name, starts, scripts: vec![None; count] }
    }

    fn string(&self, id: usize) -> &'a str {
        self.file["strings"][id].as_str().unwrap_or("")
    }

    fn kind_of(&self, node: usize) -> &'a str {
        let kind = self.nodes[node * self.width + self.kind];
        self.file["snapshot"]["meta"]["node_types"][self.kind][kind].as_str().unwrap()
    }

    fn name_of(&self, node: usize) -> &'a str {
        self.string(self.nodes[node * self.width + self.name])
    }

    fn of_kind(&self, wanted: &str) -> Vec<usize> {
        (0..self.scripts.len()).filter(|&node| self.kind_of(node) == wanted).collect()
    }

    /// Targets of kind code of a node's internal edges with one of these names.
    fn internal(&self, node: usize, names: &[&str]) -> Vec<usize> {
        let kinds = &self.file["snapshot"]["meta"]["edge_types"][0];
        (self.starts[node]..self.starts[node + 1])
            .map(|edge| &self.edges[edge * 3..edge * 3 + 3])
            .filter(|edge| kinds[edge[0]] == "internal" && names.contains(&self.string(edge[1])))
            .map(|edge| edge[2] / self.width)
            .filter(|&to| self.kind_of(to) == "code")
            .collect()
    }

    /// The first script found for a node counts.
    fn set(&mut self, node: usize, script: Option<String>) {
        if self.scripts[node].is_none() {
            self.scripts[node] = script;
        }
    }

    /// Code knows its script, and passes it on to the scopes that it describes.
    fn of_code(&mut self) {
        for node in self.of_kind("code") {
            for to in self.internal(node, &["script", "script_or_debug_info", "raw_script"]) {
                let path = self.name_of(to).trim_start_matches("system / Script / ").to_owned();
                let path = Some(path).filter(|path| !path.is_empty() && !path.starts_with("system / "));
                self.set(node, path.clone());
                self.set(to, path);
            }
        }
        for node in self.of_kind("code") {
            for to in self.internal(node, &["name_or_scope_info", "scope_info"]) {
                self.set(to, self.scripts[node].clone());
            }
        }
    }

    /// Gives nodes the script of the target of an edge of this name.
    fn inherit(&mut self, nodes: &[usize], edge: &str) {
        for &node in nodes {
            for to in self.internal(node, &[edge]) {
                self.set(node, self.scripts[to].clone());
            }
        }
    }

    /// Locations name scripts by number: located nodes with a known script map numbers to scripts. Returns all numbers.
    fn of_locations(&mut self) -> BTreeMap<u32, Option<String>> {
        let width = self.file["snapshot"]["meta"]["location_fields"].as_array().unwrap().len();
        let locations = numbers(self.file, "locations");
        // Object and number of the script come first.
        let mut located: Vec<&[usize]> = locations.chunks(width).collect();
        located.sort();
        let mut by_number = BTreeMap::new();
        for location in &located {
            if let Some(path) = &self.scripts[location[0] / self.width] {
                by_number.entry(location[1]).or_insert_with(|| path.clone());
            }
        }
        for location in &located {
            self.set(location[0] / self.width, by_number.get(&location[1]).cloned());
        }
        located.iter().map(|location| (location[1] as u32, by_number.get(&location[1]).cloned())).collect()
    }
}

/// Owners of a snapshot's nodes by script, and the scripts by number, computed from the file itself.
fn owners_by_script(file: &Value) -> (Vec<Option<String>>, BTreeMap<u32, Option<String>>) {
    let mut scripts = Scripts::new(file);
    scripts.of_code();
    let mut contexts = scripts.of_kind("object");
    contexts.retain(|&node| scripts.name_of(node) == "system / Context");
    scripts.inherit(&contexts, "scope_info");
    scripts.inherit(&scripts.of_kind("closure"), "shared");
    let numbers = scripts.of_locations();
    let owner = |path: &String| if path.starts_with("node:") { "node" } else { "(application)" }.to_owned();
    let owned = |node: usize| scripts.scripts[node].as_ref().filter(|_| scripts.kind_of(node) != "synthetic");
    ((0..scripts.scripts.len()).map(|node| owned(node).map(owner)).collect(), numbers)
}

/// Checks the table of scripts, and that it has all scripts of nodes.
fn check_scripts(run: &Path, expected: &BTreeMap<u32, Option<String>>) {
    let scripts = Table::read(run, "scripts.parquet");
    let ids: Vec<u32> = scripts.u32s("script_id").into_iter().map(Option::unwrap).collect();
    assert!(ids.is_sorted());
    assert_eq!(ids.into_iter().zip(scripts.texts("url")).collect::<BTreeMap<_, _>>(), *expected);
    assert!(expected.values().any(Option::is_some));
    let of_nodes = Table::read(run, "nodes.parquet").u32s("script_id");
    assert!(of_nodes.iter().flatten().all(|id| expected.contains_key(id)));
}

#[test]
fn scripts_of_traces_are_known() {
    for name in ["alloc20.heapsnapshot", "node24_alloc.heapsnapshot"] {
        let text = fixtures::content(&format!("v8/{name}"));
        let file: Value = serde_json::from_slice(&text).unwrap();
        let fields = file["snapshot"]["meta"]["trace_function_info_fields"].as_array().unwrap();
        let field = |name: &str| fields.iter().position(|field| field == name).unwrap();
        let lake = Lake::new();
        lake.analyze(lake.input(name, &text)).args(["--tables", "scripts"]).assert().success();
        let scripts = Table::read(&lake.run(), "scripts.parquet");
        let ids = scripts.u32s("script_id").into_iter().map(Option::unwrap);
        let urls: BTreeMap<u32, Option<String>> = ids.zip(scripts.texts("url")).collect();
        for function in numbers(&file, "trace_function_infos").chunks(fields.len()) {
            let path = file["strings"][function[field("script_name")]].as_str().unwrap();
            let url = &urls[&(function[field("script_id")] as u32)];
            assert!(path.is_empty() || url.as_deref() == Some(path), "{path}: {url:?}");
        }
    }
}

#[test]
fn objects_belong_to_the_scripts_of_their_functions_and_constructors() {
    for name in
        ["s1.heapsnapshot", "node24_app.heapsnapshot", "chromium_dom.heapsnapshot", "chromium138_dom.heapsnapshot"]
    {
        let text = fixtures::content(&format!("v8/{name}"));
        let (expected, numbers) = owners_by_script(&serde_json::from_slice(&text).unwrap());
        let lake = Lake::new();
        lake.analyze(lake.input(name, &text)).assert().success();
        let run = lake.run();
        check_scripts(&run, &numbers);
        let mut theirs: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for (owner, size) in expected.into_iter().zip(Table::read(&run, "nodes.parquet").u64s("shallow_bytes")) {
            let sums = theirs.entry(owner.unwrap_or_else(|| "(none)".to_owned())).or_default();
            *sums = (sums.0 + u64::from(size > Some(0)), sums.1 + size.unwrap());
        }
        let ours = check_sums(&run).into_iter().map(|(owner, share)| (owner, (share.0, share.1))).collect();
        assert_eq!(theirs, ours, "{name}");
        assert!(theirs["(application)"].0 > 20, "{name}: {theirs:?}");
    }
}
