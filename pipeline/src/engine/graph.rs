//! The stages of one run and their dependencies, derived from their declarations.
//!
//! Stages are listed in an order in which one thread could run them. A reader of a file depends on the earlier stages
//! in the list that write or change the file; if there are none, on all that do. A stage that changes a file depends on
//! its earlier readers. So two stages without a common file may run side by side, and the position of a stage in the
//! list matters only for files that several stages change.

use super::registry::{Entry, Product};
use heaplake_kit::Setting;
use heaplake_kit::Stage;
use heaplake_kit::access::{Access, Size};
use std::collections::{BTreeMap, BTreeSet};

/// A scratch file as a step uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Name, with its folder.
    pub name: String,
    /// Size.
    pub size: Size,
    /// Whether the step can do without it, or writes it only for some inputs.
    pub optional: bool,
}

/// A stage in a run.
pub struct Step {
    /// Name of the stage, with its folder.
    pub name: String,
    /// The stage.
    pub stage: &'static Stage,
    /// Folder inside scratch; `None` for scratch itself.
    pub folder: Option<&'static str>,
    /// Kind of product.
    pub product: Product,
    /// Files read.
    pub reads: Vec<File>,
    /// Files written.
    pub writes: Vec<File>,
    /// Files of other steps that it appends to, replaces or rewrites.
    pub changes: Vec<File>,
    /// Positions of the steps it depends on.
    pub after: BTreeSet<usize>,
}

impl Step {
    fn new(entry: &Entry, setting: &Setting<'_>) -> Self {
        let files = |accesses: &[Access]| -> Vec<File> {
            let files = accesses.iter().flat_map(|access| {
                let optional = access.is_optional();
                access.files(setting).map(move |file| (file, optional))
            });
            files
                .map(|(file, optional)| File { name: file.path_name(entry.folder), size: file.size, optional })
                .collect()
        };
        let stage = entry.stage;
        Self {
            name: entry.folder.map_or_else(|| stage.name.to_owned(), |folder| format!("{folder}/{}", stage.name)),
            stage,
            folder: entry.folder,
            product: entry.product,
            reads: files(stage.reads),
            writes: files(stage.writes),
            changes: [stage.appends, stage.updates, stage.rewrites].into_iter().flat_map(files).collect(),
            after: BTreeSet::new(),
        }
    }

    /// All files that it uses.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.reads.iter().chain(&self.writes).chain(&self.changes)
    }

    /// Whether it writes or changes a file.
    pub fn modifies(&self, name: &str) -> bool {
        self.writes.iter().chain(&self.changes).any(|file| file.name == name)
    }
}

/// The steps of a run in topological order, in which one thread runs them.
pub struct Graph {
    /// The steps.
    pub steps: Vec<Step>,
    /// Files that their writers may omit.
    optional: BTreeSet<String>,
}

impl Graph {
    /// Builds the graph of the listed stages that apply to the setting.
    pub fn new(entries: &[Entry], setting: &Setting<'_>) -> Self {
        let wanted = entries.iter().filter(|entry| (entry.stage.when)(setting));
        let mut steps: Vec<Step> = wanted.map(|entry| Step::new(entry, setting)).collect();
        leave_out_starved(&mut steps);
        let after = order(&steps);
        for (step, after) in steps.iter_mut().zip(after) {
            step.after = after;
        }
        let steps = sorted(steps);
        let written = steps.iter().flat_map(|step| &step.writes).filter(|file| file.optional);
        Self { optional: written.map(|file| file.name.clone()).collect(), steps }
    }

    /// Whether the writer of a file may omit it, because the input has no such data.
    pub fn may_lack(&self, name: &str) -> bool {
        self.optional.contains(name)
    }

    /// Direct dependencies of a step, by transitive reduction.
    pub fn direct(&self, position: usize) -> Vec<usize> {
        let after = &self.steps[position].after;
        after.iter().copied().filter(|&step| !after.iter().any(|&other| self.reaches(other, step))).collect()
    }

    /// Whether a step depends on another, directly or transitively.
    fn reaches(&self, from: usize, to: usize) -> bool {
        from > to && self.steps[from].after.iter().any(|&before| before == to || self.reaches(before, to))
    }
}

/// Removes stages that read a file without a writer, transitively: data that the format does not have.
fn leave_out_starved(steps: &mut Vec<Step>) {
    loop {
        let written: BTreeSet<String> =
            steps.iter().flat_map(|step| step.writes.iter().map(|file| file.name.clone())).collect();
        let before = steps.len();
        steps.retain(|step| {
            let mut needs = step.reads.iter().chain(&step.changes).filter(|file| !file.optional);
            needs.all(|file| written.contains(&file.name))
        });
        if steps.len() == before {
            return;
        }
    }
}

/// Returns the dependencies of each step.
fn order(steps: &[Step]) -> Vec<BTreeSet<usize>> {
    let mut after = vec![BTreeSet::new(); steps.len()];
    let mut users: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (position, step) in steps.iter().enumerate() {
        for file in step.files() {
            let users = users.entry(&file.name).or_default();
            if users.last() != Some(&position) {
                users.push(position);
            }
        }
    }
    for (name, users) in users {
        let modifiers: Vec<usize> = users.iter().copied().filter(|&user| steps[user].modifies(name)).collect();
        for pair in modifiers.windows(2) {
            after[pair[1]].insert(pair[0]);
        }
        for &reader in users.iter().filter(|user| !modifiers.contains(user)) {
            let before = modifiers.iter().rfind(|&&modifier| modifier < reader);
            after[reader].extend(before.or(modifiers.last()));
            if before.is_some()
                && let Some(&next) = modifiers.iter().find(|&&modifier| modifier > reader)
            {
                after[next].insert(reader);
            }
        }
    }
    after
}

/// Sorts the steps topologically, as near to list order as possible. Steps in a cycle come last; a test checks that
/// there is none.
fn sorted(steps: Vec<Step>) -> Vec<Step> {
    let mut place = vec![None; steps.len()];
    for next in 0..steps.len() {
        let free = |position: &usize| {
            place[*position].is_none() && steps[*position].after.iter().all(|&before| place[before].is_some())
        };
        let first = (0..steps.len()).find(free).or_else(|| (0..steps.len()).find(|&step| place[step].is_none()));
        if let Some(first) = first {
            place[first] = Some(next);
        }
    }
    let mut placed: Vec<(Option<usize>, Step)> = place.iter().copied().zip(steps).collect();
    for (_, step) in &mut placed {
        step.after = step.after.iter().filter_map(|&before| place[before]).collect();
    }
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, step)| step).collect()
}
