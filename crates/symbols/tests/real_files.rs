//! An assembly and its PDB as the C# compiler writes them, whole, of another build, and damaged.

#![expect(clippy::unwrap_used, reason = "tests may fail loudly")]

use heaplake_kit::Budget;
use heaplake_schemas::symbols::Symbols;
use heaplake_symbols::assembly::Assembly;
use heaplake_symbols::{Build, Library, Module, Pdb, SymbolFiles, beside, find};
use std::fs;
use std::path::{Path, PathBuf};

const MEMORY: u64 = 64 << 20;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/symbols").join(name)
}

fn content(name: &str) -> Vec<u8> {
    fs::read(fixture(name)).unwrap()
}

fn found(paths: &[PathBuf]) -> SymbolFiles {
    find(&paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(), MEMORY)
}

fn symbols(names: &[&str]) -> Symbols {
    let found = found(&names.iter().map(|name| fixture(name)).collect::<Vec<_>>());
    assert_eq!(found.problems, Vec::<String>::new());
    found.symbols
}

/// The line of the source that has a text, from 1.
fn line_of(text: &str) -> u32 {
    let source = fs::read_to_string(fixture("Orders.cs")).unwrap();
    let mut lines = source.lines().zip(1..).filter(|(line, _)| line.contains(text));
    let (_, line) = lines.next().unwrap();
    assert!(lines.next().is_none(), "{text} is there twice");
    line
}

/// Methods of the program, and what their first lines contain.
const METHODS: [(&str, &str); 5] = [
    ("Shop.Order::.ctor", "public Order(int number)"),
    ("Shop.Order::get_Size", "public int Size"),
    ("Shop.Basket`1::Add", "items.Add(item);"),
    ("Shop.Program::Main", "Console.ReadLine();\n"),
    ("Shop.Program+<Ship>d__2::MoveNext", "await Task.Yield();"),
];

fn module(build: Option<Build>) -> Module<'static> {
    Module { name: "/app/bin/Shop.dll", build }
}

fn lines(symbols: &Symbols, build: Option<Build>) -> (Vec<Option<(String, u32)>>, Vec<String>) {
    let budget = Budget::new(MEMORY);
    let assembly = self::symbols(&["Shop.dll"]);
    let methods = Library::new(Some(&assembly), &budget).methods(&METHODS.map(|(name, _)| name)).unwrap();
    let tokens: Vec<u32> = methods.into_iter().map(|found| found.unwrap().1 | 0x0600_0000).collect();
    let mut library = Library::new(Some(symbols), &budget);
    let lines = library.lines(&module(build), &tokens).unwrap();
    let of = |line: Option<(u32, u32)>| line.map(|(file, line)| (lines.files[file as usize].clone(), line));
    (lines.found.iter().map(|&line| of(line)).collect(), library.remarks())
}

fn expected() -> Vec<Option<(String, u32)>> {
    let line = |text: &str| if text.ends_with('\n') { line_of("static void Main()") + 2 } else { line_of(text) };
    METHODS.iter().map(|(_, text)| Some(("/src/shop/Orders.cs".to_owned(), line(text)))).collect()
}

fn build_of(name: &str) -> Option<Build> {
    Assembly::parse(&content(name)).unwrap().unwrap().build()
}

#[test]
fn methods_begin_at_the_lines_of_the_source() {
    let build = build_of("Shop.dll");
    assert!(build.is_some());
    for files in [&["Shop.pdb"][..], &["embedded/Shop.dll"], &["other/Shop.pdb", "Shop.pdb"]] {
        let build = if files[0].starts_with("embedded") { None } else { build };
        let (lines, remarks) = lines(&symbols(files), build);
        assert_eq!((lines, remarks), (expected(), Vec::new()), "{files:?}");
    }
}

#[test]
fn a_pdb_of_another_build_is_told_and_not_used() {
    let (build, other) = (build_of("Shop.dll"), build_of("other/Shop.dll"));
    let (lines, remarks) = lines(&symbols(&["other/Shop.pdb"]), build);
    assert_eq!(lines, vec![None; METHODS.len()]);
    let [build, other] = [build, other].map(|build| build.unwrap().to_string());
    assert_eq!(remarks.len(), 1);
    assert!(
        remarks[0].contains(&build) && remarks[0].contains(&other) && remarks[0].contains("Shop.pdb"),
        "{remarks:?}"
    );
}

