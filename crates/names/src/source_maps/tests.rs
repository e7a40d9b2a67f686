//! Maps of `tests/programs/minified`, made by esbuild and webpack, with the places of classes in Node.js.

use super::scopes::Scopes;
use super::*;
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/minified")
}

fn places(places: &[(u32, &str)]) -> Vec<Place> {
    let mut places: Vec<Place> =
        places.iter().map(|&(column, name)| Place { line: 0, column, name: name.to_owned() }).collect();
    places.sort_unstable();
    places
}

/// Original names and files at places of the first line.
fn found(map: &[u8], of: &[(u32, &str)]) -> Vec<(Option<String>, Option<String>)> {
    let originals = originals(map, &places(of)).unwrap();
    originals.into_iter().map(|original| (original.name, original.source)).collect()
}

fn some(name: &str, source: &str) -> (Option<String>, Option<String>) {
    (Some(name.to_owned()), Some(source.to_owned()))
}

const ESBUILD: [(u32, &str); 6] = [(48, "e"), (213, "n"), (286, "s"), (348, "o"), (453, "a"), (501, "c")];
const WEBPACK: [(u32, &str); 6] = [(65, "s"), (229, "e"), (301, "n"), (362, "i"), (469, "r"), (521, "o")];
const NAMES: [(&str, &str); 6] = [
    ("SessionRecord", "src/session.ts"),
    ("AuditedSession", "src/session.ts"),
    ("CustomSession", "src/session.ts"),
    ("LegacyCart", "src/legacy.js"),
    ("PriceBook", "src/legacy.js"),
    ("OldStyle", "src/legacy.js"),
];

#[test]
fn classes_of_real_bundles() {
    let named = |root: &str| NAMES.map(|(name, file)| some(name, &format!("{root}{file}")));
    let esbuild = fs::read(folder().join("esbuild/app.cjs.map")).unwrap();
    assert_eq!(found(&esbuild, &ESBUILD), named("../"));
    let webpack = fs::read(folder().join("webpack/app.js.map")).unwrap();
    assert_eq!(found(&webpack, &WEBPACK), named("webpack://bundle/./"));
}

/// A method with an unminified name, and the line and column of all places.
#[test]
fn methods_and_places_of_real_bundles() {
    let esbuild = fs::read(folder().join("esbuild/app.cjs.map")).unwrap();
    assert_eq!(found(&esbuild, &[(154, "size")]), [some("size", "../src/session.ts")]);
    let sources = ["session.ts", "legacy.js"].map(|file| fs::read_to_string(folder().join("src").join(file)).unwrap());
    let starts = ["constructor", "class AuditedSession", "constructor", "LegacyCart", "constructor", "function (name)"];
    for (original, start) in originals(&esbuild, &places(&ESBUILD)).unwrap().into_iter().zip(starts) {
        let source = &sources[usize::from(original.source.unwrap().ends_with("legacy.js"))];
        let line = source.lines().nth(original.line.unwrap() as usize).unwrap();
        let rest = &line[original.column.unwrap() as usize..];
        assert!(rest.starts_with(start), "expected {start}, found {rest}");
    }
}

/// A bad optional map fails nothing.
#[test]
fn damaged_maps_are_left_out_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let whole = fs::read(self::folder().join("esbuild/app.cjs.map")).unwrap();
    let mut bad = whole.clone();
    let mappings = b"\"mappings\": \"";
    let at = bad.windows(mappings.len()).position(|window| window == mappings).unwrap() + mappings.len();
    bad[at + 40] = b'!';
    let paths = [write("good.map", &whole), write("bad.map", &bad), write("cut.map", &whole[..200])];
    let (maps, errors) = collect(&paths, 64 << 20);
    assert_eq!(maps.maps.iter().map(|map| &map.path).collect::<Vec<_>>(), [&paths[0]]);
    let told: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().any(|error| error.starts_with(&paths[1]) && error.contains("mappings is damaged")), "{told:?}");
    assert_eq!(collect(&[folder.path().display().to_string()], 1000).1.len(), 3);
}

/// Without the original files, only a name exactly at the minified one counts.
#[test]
fn a_map_without_sources_says_what_is_certain() {
    let bare = fs::read(folder().join("bare.map")).unwrap();
    let names: Vec<Option<String>> = found(&bare, &ESBUILD).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, [None, None, None, Some("LegacyCart".to_owned()), None, None]);
}

#[test]
fn maps_in_sections_and_behind_a_guard() {
    let map = fs::read_to_string(folder().join("esbuild/app.cjs.map")).unwrap();
    let sections = format!(
        ")]}}'\n{{\"version\":3,\"sections\":[{{\"offset\":{{\"line\":0,\"column\":0}},\"map\":{{\"version\":3,\"mappings\":\"\"}}}},\
         {{\"offset\":{{\"line\":0,\"column\":1000}},\"map\":{map}}}]}}"
    );
    let [first, other] = [ESBUILD[0], (1000 + ESBUILD[0].0, ESBUILD[0].1)];
    assert_eq!(found(sections.as_bytes(), &[first, other]), [(None, None), some("SessionRecord", "../src/session.ts")]);
}

