//! Canaries: secrets that are planted in inputs, and a search for them in everything that a command leaves behind.
//!
//! A canary is looked for in plain text, in UTF-16 of both byte orders, as JSON and HTML escape it, in hexadecimal, and
//! in Base64 at each of three offsets; a number also by its bytes and its decimal digits.

use crate::table::Table;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Bytes by which a canary is found; shorter forms are not looked for.
const KEY: usize = 8;

/// Planted secrets.
#[derive(Default)]
pub struct Canaries {
    pub texts: Vec<String>,
    pub numbers: Vec<u64>,
}

impl Canaries {
    /// Plants a secret whose shape is that of data, for places where other names stay.
    pub fn shaped(&mut self) -> String {
        let at = self.texts.len() as u64;
        let digits = 1_000_000 + at * 7919;
        self.planted(match at % 10 {
            0 => format!("user{at}.x@example.com"),
            1 => format!("3f2504e0-4f89-41d3-9a0c-{digits:012}"),
            2 => format!("+49 170 {digits}"),
            3 => format!("AKIA{:0>16}", format!("Q{digits}")),
            4 => format!("eyJhbGciOiJI{digits}.eyJzdWIi{digits}.c2lnbmF0dXJl{digits}"),
            5 => format!("sk_live_4eC39HqLyjW{digits}"),
            6 => format!("4111 1111 {:04} {:04}", at % 10_000, (at * 13) % 10_000),
            7 => format!("5f4dcc3b5aa765d61d83{digits:012x}"),
            8 => format!("DE8937040044{digits}"),
            _ => format!("Bearer q7{digits}Zx"),
        })
    }

    /// Plants a secret of any shape, for places of texts.
    pub fn any(&mut self) -> String {
        let at = self.texts.len();
        match at % 4 {
            0 => self.shaped(),
            1 => self.planted(format!("hunter-{at}-pass")),
            2 => self.planted(format!("Müller Straße {at}")),
            _ => self.planted(format!("秘密の言葉{at}😀")),
        }
    }

    /// Plants a secret of Latin letters, for texts of one byte per character.
    pub fn latin(&mut self) -> String {
        let at = self.texts.len();
        self.planted(format!("geheim-{at}-wörter"))
    }

    /// Plants a number of eight letters.
    pub fn number(&mut self) -> u64 {
        let number = u64::from_be_bytes(format!("pin{:05}", self.numbers.len()).into_bytes().try_into().unwrap());
        self.numbers.push(number);
        number
    }

    fn planted(&mut self, text: String) -> String {
        self.texts.push(text.clone());
        text
    }
}

/// The forms of a text in bytes.
fn forms(text: &str) -> Vec<Vec<u8>> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
    let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let escaped = units.iter().flat_map(|unit| match u8::try_from(*unit).ok().filter(u8::is_ascii) {
        Some(byte) => vec![byte],
        None => format!("\\u{unit:04x}").into_bytes(),
    });
    let mut forms = vec![text.as_bytes().to_vec(), escaped.collect(), big.clone(), little.clone()];
    for bytes in [text.as_bytes(), &big, &little] {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        forms.extend([hex.to_uppercase().into_bytes(), hex.into_bytes()]);
        forms.extend((0..3).map(|offset| base64(bytes, offset)));
    }
    forms
}

/// Base64 of bytes behind `offset` others, without the characters that depend on neighbours.
fn base64(bytes: &[u8], offset: usize) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let first = (3 - offset) % 3;
    let threes = bytes.get(first..).unwrap_or_default().chunks_exact(3);
    threes
        .flat_map(|three| {
            let bits = three.iter().fold(0, |bits, &byte| bits << 8 | usize::from(byte));
            [18, 12, 6, 0].map(|shift| DIGITS[bits >> shift & 63])
        })
        .collect()
}

/// Finds canaries in bytes.
pub struct Search {
    /// Forms of canaries by their first bytes, with the numbers of the canaries.
    forms: HashMap<[u8; KEY], Vec<(Vec<u8>, usize)>>,
    /// Whether a form begins with these two bytes.
    begins: Vec<bool>,
    names: Vec<String>,
}

impl Search {
    /// For all canaries but those that occur in `kept`, which outputs may have.
    pub fn new(canaries: &Canaries) -> Self {
        let mut search = Self { forms: HashMap::new(), begins: vec![false; 1 << 16], names: Vec::new() };
        for text in &canaries.texts {
            search.add(text.clone(), forms(text));
        }
        for number in &canaries.numbers {
            let (bytes, decimal) = (number.to_be_bytes().to_vec(), number.to_string().into_bytes());
            search.add(format!("number {number}"), vec![bytes, number.to_le_bytes().to_vec(), decimal]);
        }
        search
    }

    fn add(&mut self, name: String, forms: Vec<Vec<u8>>) {
        let at = self.names.len();
        self.names.push(name);
        for form in forms.into_iter().filter(|form| form.len() >= KEY) {
            self.begins[usize::from(u16::from_be_bytes([form[0], form[1]]))] = true;
            let key: [u8; KEY] = form[..KEY].try_into().unwrap();
            self.forms.entry(key).or_default().push((form, at));
        }
    }

    /// The first canaries in some bytes.
    pub fn found(&self, bytes: &[u8]) -> Vec<&str> {
        let mut found = Vec::new();
        for (at, window) in bytes.windows(KEY).enumerate() {
            if !self.begins[usize::from(u16::from_be_bytes([window[0], window[1]]))] || found.len() > 10 {
                continue;
            }
            let forms = self.forms.get(window).map(Vec::as_slice).unwrap_or_default();
            found.extend(
                forms.iter().filter(|(form, _)| bytes[at..].starts_with(form)).map(|(_, of)| self.names[*of].as_str()),
            );
        }
        found
    }

    /// Asserts that no byte of a folder has a canary, nor a name of a file, nor a cell of a table.
    #[track_caller]
    pub fn expect_none_below(&self, folder: &Path) -> usize {
        let files = files(folder);
        for file in &files {
            self.expect_none(&file.display().to_string(), file.to_string_lossy().as_bytes());
            self.expect_none(&file.display().to_string(), &fs::read(file).unwrap());
            if file.extension().is_some_and(|ending| ending == "parquet")
                && file.parent().unwrap().join("run.json").is_file()
            {
                self.expect_none(&format!("cells of {}", file.display()), cells(file).as_bytes());
            }
        }
        files.len()
    }

    /// Asserts that some bytes have no canary.
    #[track_caller]
    pub fn expect_none(&self, what: &str, bytes: &[u8]) {
        let found = self.found(bytes);
        assert!(found.is_empty(), "{what}: {found:?}");
    }
}

/// All cells of a table as text.
pub fn cells(file: &Path) -> String {
    let table = Table::read(file.parent().unwrap(), &file.file_name().unwrap().to_string_lossy());
    let options = FormatOptions::default();
    let mut text = String::new();
    for column in table.0.columns() {
        // A time has no text; to print one with a time zone takes a database of them.
        let is_time = matches!(column.data_type(), DataType::Timestamp(..));
        let column = if is_time { &cast(column, &DataType::Int64).unwrap() } else { column };
        let formatter = ArrayFormatter::try_new(column, &options).unwrap();
        (0..column.len()).for_each(|row| text += &format!("{}\n", formatter.value(row)));
    }
    text
}

/// All files below a folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}
