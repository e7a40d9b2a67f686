//! Names of a leak in one run.

use arrow::array::{Array, AsArray};
use heaplake_support::chain_paths::paths;
use heaplake_support::table::Table;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// A run's names of the leaked class, of the chains of each kind that lead to most of its objects, and of the most
/// severe finding.
pub(super) struct Side {
    /// In the tables.
    pub signatures: Vec<String>,
    /// The signatures' sources.
    pub names: Value,
}

/// A class: key, URL of its script, signature.
type Class = (String, Option<String>, String);

struct Classes {
    by_id: BTreeMap<u32, Class>,
    by_name: BTreeMap<String, Vec<Class>>,
}

impl Classes {
    fn read(run: &Path) -> Self {
        let table = Table::read(run, "classes.parquet");
        let scripts = scripts(run);
        let mut classes = Self { by_id: BTreeMap::new(), by_name: BTreeMap::new() };
        let keys = table.texts("class_key").into_iter().zip(table.texts("signature"));
        for ((id, name), (key, signature)) in table.u32s("class_id").into_iter().zip(table.texts("class")).zip(keys) {
            let key = key.unwrap();
            let script = key.split_once(',').and_then(|(number, _)| scripts.get(&number.parse().ok()?));
            let class = (key.clone(), script.cloned(), signature.unwrap());
            classes.by_name.entry(name.unwrap()).or_default().push(class.clone());
            classes.by_id.insert(id.unwrap(), class);
        }
        classes
    }

    /// The class of an element of a chain. Tables have only its name; the chain's signature selects among several.
    fn of_element(&self, name: &str, chain: &str) -> Value {
        let classes = self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        let class = classes.iter().find(|class| chain.contains(&class.2)).or(classes.first());
        class.map_or_else(|| json!([name, null]), |class| json!([class.0, class.1]))
    }
}

fn scripts(run: &Path) -> BTreeMap<u32, String> {
    if !run.join("scripts.parquet").exists() {
        return BTreeMap::new();
    }
    let table = Table::read(run, "scripts.parquet");
    let rows = table.u32s("script_id").into_iter().zip(table.texts("url"));
    rows.filter_map(|(id, url)| Some((id?, url?))).collect()
}

impl Side {
    pub(super) fn read(run: &Path, leaked: &str) -> Self {
        let classes = Classes::read(run);
        let (key, script, signature) = classes.by_name.get(leaked).expect("the leaked class")[0].clone();
        let mut signatures = vec![signature];
        let mut chains = Vec::new();
        for kind in ["reference", "dominator"] {
            let (signature, chain) = chain(run, kind, leaked, &classes);
            signatures.push(signature);
            chains.push(chain);
        }
        let (signature, finding) = finding(run, &classes);
        signatures.push(signature);
        let names = json!({ "class": [key, script], "chains": chains, "finding": finding });
        Self { signatures, names }
    }
}

/// The chain of a kind that leads to most objects of a class.
fn chain(run: &Path, kind: &str, leaked: &str, classes: &Classes) -> (String, Value) {
    let table = Table::read(run, "chains.parquet");
    let (kinds, names, counts) = (table.texts("kind"), table.texts("class"), table.u64s("count"));
    let fits = |row: &usize| kinds[*row].as_deref() == Some(kind) && names[*row].as_deref() == Some(leaked);
    let rows = (0..table.rows()).filter(fits);
    let row = rows.max_by_key(|&row| (counts[row], std::cmp::Reverse(row))).expect("a chain of the leaked class");
    let signature = table.texts("signature")[row].clone().unwrap();
    let path: Vec<Value> = paths(&table)[row]
        .iter()
        .map(|(edge, class, repeats)| json!([edge, classes.of_element(class, &signature), repeats]))
        .collect();
    (signature, json!([kind, path]))
}

/// The first finding: rule, class or subject, path.
fn finding(run: &Path, classes: &Classes) -> (String, Value) {
    let table = Table::read(run, "findings.parquet");
    let text = |name: &str| table.texts(name)[0].clone().unwrap();
    let steps = table.0.column_by_name("stable_path").unwrap().as_list::<i32>().value(0);
    let steps = steps.as_string::<i32>();
    let steps: Vec<&str> = (0..steps.len()).map(|at| steps.value(at)).collect();
    let class = table.u32s("class_id")[0].and_then(|id| classes.by_id.get(&id));
    let class = class.map_or_else(|| json!([text("subject"), null]), |class| json!([class.0, class.1]));
    (text("signature"), json!([text("rule"), class, steps]))
}