#[test]
fn without_a_build_in_the_input_two_builds_are_one_too_many() {
    let (found, remarks) = lines(&symbols(&["Shop.pdb", "other/Shop.pdb"]), None);
    assert_eq!(found, vec![None; METHODS.len()]);
    assert!(remarks[0].contains("several builds of Shop"), "{remarks:?}");
    assert_eq!(lines(&symbols(&["Shop.pdb"]), None), (expected(), Vec::new()));
}

#[test]
fn types_have_the_names_that_the_runtime_writes() {
    let budget = Budget::new(MEMORY);
    let symbols = symbols(&["Shop.dll"]);
    let mut library = Library::new(Some(&symbols), &budget);
    let names = library.types(&module(build_of("Shop.dll")), &[0x0200_0001, 0x0200_0002, 0x0200_0003, 0x0200_ffff, 7]);
    let names: Vec<_> = names.unwrap().into_iter().map(Option::unwrap_or_default).collect();
    assert_eq!(names, ["<Module>", "Shop.Order", "Shop.Basket`1", "", ""]);
    let names = library.types(&module(None), &(0x0200_0001..0x0200_0010).collect::<Vec<_>>()).unwrap();
    for nested in ["Shop.Order+Line", "Shop.Program+<Ship>d__2"] {
        assert!(names.iter().flatten().any(|name| name == nested), "{names:?}");
    }
    assert_eq!(library.types(&Module { name: "Other", build: None }, &[0x0200_0002]).unwrap(), [None]);
}

#[test]
fn pdbs_lie_beside_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    for (from, to) in [("Shop.pdb", "Shop.pdb"), ("Shop.dll", "Shop.dll"), ("other/Shop.pdb", "deeper/Shop.pdb")] {
        fs::create_dir_all(folder.path().join(to).parent().unwrap()).unwrap();
        fs::copy(fixture(from), folder.path().join(to)).unwrap();
    }
    fs::write(folder.path().join("native.pdb"), "Microsoft C/C++ MSF 7.00\r\n").unwrap();
    let found = beside(&folder.path().join("app.nettrace"), MEMORY);
    assert_eq!(found.problems, Vec::<String>::new());
    assert_eq!(found.symbols, symbols(&["Shop.pdb"]));
}

#[test]
fn what_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let cut = |name: &str| {
        let whole = content(name);
        whole[..whole.len() / 3].to_vec()
    };
    let paths = [
        write("cut.pdb", &cut("Shop.pdb")),
        write("cut.dll", &cut("Shop.dll")),
        write("windows.pdb", b"Microsoft C/C++ MSF 7.00\r\n"),
        write("empty.dll", b"MZ"),
        folder.path().join("nothing"),
    ];
    let problems = found(&paths).problems;
    assert_eq!(problems.len(), paths.len(), "{problems:?}");
    for (problem, path) in problems.iter().zip(&paths) {
        assert!(problem.starts_with(&path.display().to_string()) && !problem.contains('\n'), "{problem}");
    }
    let small = find(&[fixture("Shop.pdb").display().to_string()], 1000);
    assert!(small.problems[0].contains("more than --memory allows"), "{:?}", small.problems);
}

fn read_pdb(bytes: &[u8]) {
    if let Ok(pdb) = Pdb::parse(bytes) {
        (0..40).for_each(|row| assert!(pdb.first_line(row).is_none_or(|line| line.line < 1 << 29)));
    }
}

fn read_assembly(bytes: &[u8]) {
    let Ok(Some(assembly)) = Assembly::parse(bytes) else { return };
    (0x0200_0000..0x0200_0020).for_each(|token| drop(assembly.type_name(token)));
    let _ = (assembly.build(), assembly.methods(&[("Shop.Program::Main", 0)].into_iter().collect()));
    if let Some(Ok(pdb)) = assembly.pdb(1 << 20) {
        read_pdb(&pdb);
    }
}

#[test]
fn damage_is_an_error_or_another_answer_and_never_a_panic() {
    type Reader = fn(&[u8]);
    let readers: [(&str, Reader); 3] =
        [("Shop.pdb", read_pdb), ("Shop.dll", read_assembly), ("embedded/Shop.dll", read_assembly)];
    for (name, read) in readers {
        let whole = content(name);
        (0..whole.len()).step_by(7).for_each(|length| read(&whole[..length]));
        for at in 0..whole.len() {
            for value in [0x00, 0x7f, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = value;
                read(&damaged);
            }
        }
    }
}
