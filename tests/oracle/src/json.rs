//! Writes a snapshot as a `.heapsnapshot` file, the way V8 does or in any other well-formed way.

use crate::model::{Edge, Location, Node, Snapshot};
use crate::rng::SplitMix64;
use crate::text::OracleString;

/// Layout of a file; does not change its meaning. The default is V8's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Shuffles the fields of nodes, edges and locations; 0 is V8's order.
    pub field_order: u64,
    /// Shuffles the top-level keys and those of the header; 0 is V8's order.
    pub section_order: u64,
    pub spacing: Spacing,
    pub escaping: Escaping,
    /// Adds unknown fields to nodes and edges.
    pub unknown_fields: bool,
    /// Adds unknown top-level keys, with nested values that look like sections.
    pub unknown_keys: bool,
    /// Fills `trace_function_infos` and `trace_tree`, which are empty otherwise.
    pub trace_tree: bool,
    /// Fills `samples`, which is empty otherwise.
    pub samples: bool,
    /// States fewer functions in the header than there are, as some V8 did (DevTools fails on it).
    pub wrong_function_count: bool,
}

/// White space between the parts of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spacing {
    /// A line per row, which ends before the comma.
    #[default]
    V8,
    None,
    /// Blanks, tabs and line ends of both kinds, wherever JSON allows them.
    Airy,
}

/// Escaping of a string's characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Escaping {
    /// ASCII unescaped, all else as `\uXXXX`.
    #[default]
    V8,
    /// UTF-8 as far as possible, with the required escapes only.
    Utf8,
    /// Everything as `\uxxxx`.
    All,
}

impl Layout {
    /// A random layout: V8's own in one of four, else anything.
    pub fn random(seed: u64) -> Self {
        let rng = &mut SplitMix64::new(seed);
        if rng.one_in(4) {
            return Self::default();
        }
        Self {
            field_order: rng.next_u64() * u64::from(rng.one_in(2)),
            section_order: rng.next_u64() * u64::from(rng.one_in(2)),
            spacing: [Spacing::V8, Spacing::None, Spacing::Airy][rng.below(3)],
            escaping: [Escaping::V8, Escaping::Utf8, Escaping::All][rng.below(3)],
            unknown_fields: rng.one_in(3),
            unknown_keys: rng.one_in(3),
            trace_tree: rng.one_in(3),
            samples: rng.one_in(3),
            wrong_function_count: rng.one_in(4),
        }
    }
}

impl Snapshot {
    /// The snapshot as a file.
    pub fn to_json(&self, layout: &Layout) -> Vec<u8> {
        let file = File { snapshot: self, layout, columns: Columns::new(self, layout) };
        file.write().into_bytes()
    }
}

/// The fields of each kind of row, in file order.
struct Columns {
    node: Vec<&'static str>,
    edge: Vec<&'static str>,
    location: Vec<&'static str>,
}

impl Columns {
    fn new(snapshot: &Snapshot, layout: &Layout) -> Self {
        let fields = snapshot.fields;
        let mut node = vec!["type", "name", "id", "self_size", "edge_count"];
        node.extend(fields.trace_node_id.then_some("trace_node_id"));
        node.extend(fields.detachedness.then_some("detachedness"));
        node.extend(fields.native_size.then_some("native_size"));
        node.extend(layout.unknown_fields.then_some("colour"));
        let mut edge = vec!["type", "name_or_index", "to_node"];
        edge.extend(layout.unknown_fields.then_some("weight"));
        let mut location = vec!["object_index", "script_id", "line", "column"];
        for columns in [&mut node, &mut edge, &mut location] {
            shuffle(layout.field_order, columns);
        }
        Self { node, edge, location }
    }
}

/// Shuffles the items by the seed; seed 0 leaves their order.
fn shuffle<T>(seed: u64, items: &mut [T]) {
    if seed != 0 {
        SplitMix64::new(seed).shuffle(items);
    }
}

struct File<'a> {
    snapshot: &'a Snapshot,
    layout: &'a Layout,
    columns: Columns,
}

