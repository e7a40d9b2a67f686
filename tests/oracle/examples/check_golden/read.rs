//! Just enough JSON to read a well-formed snapshot.

use heaplake_oracle::{Edge, Fields, Location, Node, OracleString, Snapshot};

/// A JSON value. Arrays of numbers, the bulk of a snapshot, are a variant of their own.
enum Json {
    Number(u64),
    /// Other numbers, and words; ignored.
    Other,
    Text(OracleString),
    Numbers(Vec<u64>),
    List(Vec<Json>),
    Object(Vec<(OracleString, Json)>),
}

/// Reads a snapshot, or panics.
pub(crate) fn snapshot(bytes: &[u8]) -> Snapshot {
    let file = Reader { bytes, at: 0 }.value();
    let header = file.get("snapshot").expect("a header");
    let meta = header.get("meta").expect("a meta");
    let node_fields = meta.texts("node_fields");
    let edge_fields = meta.texts("edge_fields");
    let width = node_fields.len();
    let has = |name: &str| node_fields.iter().any(|field| field == name);
    let mut snapshot = Snapshot::new();
    snapshot.node_types = meta.enumeration("node_types", &node_fields);
    snapshot.edge_types = meta.enumeration("edge_types", &edge_fields);
    snapshot.fields = Fields {
        trace_node_id: has("trace_node_id"),
        detachedness: has("detachedness"),
        native_size: has("native_size"),
    };
    snapshot.strings = file.get("strings").expect("strings").strings();
    snapshot.root_index = header.get("root_index").map(|root| root.number() as usize / width);
    snapshot.nodes = nodes(&file, &node_fields, &edge_fields);
    snapshot.locations = locations(&file, &meta.texts("location_fields"), width);
    snapshot
}

fn nodes(file: &Json, node_fields: &[String], edge_fields: &[String]) -> Vec<Node> {
    let width = node_fields.len();
    let edges = file.table("edges", edge_fields);
    let mut edges = edges.iter().map(|row| Edge {
        kind: row("type") as usize,
        name_or_index: row("name_or_index"),
        to: row("to_node") as usize / width,
    });
    let rows = file.table("nodes", node_fields);
    let node = |row: &dyn Fn(&str) -> u64| Node {
        kind: row("type") as usize,
        name: row("name") as usize,
        id: row("id"),
        self_size: row("self_size"),
        edges: edges.by_ref().take(row("edge_count") as usize).collect(),
        trace_node_id: row("trace_node_id"),
        detachedness: row("detachedness") as u8,
        native_size: row("native_size"),
    };
    rows.iter().map(|row| row as &dyn Fn(&str) -> u64).map(node).collect()
}

fn locations(file: &Json, fields: &[String], width: usize) -> Vec<Location> {
    let rows = file.table("locations", fields);
    let location = |row: &dyn Fn(&str) -> u64| Location {
        node: row("object_index") as usize / width,
        script_id: row("script_id"),
        line: row("line"),
        column: row("column"),
    };
    rows.iter().map(|row| row as &dyn Fn(&str) -> u64).map(location).collect()
}

