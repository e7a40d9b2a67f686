//! Rule files, gate expressions, source maps.

use crate::analysis::{folder, told};
use crate::seeds;
use crate::subject::Target;
use heaplake::{name_rules, owner_rules};
use heaplake_compare::gates::Gates;
use heaplake_names::source_maps;
use std::fs;

/// Files for `--owners`.
pub(super) const OWNERS: Target = Target { name: "owners", run: owners, seeds: owner_seeds, words: WORDS };

/// Files for `--names`.
pub(super) const NAMES: Target = Target { name: "names", run: names, seeds: name_seeds, words: WORDS };

/// Files for `--gates`, and the expressions in them.
pub(super) const GATES: Target = Target { name: "gates", run: gates, seeds: gate_seeds, words: EXPRESSIONS };

/// Files for `--source-maps`.
pub(super) const SOURCE_MAP: Target =
    Target { name: "source_map", run: source_map, seeds: map_seeds, words: seeds::JSON };

const WORDS: &[&[u8]] = &[
    b"[[owner]]\n",
    b"[[rule]]\n",
    b"name = ",
    b"package = [\"*\"]\n",
    b"class = \"a?[b-c]*\"\n",
    b"script = '",
    b"\"\"\"",
    b"[",
    b"\\u0000",
    b"(?i)",
    b"((((((((((",
    b"{1000}",
    b".*.*.*",
];

const EXPRESSIONS: &[&[u8]] = &[
    b"q < 0.05",
    b" and ",
    b" or ",
    b"not ",
    b"(",
    b")",
    b"1MiB",
    b"'",
    b" between ",
    b" like '%'",
    b" is null",
    b"--",
    b"case when",
    b"chains:",
    b"[[gate]]\n",
    b"expression = ",
    b"select",
    b"1e400",
    b"/*",
    b" in (1,2)",
];

fn owner_seeds() -> Vec<Vec<u8>> {
    vec![
        b"[[owner]]\nname = \"payments\"\npackage = [\"com.acme.pay*\", \"@acme/pay-*\"]\n\n[[owner]]\n\
          name = 'checkout'\nscript = '*/src/checkout/*'\nclass = \"Cart*\"\nloader = \"*\"\n"
            .to_vec(),
    ]
}

fn name_seeds() -> Vec<Vec<u8>> {
    vec![
        b"[[rule]]\npattern = \"^Job_[a-z0-9]+$\"\nreplace = \"Job\"\n\n[[rule]]\npattern = 'v\\d+'\nreplace = \"${0}x\"\n\
          runtime = \"jvm\"\n"
            .to_vec(),
    ]
}

fn gate_seeds() -> Vec<Vec<u8>> {
    vec![
        b"[[gate]]\nname = 'growth'\nfail_if = 'q < 0.05 and retained_bytes.delta > 1MiB'\n".to_vec(),
        b"q < 0.05 and (retained_bytes.delta > 1MiB or not shallow_bytes.base = 0)".to_vec(),
        b"chains: share > 0.5 and class like 'java.%' and verdict in ('grew', 'new')".to_vec(),
    ]
}

fn map_seeds() -> Vec<Vec<u8>> {
    vec![
        br#"{"version":3,"file":"app.js","sourceRoot":"src","sources":["a.ts","b.ts"],"sourcesContent":["class A { b() {} }\n","x"],"names":["A","b"],"mappings":"AAAA,CAAC,EAAE;ACAA,SAASA;;IAAMC"}"#.to_vec(),
        br#"{"version":3,"sections":[{"offset":{"line":0,"column":0},"map":{"version":3,"sources":["a"],"names":[],"mappings":"AAAA"}}]}"#.to_vec(),
        b"var a=1;\n//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbXSwibmFtZXMiOltdLCJtYXBwaW5ncyI6IiJ9\n".to_vec(),
    ]
}

fn owners(data: &[u8]) -> String {
    let folder = folder();
    let path = folder.path().join("owners.toml");
    fs::write(&path, data).unwrap();
    owner_rules::read(&path).map_or_else(|diagnostic| told(&diagnostic), |rules| format!("{} rules", rules.rules.len()))
}

fn names(data: &[u8]) -> String {
    let folder = folder();
    let path = folder.path().join("names.toml");
    fs::write(&path, data).unwrap();
    name_rules::read(&path).map_or_else(|diagnostic| told(&diagnostic), |_| "rules".to_owned())
}

fn gates(data: &[u8]) -> String {
    let folder = folder();
    let path = folder.path().join("gates.toml");
    fs::write(&path, data).unwrap();
    let of_file = Gates::from_toml(&path).map_or_else(|error| error.cause, |gates| gates.gates().len().to_string());
    let expression = String::from_utf8_lossy(data).into_owned();
    let written = Gates::parse_expressions(&[expression]).map_or_else(|error| error.cause, |_| "gate".to_owned());
    format!("{} {}", short(&of_file), short(&written))
}

fn source_map(data: &[u8]) -> String {
    let folder = folder();
    let mut said = String::new();
    for name in ["app.js.map", "app.js"] {
        let path = folder.path().join(name);
        fs::write(&path, data).unwrap();
        match source_maps::find(&[path.display().to_string()], 64 << 20) {
            Ok(maps) => {
                for map in &maps.maps {
                    said += &match source_maps::read(map) {
                        Ok(bytes) => originals(&bytes),
                        Err(error) => short(&error.to_string()),
                    };
                }
            }
            Err(error) => said += &short(&error.to_string()),
        }
    }
    said
}

fn originals(map: &[u8]) -> String {
    let places = [(0, 0), (0, 1), (0, 5), (1, 0), (u32::MAX, u32::MAX)];
    let places: Vec<_> =
        places.iter().map(|&(line, column)| source_maps::Place { line, column, name: "a".to_owned() }).collect();
    match source_maps::originals(map, &places) {
        Ok(found) => format!("{} found", found.len()),
        Err(error) => short(&error),
    }
}

fn short(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_alphabetic() || *c == ' ').take(60).collect()
}