#[test]
fn maps_belong_to_scripts() {
    let find = |path: &str| find(&[folder().join(path).display().to_string()], 1 << 30);
    let (esbuild, webpack, inside) = (find("esbuild").unwrap(), find("webpack").unwrap(), find("inline").unwrap());
    let found = |maps, url| of_script(maps, url).map(|map| map.path.rsplit('/').next().unwrap().to_owned());
    for (maps, file) in [(&esbuild, "app.cjs.map"), (&webpack, "app.js.map"), (&inside, "app.cjs")] {
        for url in ["/srv/app.cjs", "file:///srv/app.cjs?x=1", "C:\\srv\\app.cjs", "https://shop.example/app.cjs#a"] {
            assert_eq!(found(maps, url).as_deref(), Some(file), "{url}");
        }
        assert_eq!(found(maps, "/srv/other.cjs"), None);
        assert_eq!(found(maps, ""), None);
    }
    assert_eq!(found(&webpack, "/srv/app.js").as_deref(), Some("app.js.map"), "the map says so");
    // The map in a script is the same map.
    assert_eq!(read(&inside.maps[0]).unwrap(), fs::read(folder().join("inline.json")).unwrap());
    // A tie has no match.
    let both = find("").unwrap();
    assert_eq!(found(&both, "/srv/app.cjs"), None);
    assert_eq!(found(&both, "/srv/webpack/app.cjs").as_deref(), Some("app.js.map"));
    assert_ne!(esbuild.hash, webpack.hash);
}

#[test]
fn maps_that_are_none_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    for (content, problem) in [
        ("", "expected a source map, found what is none"),
        ("{}", "expected a source map of version 3, found none"),
        ("{\"version\":2,\"mappings\":\"\"}", "expected a source map of version 3, found 2"),
        ("{\"version\":3}", "found neither mappings nor sections"),
        ("[1]", "expected a source map, found what is none"),
    ] {
        let file = scratch.path().join("a.js.map");
        fs::write(&file, content).unwrap();
        let error = find(&[file.display().to_string()], 1 << 30).unwrap_err().to_string();
        assert!(error.contains(problem) && error.contains("a.js.map: ") && !error.contains('\n'), "{content}: {error}");
    }
    let error = find(&[folder().join("src").display().to_string()], 1 << 30).unwrap_err();
    assert_eq!(error.problem, "no source map is there");
    let error = find(&[folder().join("esbuild").display().to_string()], 1 << 10).unwrap_err();
    assert!(error.problem.contains("more than --memory allows"), "{error}");
    for mappings in ["!", "g", "AA", "AAAAAA", "D", "ggggggggggggg"] {
        let map = format!("{{\"version\":3,\"mappings\":\"{mappings}\"}}");
        assert_eq!(originals(map.as_bytes(), &places(&[(0, "a")])).unwrap_err(), "line 0 of its mappings is damaged");
    }
}

#[test]
fn declarations_are_found_in_sources() {
    let text = r#"
import x from "y"; // class Comment {
@decorated export abstract class Shop<T> extends mixin({ a: 1 }) implements Sells {
    label = "class Text {"; pattern = /[/"'{]class/g; note = `${ { b: class Inner { constructor() {} } } } class T {`;
    constructor(private readonly rows: number[] = [], { a } = {}) { super(); function helper(q) {} }
    method() { return a / b / c; }
}
const Ü = 1, Maker: Made = class { constructor(x) {} };
exports.Old = function (a, b) { this.a = a; };
async function load(id) {}
let o = { Short: class {}, class: 1, x: y.class, function: 2 };
export default class extends Shop {}
"#;
    let scopes = Scopes::of(text);
    let at = |needle: &str| {
        let at = text.find(needle).unwrap();
        let line = text[..at].matches('\n').count();
        let column = text[..at].rsplit('\n').next().unwrap().encode_utf16().count();
        scopes.declared(line as u32, column as u32, "")
    };
    for (needle, name) in [
        ("export abstract", Some("Shop")),
        ("Shop<T>", Some("Shop")),
        ("class Inner", Some("Inner")),
        ("constructor() {}", Some("Inner")),
        ("constructor(private", Some("Shop")),
        ("rows: number", Some("Shop")),
        ("function helper", Some("helper")),
        ("method()", Some("Shop")),
        ("label =", Some("Shop")),
        ("return a", None),
        ("class { constructor(x)", Some("Maker")),
        ("constructor(x)", Some("Maker")),
        ("function (a, b)", Some("Old")),
        ("(a, b)", Some("Old")),
        ("this.a", None),
        ("async function", Some("load")),
        ("class {}, class", Some("Short")),
        ("import x", None),
    ] {
        assert_eq!(at(needle), name, "{needle}");
    }
}

proptest! {
    /// Any text is read to its end and can be queried everywhere.
    #[test]
    fn no_source_is_too_odd(text in "(class|function|constructor|[a-zü{}()\\[\\]`$/\"'\\\\;:=. \n]){0,80}") {
        let scopes = Scopes::of(&text);
        for line in 0..4 {
            for column in 0..100 {
                let _ = scopes.declared(line, column, "a");
            }
        }
    }

    /// Damaged maps are refused and never panic.
    #[test]
    fn no_mapping_is_too_odd(mappings in "[A-Za-f+/,;]{0,60}", column in 0_u32..200) {
        let map = format!("{{\"version\":3,\"sources\":[\"a\"],\"names\":[\"n\"],\"mappings\":\"{mappings}\"}}");
        let _ = originals(map.as_bytes(), &places(&[(column, "a")]));
    }
}