impl File<'_> {
    fn write(&self) -> String {
        let mut sections = vec![
            ("snapshot", self.header()),
            ("nodes", self.nodes()),
            ("edges", self.edges()),
            ("trace_function_infos", self.function_infos()),
            ("trace_tree", self.trace_tree()),
            ("samples", self.samples()),
            ("locations", self.locations()),
            ("strings", self.strings()),
        ];
        if self.layout.unknown_keys {
            sections.insert(1, ("extensions", self.unknown_value()));
            sections.push(("checksum", "-1.5e+3".into()));
        }
        shuffle(self.layout.section_order, &mut sections);
        let end = if self.layout.spacing == Spacing::Airy { "\r\n\t " } else { "" };
        self.object(&sections, true) + end
    }

    fn header(&self) -> String {
        let edge_count: usize = self.snapshot.nodes.iter().map(|node| node.edges.len()).sum();
        let functions = match (self.layout.trace_tree, self.layout.wrong_function_count) {
            (true, false) => 2,
            (true, true) => 1,
            (false, _) => 0,
        };
        let mut keys = vec![
            ("meta", self.meta()),
            ("node_count", self.snapshot.nodes.len().to_string()),
            ("edge_count", edge_count.to_string()),
            ("trace_function_count", functions.to_string()),
        ];
        if let Some(root) = self.snapshot.root_index {
            keys.push(("root_index", self.offset(root).to_string()));
        }
        if self.layout.unknown_keys {
            keys.push(("extra_native_bytes", "4096".into()));
            keys.push(("nodes", "[\"not the nodes\"]".into()));
        }
        shuffle(self.layout.section_order, &mut keys);
        self.object(&keys, false)
    }

    fn meta(&self) -> String {
        let node_types = enums(&self.columns.node, &self.snapshot.node_types, |_| "number");
        let edge_types = enums(&self.columns.edge, &self.snapshot.edge_types, |column| {
            if column == "to_node" { "node" } else { "string_or_number" }
        });
        let infos = ["function_id", "name", "script_name", "script_id", "line", "column"];
        let trace = ["id", "function_info_index", "count", "size", "children"];
        let mut keys = vec![
            ("node_fields", names(&self.columns.node)),
            ("node_types", node_types),
            ("edge_fields", names(&self.columns.edge)),
            ("edge_types", edge_types),
            ("trace_function_info_fields", names(&infos)),
            ("trace_node_fields", names(&trace)),
            ("sample_fields", names(&["timestamp_us", "last_assigned_id"])),
            ("location_fields", names(&self.columns.location)),
        ];
        shuffle(self.layout.section_order, &mut keys);
        self.object(&keys, false)
    }

    fn nodes(&self) -> String {
        let value = |node: &Node, column: &str| match column {
            "type" => node.kind as u64,
            "name" => node.name as u64,
            "id" => node.id,
            "self_size" => node.self_size,
            "edge_count" => node.edges.len() as u64,
            "trace_node_id" => node.trace_node_id,
            "detachedness" => u64::from(node.detachedness),
            "native_size" => node.native_size,
            _ => 4_294_967_295,
        };
        self.table(&self.columns.node, self.snapshot.nodes.iter(), value)
    }

    fn edges(&self) -> String {
        let value = |edge: &Edge, column: &str| match column {
            "type" => edge.kind as u64,
            "name_or_index" => edge.name_or_index,
            "to_node" => self.offset(edge.to),
            _ => 7,
        };
        self.table(&self.columns.edge, self.snapshot.edges().map(|(_, edge)| edge), value)
    }

    fn locations(&self) -> String {
        let value = |location: &Location, column: &str| match column {
            "object_index" => self.offset(location.node),
            "script_id" => location.script_id,
            "line" => location.line,
            _ => location.column,
        };
        self.table(&self.columns.location, self.snapshot.locations.iter(), value)
    }

    /// Position of a node in the flat array.
    fn offset(&self, node: usize) -> u64 {
        (node * self.columns.node.len()) as u64
    }

    fn function_infos(&self) -> String {
        let rows = if self.layout.trace_tree { &[[0, 0, 0, 0, 0, 0], [81, 0, 0, 9, 2, 1]][..] } else { &[] };
        self.rows(rows.iter().map(|row| row.to_vec()))
    }

    fn trace_tree(&self) -> String {
        if self.layout.trace_tree { "[1,0,3,48,[2,1,1,16,[],3,1,2,32,[4,0,0,0,[]]]]".into() } else { "[]".into() }
    }

    fn samples(&self) -> String {
        let rows = if self.layout.samples { &[[0, 5], [1_000_000, 9]][..] } else { &[] };
        self.rows(rows.iter().map(|row| row.to_vec()))
    }

    fn strings(&self) -> String {
        let strings = self.snapshot.strings.iter();
        let strings: Vec<String> = strings.map(|s| quoted(s, self.layout.escaping)).collect();
        match self.layout.spacing {
            Spacing::V8 => format!("[{}]", strings.join(",\n")),
            Spacing::None => format!("[{}]", strings.join(",")),
            Spacing::Airy => format!("[ \t{}\r\n]", strings.join(" ,\r\n")),
        }
    }

    /// Nested, with quotes, brackets and section names in unexpected places.
    fn unknown_value(&self) -> String {
        let text = r#"{"nodes":[1,[2,{"strings":["]","\"}","\\"]}],-3e2,0.5],"":null,"edges":{},"#;
        text.to_owned() + r#""t":true,"f":[false,[[]]],"\u0073napshot":"{\"nodes\":["}"#
    }

    fn table<'a, T: 'a>(
        &self,
        columns: &[&str],
        items: impl Iterator<Item = &'a T>,
        value: impl Fn(&T, &str) -> u64,
    ) -> String {
        self.rows(items.map(|item| columns.iter().map(|column| value(item, column)).collect()))
    }

    fn rows(&self, rows: impl Iterator<Item = Vec<u64>>) -> String {
        let (comma, end) = match self.layout.spacing {
            Spacing::V8 => (",", "\n"),
            Spacing::None => (",", ""),
            Spacing::Airy => (" ,\t", "\r\n  "),
        };
        let row = |row: Vec<u64>| {
            let cells: Vec<String> = row.iter().map(u64::to_string).collect();
            cells.join(comma) + end
        };
        format!("[{}]", rows.map(row).collect::<Vec<_>>().join(comma))
    }

    fn object(&self, keys: &[(&str, String)], is_top: bool) -> String {
        let (colon, comma) = match self.layout.spacing {
            Spacing::V8 if is_top => (":", ",\n"),
            Spacing::V8 | Spacing::None => (":", ","),
            Spacing::Airy => ("\t: ", "\n , \r\n"),
        };
        let pair = |(key, value): &(&str, String)| format!("\"{key}\"{colon}{value}");
        format!("{{{}}}", keys.iter().map(pair).collect::<Vec<_>>().join(comma))
    }
}

