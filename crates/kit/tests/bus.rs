//! A mapped column truncated under a process raises an error that names the file, not a signal.

#![expect(clippy::unwrap_used, reason = "a test")]

use heaplake_kit::{ColumnMap, ColumnWriter, Scratch};
use heaplake_schemas::scratch::Column;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

const NUMBERS: Column<u64> = Column::new("numbers");

/// Tells the child process its scratch folder.
const FOLDER: &str = "HEAPLAKE_TEST_BUS";

/// Child process: maps the column, reports that, waits for a line, and reads the whole column.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let scratch = Scratch::reopen(folder.as_ref()).unwrap();
    let others: Vec<_> = (0..200).map(|_| ColumnMap::uncounted(&scratch, NUMBERS).unwrap()).collect();
    drop(others);
    let map = ColumnMap::uncounted(&scratch, NUMBERS).unwrap();
    writeln!(std::io::stdout(), "\nmapped").unwrap();
    std::io::stdin().read_line(&mut String::new()).unwrap();
    writeln!(std::io::stdout(), "{}", map.iter().sum::<u64>()).unwrap();
}

/// Returns the child's output after its column was truncated to `elements`.
fn cut_to(elements: u64) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("scratch");
    let scratch = Scratch::create(&folder).unwrap();
    let mut writer = ColumnWriter::create(&scratch, NUMBERS).unwrap();
    (0..100_000).for_each(|number| writer.push(number).unwrap());
    writer.finish().unwrap();
    let path = scratch.path(NUMBERS);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]).env(FOLDER, &folder);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.by_ref().any(|line| line.unwrap() == "mapped"));
    std::fs::File::options().write(true).open(&path).unwrap().set_len(elements * 8).unwrap();
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let said: Vec<_> = lines.map(Result::unwrap).collect();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), said.join("\n"), text.replace(&path.display().to_string(), "PATH"))
}

#[test]
fn a_mapped_column_that_is_cut_off_is_an_error_with_the_file() {
    let (code, said, text) = cut_to(100_000);
    assert!(code == Some(0) && said.contains("4999950000"), "{code:?} {said} {text}");
    for elements in [0, 1, 50_000, 99_000] {
        let (code, _, text) = cut_to(elements);
        assert_eq!(code, Some(1), "{text}");
        let lines: Vec<_> = text.lines().collect();
        assert!(lines.len() == 2 && lines[1].starts_with("  -> "), "{text}");
        assert_eq!(lines[0], "heaplake: PATH: it was cut off, or the disk failed under it, while it was in use");
    }
}