impl Json {
    fn get(&self, key: &str) -> Option<&Self> {
        let Self::Object(pairs) = self else { return None };
        pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    fn number(&self) -> u64 {
        let Self::Number(number) = self else { panic!("expected a number") };
        *number
    }

    fn strings(&self) -> Vec<OracleString> {
        let text = |item: &Self| match item {
            Self::Text(text) => text.clone(),
            _ => panic!("expected a string"),
        };
        match self {
            Self::List(items) => items.iter().map(text).collect(),
            Self::Numbers(numbers) if numbers.is_empty() => Vec::new(),
            _ => panic!("expected a list"),
        }
    }

    fn texts(&self, key: &str) -> Vec<String> {
        let strings = self.get(key).unwrap_or_else(|| panic!("{key} is missing")).strings();
        strings.iter().map(OracleString::to_string).collect()
    }

    /// The names of the types in `node_types` or `edge_types`.
    fn enumeration(&self, key: &str, fields: &[String]) -> Vec<String> {
        let Some(Self::List(items)) = self.get(key) else { panic!("{key} is missing") };
        let column = fields.iter().position(|field| field == "type").expect("a field for the type");
        items[column].strings().iter().map(OracleString::to_string).collect()
    }

    /// The rows of a table, each a function from a field's name to its value; 0 for absent fields.
    fn table<'a>(&'a self, key: &str, fields: &'a [String]) -> Vec<impl Fn(&str) -> u64 + 'a> {
        let Some(Self::Numbers(numbers)) = self.get(key) else { panic!("{key} is missing") };
        let cell = |row: &'a [u64]| {
            move |name: &str| fields.iter().position(|field| field == name).map_or(0, |column| row[column])
        };
        numbers.chunks_exact(fields.len()).map(cell).collect()
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    /// The next byte other than white space.
    fn peek(&mut self) -> u8 {
        while self.bytes[self.at].is_ascii_whitespace() {
            self.at += 1;
        }
        self.bytes[self.at]
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == byte;
        self.at += usize::from(found);
        found
    }

    fn value(&mut self) -> Json {
        match self.peek() {
            b'{' => self.object(),
            b'[' => self.list(),
            b'"' => Json::Text(self.string()),
            _ => self.scalar(),
        }
    }

    fn object(&mut self) -> Json {
        let mut pairs = Vec::new();
        self.at += 1;
        while !self.take(b'}') {
            assert!(self.peek() == b'"', "a key begins at byte {}", self.at);
            let key = self.string();
            assert!(self.take(b':'), "a colon follows the key at byte {}", self.at);
            pairs.push((key, self.value()));
            self.take(b',');
        }
        Json::Object(pairs)
    }

    fn list(&mut self) -> Json {
        let mut numbers = Vec::new();
        let mut items = Vec::new();
        self.at += 1;
        while !self.take(b']') {
            match self.value() {
                Json::Number(number) if items.is_empty() => numbers.push(number),
                item => items.push(item),
            }
            self.take(b',');
        }
        // Mixed lists (the trace tree) are ignored.
        if items.is_empty() { Json::Numbers(numbers) } else { Json::List(items) }
    }

    /// A number or a word.
    fn scalar(&mut self) -> Json {
        let start = self.at;
        while matches!(self.bytes[self.at], b'0'..=b'9' | b'a'..=b'z' | b'-' | b'+' | b'.') {
            self.at += 1;
        }
        assert!(self.at > start, "a value begins at byte {start}");
        let text = str::from_utf8(&self.bytes[start..self.at]).expect("it is ASCII");
        text.parse().map_or(Json::Other, Json::Number)
    }

    fn string(&mut self) -> OracleString {
        let mut text = OracleString::default();
        self.at += 1;
        loop {
            let start = self.at;
            while !matches!(self.bytes[self.at], b'"' | b'\\') {
                self.at += 1;
            }
            text.push_str(&String::from_utf8_lossy(&self.bytes[start..self.at]));
            self.at += 1;
            if self.bytes[self.at - 1] == b'"' {
                return text;
            }
            text.0.push(self.escape());
        }
    }

    /// The unit of an escape, after its backslash.
    fn escape(&mut self) -> u16 {
        self.at += 1;
        match self.bytes[self.at - 1] {
            b'n' => 10,
            b'r' => 13,
            b't' => 9,
            b'b' => 8,
            b'f' => 12,
            b'u' => {
                let digits = str::from_utf8(&self.bytes[self.at..self.at + 4]).expect("four digits");
                self.at += 4;
                u16::from_str_radix(digits, 16).expect("hexadecimal digits")
            }
            other => u16::from(other),
        }
    }
}

/// The first units of a text as the harness writes them: the inside of a JSON string.
pub(crate) fn escaped(text: &OracleString, longest: usize) -> String {
    let units = &text.units()[..text.units().len().min(longest)];
    let mut json = String::new();
    for c in char::decode_utf16(units.iter().copied()) {
        match c {
            Ok('"') => json.push_str("\\\""),
            Ok('\\') => json.push_str("\\\\"),
            Ok('\n') => json.push_str("\\n"),
            Ok('\r') => json.push_str("\\r"),
            Ok('\t') => json.push_str("\\t"),
            Ok('\u{8}') => json.push_str("\\b"),
            Ok('\u{c}') => json.push_str("\\f"),
            Ok(c @ ..'\u{20}') => json.push_str(&format!("\\u{:04x}", c as u32)),
            Ok(c) => json.push(c),
            Err(lone) => json.push_str(&format!("\\u{:04x}", lone.unpaired_surrogate())),
        }
    }
    json
}