fn names(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    format!("[{}]", quoted.join(","))
}

/// The types of fields: a list of names for the field `type`, a word for each other.
fn enums(columns: &[&str], types: &[String], word: impl Fn(&str) -> &'static str) -> String {
    let field = |column: &&str| match *column {
        "type" => names(&types.iter().map(String::as_str).collect::<Vec<_>>()),
        "name" => "\"string\"".into(),
        other => format!("\"{}\"", word(other)),
    };
    format!("[{}]", columns.iter().map(field).collect::<Vec<_>>().join(","))
}

fn quoted(text: &OracleString, escaping: Escaping) -> String {
    let mut json = String::from('"');
    for c in char::decode_utf16(text.units().iter().copied()) {
        match c {
            Ok(c) => push_char(&mut json, c, escaping),
            Err(lone) => push_unit(&mut json, lone.unpaired_surrogate()),
        }
    }
    json + "\""
}

fn push_char(json: &mut String, c: char, escaping: Escaping) {
    match (escaping, c) {
        (Escaping::All, c) => push_units(json, c),
        (_, '"') => json.push_str("\\\""),
        (_, '\\') => json.push_str("\\\\"),
        (_, '\n') => json.push_str("\\n"),
        (_, '\r') => json.push_str("\\r"),
        (_, '\t') => json.push_str("\\t"),
        (_, '\u{8}') => json.push_str("\\b"),
        (_, '\u{c}') => json.push_str("\\f"),
        (Escaping::Utf8, '/') => json.push_str("\\/"),
        (_, ..'\u{20}') => push_units(json, c),
        (Escaping::V8, '\u{7f}'..) => push_units(json, c),
        (_, c) => json.push(c),
    }
}

fn push_units(json: &mut String, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        push_unit(json, *unit);
    }
}

/// Hexadecimal digits in both cases, since readers must accept either.
fn push_unit(json: &mut String, unit: u16) {
    let digits = if unit.is_multiple_of(2) { format!("{unit:04x}") } else { format!("{unit:04X}") };
    json.push_str("\\u");
    json.push_str(&digits);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_what_v8_writes() {
        let mut snapshot = Snapshot::new();
        let root = snapshot.add_node("synthetic", "", 0);
        let node = snapshot.add_node("object", "A", 16);
        snapshot.add_edge(root, "property", "a\u{e9}", node);
        snapshot.add_numbered_edge(node, "element", 3, root);
        snapshot.locations.push(Location { node, script_id: 5, line: 6, column: 7 });
        let json = String::from_utf8(snapshot.to_json(&Layout::default())).expect("it is ASCII");
        assert!(json.contains("\"nodes\":[9,0,1,0,1,0\n,3,1,3,16,1,0\n],\n\"edges\":["));
        assert!(json.contains("\"edges\":[2,2,6\n,1,3,0\n],\n"));
        assert!(json.contains("\"locations\":[6,5,6,7\n],\n"));
        assert!(json.ends_with("\"strings\":[\"\",\n\"A\",\n\"a\\u00E9\"]}"));
    }

    #[test]
    fn escapes_all_that_json_wants_escaped() {
        let text = OracleString(vec![0x22, 0x5c, 0x0a, 0x01, 0xd800, 0x2f, 0xd83d, 0xde00]);
        assert_eq!(quoted(&text, Escaping::V8), r#""\"\\\n\u0001\ud800/\uD83D\ude00""#);
        assert_eq!(quoted(&text, Escaping::Utf8), "\"\\\"\\\\\\n\\u0001\\ud800\\/😀\"");
        assert_eq!(quoted(&"a\"".into(), Escaping::All), r#""\u0061\u0022""#);
    }
}
