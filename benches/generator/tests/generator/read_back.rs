//! Reads a small snapshot back with a JSON parser; shares no code with the writer.

use heaplake_generator::file;
use heaplake_generator::plan::{Plan, Shape, Target};
use serde_json::Value;

pub(crate) fn generate(seed: u64, shape: Shape, target: Target) -> (Plan, Vec<u8>) {
    let plan = file::plan(seed, shape, target);
    let mut bytes = Vec::new();
    file::write(&plan, &mut bytes).unwrap();
    (plan, bytes)
}

/// The smallest realistic file.
pub(crate) fn small(seed: u64) -> (Plan, Vec<u8>) {
    generate(seed, Shape::Realistic, Target::Nodes(1))
}

pub(crate) struct Edge {
    pub kind: String,
    /// The text, or the number of an element or hidden edge.
    pub name: String,
    pub to: usize,
}

pub(crate) struct Node {
    pub kind: String,
    pub name: String,
    pub id: u64,
    pub size: u64,
    pub edges: Vec<Edge>,
}

pub(crate) struct Graph {
    pub header: Value,
    pub nodes: Vec<Node>,
    pub edge_count: usize,
    pub strings: Vec<String>,
    pub locations: usize,
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

impl Graph {
    pub(crate) fn read(bytes: &[u8]) -> Graph {
        // The parser refuses lone surrogates, which the files contain on purpose.
        let text = String::from_utf8(bytes.to_vec()).unwrap().replace("lone \\ud800", "lone _ud800");
        let file: Value = serde_json::from_str(&text).unwrap();
        let meta = &file["snapshot"]["meta"];
        let width = meta["node_fields"].as_array().unwrap().len();
        let (node_types, edge_types) = (texts(&meta["node_types"][0]), texts(&meta["edge_types"][0]));
        let strings = texts(&file["strings"]);
        let (nodes, edges) = (numbers(&file["nodes"]), numbers(&file["edges"]));
        let mut rest = edges.chunks(3);
        let nodes = nodes
            .chunks(width)
            .map(|row| {
                let own = rest.by_ref().take(row[4] as usize);
                let edges = own.map(|edge| {
                    let kind = edge_types[edge[0] as usize].clone();
                    let numbered = kind == "element" || kind == "hidden";
                    let name = if numbered { edge[1].to_string() } else { strings[edge[1] as usize].clone() };
                    assert_eq!(edge[2] % width as u64, 0);
                    Edge { kind, name, to: edge[2] as usize / width }
                });
                Node {
                    edges: edges.collect(),
                    kind: node_types[row[0] as usize].clone(),
                    name: strings[row[1] as usize].clone(),
                    id: row[2],
                    size: row[3],
                }
            })
            .collect();
        assert!(rest.next().is_none(), "more edges than the nodes own");
        let locations = file["locations"].as_array().unwrap().len() / 4;
        Graph { header: file["snapshot"].clone(), nodes, edge_count: edges.len() / 3, strings, locations }
    }
}
