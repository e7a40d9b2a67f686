//! Rule `class-loader-leak`: class loaders of one type that define the same classes. They are reloads of one thing (a
//! web application, a script, a plugin), and all but the newest should be gone, with their classes and objects. For
//! many loaders, names that differ in digits alone count as the same: classes compiled at run time are numbered
//! (`Script1`, `Script2`).
//!
//! A loader's world is the loader, its classes and their instances. A world retains the sum over its topmost nodes in
//! the dominator tree. Loaders that are all held by objects of one class are siblings in some registry and may all be
//! wanted; one that is held differently from the rest is the live one.

mod worlds;

use super::class_roles::role;
use super::heap::{Found, Heap, shorten};
use super::rule::{Detector, Rule, list_bytes, severity};
use heaplake_kit::access::{column, per_node};
use heaplake_kit::text::count;
use heaplake_kit::{BudgetVec, ColumnMap, ColumnPoints, StageError, StringTable};
use heaplake_schemas::findings::{Finding, Severity};
use heaplake_schemas::ids::{ClassId, NodeId, Preorder};
use heaplake_schemas::scratch::{self as columns, STRINGS};
use rustc_hash::FxHasher;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::hash::Hasher;
use worlds::{Loader, World};

pub(super) const RULE: Rule = Rule {
    names: &[NAME],
    reads: &[
        column(columns::CLASS_LOADER).if_any(),
        column(columns::CLASS_NODE).if_any(),
        column(columns::PREORDER_NODE),
        column(columns::PREORDER_DOMINATOR),
        column(columns::PATH_PARENT).if_any(),
        column(columns::PATH_LABEL).if_any(),
    ],
    arrays: &[per_node::<u16>(), per_node::<NodeId>(), per_node::<ClassId>()],
    working: list_bytes::<World>(LOADERS),
    open: |_, _| Ok(Box::new(Loaders)),
    ..Rule::NEW
};

const NAME: &str = "class-loader-leak";
/// Minimum percent of the heap of a high, medium, low finding.
const PERCENT: [u64; 3] = [20, 5, 1];
/// Minimum number of loaders.
const MANY: usize = 4;
/// Minimum number of loaders of numbered classes: fewer may be plugins.
const MANY_NUMBERED: usize = 100;
/// Number of loaders of numbered classes that makes a finding of medium severity, however little they retain in the
/// heap.
const COSTLY: usize = 500;
/// Maximum number of loaders.
const LOADERS: usize = 1 << 14;
/// Maximum number of groups of loaders of one type.
const GROUPS: usize = 64;
/// Maximum percent of a loader's classes that the largest loader of its group lacks.
const OWN_PERCENT: usize = 1;

struct Loaders;

impl Detector for Loaders {
    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        if !heap.job.scratch.has(columns::CLASS_LOADER) || !heap.has_class_objects() {
            return Ok(Vec::new());
        }
        let loader_of = ColumnMap::uncounted(heap.job.scratch, columns::CLASS_LOADER)?;
        let names = names(&loader_of, heap)?;
        let groups = groups(&names, heap)?;
        if groups.all.is_empty() {
            return Ok(Vec::new());
        }
        let worlds = worlds::worlds(&groups.all, &loader_of, heap)?;
        let names = ClassNames { of: &names, strings: StringTable::open(heap.job.scratch, STRINGS)? };
        let mut first = 0;
        let mut findings = Vec::new();
        for (at, group) in groups.all.iter().enumerate() {
            let is_numbered = at >= groups.same;
            findings.push(about(group, is_numbered, &worlds[first..first + group.len()], &names, heap)?);
            first += group.len();
        }
        Ok(findings)
    }
}

/// A class of a loader: the loader, a hash of the name without digits, and the name.
type Defined = (u32, u64, u32);

/// Names of the classes of loaders, as ids and as texts.
struct ClassNames<'a> {
    of: &'a [Defined],
    strings: StringTable,
}

/// Returns the classes that reachable loaders have defined, sorted, without those that the runtime generates.
fn names(loader_of: &[NodeId], heap: &Heap) -> Result<BudgetVec<Defined>, StageError> {
    let preorder: ColumnPoints<Preorder> = ColumnPoints::open(heap.job.scratch, columns::NODE_PREORDER)?;
    let mut names = heap.job.context.budget.growing("findings: classes of loaders");
    for (class, &loader) in loader_of.iter().enumerate() {
        let is_garbage = loader.is_none() || preorder.at(loader.index()).is_none();
        if !is_garbage && !heap.classes.has(class as u32, role::GENERATED) {
            let name = heap.class_name_id(class as u32).0;
            names.push((loader.0, without_digits(&heap.class_name(class as u32)), name))?;
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn without_digits(name: &str) -> u64 {
    let mut hash = FxHasher::default();
    name.bytes().filter(|byte| !byte.is_ascii_digit()).for_each(|byte| hash.write_u8(byte));
    hash.finish()
}

/// Loaders of one type with the same classes, the one with most classes first.
struct Groups {
    /// Groups with equal names of classes, then groups with names that differ in digits.
    all: Vec<Vec<Loader>>,
    /// Number of groups of the first kind.
    same: usize,
}

/// The part of a class that must be equal.
type Key = fn(&Defined) -> (u64, u32);

fn groups(names: &[Defined], heap: &Heap) -> Result<Groups, StageError> {
    let mut loaders: Vec<Loader> = Vec::new();
    let mut first = 0;
    for chunk in names.chunk_by(|a, b| a.0 == b.0) {
        if loaders.len() < LOADERS {
            loaders.push(Loader { node: chunk[0].0, first, count: chunk.len() });
        }
        first += chunk.len();
    }
    let kind = |loader: &Loader| heap.class_name_id(heap.nodes.class.at(loader.node as usize).0);
    loaders.sort_unstable_by_key(|loader| (kind(loader), Reverse(loader.count), loader.node));
    let (mut same, mut numbered) = (Vec::new(), Vec::new());
    for alike in loaders.chunk_by(|a, b| kind(a) == kind(b)).filter(|alike| alike.len() >= MANY) {
        let mut found = grouped(alike, names, |class| (class.1, class.2), heap)?;
        found.retain(|group| group.len() >= MANY);
        let taken: BTreeSet<u32> = found.iter().flatten().map(|loader| loader.node).collect();
        let others: Vec<Loader> = alike.iter().copied().filter(|loader| !taken.contains(&loader.node)).collect();
        same.append(&mut found);
        if others.len() >= MANY_NUMBERED {
            let found = grouped(&others, names, |class| (class.1, 0), heap)?;
            numbered.extend(found.into_iter().filter(|group| group.len() >= MANY_NUMBERED));
        }
    }
    let count = same.len();
    same.append(&mut numbered);
    Ok(Groups { all: same, same: count })
}

/// Groups each loader with the first one that has all its classes.
fn grouped(loaders: &[Loader], names: &[Defined], key: Key, heap: &Heap) -> Result<Vec<Vec<Loader>>, StageError> {
    let mut groups: Vec<Vec<Loader>> = Vec::new();
    for &loader in loaders {
        heap.job.context.check()?;
        match groups.iter().position(|group| is_within(loader, group[0], names, key)) {
            Some(group) => groups[group].push(loader),
            None if groups.len() < GROUPS => groups.push(vec![loader]),
            None => {}
        }
    }
    Ok(groups)
}

/// Whether another loader has all but a few of a loader's classes.
fn is_within(loader: Loader, other: Loader, names: &[Defined], key: Key) -> bool {
    let of = |loader: Loader| names[loader.first..loader.first + loader.count].iter().map(key);
    let mut others = of(other).peekable();
    let own = of(loader).filter(|&name| {
        while others.next_if(|&other| other < name).is_some() {}
        others.peek() != Some(&name)
    });
    100 * own.count() <= OWN_PERCENT * loader.count
}

fn about(
    group: &[Loader],
    is_numbered: bool,
    worlds: &[World],
    names: &ClassNames<'_>,
    heap: &Heap,
) -> Result<Finding, StageError> {
    let (living, alike) = living(worlds);
    let dead: Vec<&World> = worlds.iter().enumerate().filter(|&(at, _)| at != living).map(|(_, world)| world).collect();
    let bytes = dead.iter().fold(0, |sum: u64, world| sum.saturating_add(world.bytes));
    let severity = of_loaders(severity(bytes, heap.bytes, PERCENT), is_numbered, alike, group.len());
    let largest = (0..worlds.len()).filter(|&at| at != living).max_by_key(|&at| (worlds[at].bytes, Reverse(at)));
    let example = group[largest.unwrap_or(0)];
    let class = heap.nodes.class.at(example.node as usize).0;
    let found = Found { rule: NAME, severity, count: dead.len() as u64, bytes };
    let mut finding = found.about_class(class, Some(example.node), heap);
    let (classes, name) = shown_classes(group[0], names);
    let path = worlds::path(example.node, &names.strings, heap)?;
    let held = if path.is_empty() { heap.chain(example.node) } else { path };
    let (loaders, of, share) = (count(group.len() as u64), shorten(&heap.class_key(class), 120), heap.share(bytes));
    finding.message = if is_numbered {
        format!(
            "{loaders} class loaders of type {of} define classes with numbered names such as {name}: code that is compiled at \
             run time and stays; all but one retain {share}. One of these: {held}"
        )
    } else {
        format!(
            "{loaders} class loaders of type {of} define the same {classes}; all but one retain {share}, though a reload \
             should free them. One of these: {held}"
        )
    };
    finding.next_step = if is_numbered {
        "Compile the same code once and keep what comes of it, or close and drop the loader together with the code."
    } else if alike {
        "Close the loaders that are no longer used, or share one among all that need these classes."
    } else {
        "Release what holds the old loaders when the application stops: threads, thread locals, listeners, drivers and \
         statics of libraries above them."
    }
    .to_owned();
    Ok(finding)
}

/// Text: number of classes of a loader with an example, and the example alone: the shortest name that is neither an
/// array nor nested.
fn shown_classes(loader: Loader, names: &ClassNames<'_>) -> (String, String) {
    let of = names.of[loader.first..loader.first + loader.count].iter();
    let texts = of.take(SHOWN_NAMES).map(|&(_, _, name)| names.strings.text(name as usize));
    let name = texts.min_by_key(|name| (name.ends_with("[]"), name.contains('$'), name.len()));
    let name = name.as_deref().unwrap_or_default().to_owned();
    let classes = match loader.count {
        1 => format!("class, {name}"),
        many => format!("{} classes, {name} among them", count(many as u64)),
    };
    (classes, name)
}

/// Number of names among which the example is chosen.
const SHOWN_NAMES: usize = 1000;

/// Returns the severity of a group of loaders, from that of the bytes which they retain.
fn of_loaders(retained: Option<Severity>, is_numbered: bool, alike: bool, loaders: usize) -> Severity {
    match retained {
        Some(Severity::Medium) if is_numbered => Severity::High,
        Some(Severity::Low) if is_numbered => Severity::Medium,
        Some(severity) if is_numbered || !alike => severity,
        // Metadata of classes lies outside the heap, so the dump does not have its size.
        None if is_numbered && loaders >= COSTLY => Severity::Medium,
        _ => Severity::Low,
    }
}

/// Returns the live loader: the one that is held differently from all others, or else the one that retains most; and
/// whether all are held by objects of one class.
fn living(worlds: &[World]) -> (usize, bool) {
    let others_differ = |at: usize| {
        let mut others = worlds.iter().enumerate().filter(|&(other, _)| other != at).map(|(_, world)| world.holder);
        let first = others.next();
        others.all(|holder| Some(holder) == first) && first != Some(worlds[at].holder)
    };
    let most = (0..worlds.len()).max_by_key(|&at| (worlds[at].bytes, Reverse(at))).unwrap_or(0);
    let odd = (0..worlds.len()).find(|&at| others_differ(at));
    let alike = worlds.iter().all(|world| world.holder == worlds[0].holder && world.holder.is_some());
    (odd.unwrap_or(most), alike)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_loaders_of_numbered_classes_are_costly_outside_the_heap() {
        let numbered = |retained, loaders| of_loaders(retained, true, true, loaders);
        assert_eq!(numbered(None, COSTLY - 1), Severity::Low);
        assert_eq!(numbered(None, COSTLY), Severity::Medium);
        assert_eq!(numbered(Some(Severity::Medium), MANY_NUMBERED), Severity::High);
        // Plugins that are all held by one registry may all be in use.
        assert_eq!(of_loaders(Some(Severity::High), false, true, COSTLY), Severity::Low);
        assert_eq!(of_loaders(Some(Severity::High), false, false, MANY), Severity::High);
    }

    #[test]
    fn a_loader_that_is_held_otherwise_lives() {
        let world = |bytes, holder| World { bytes, holder, largest: 0 };
        assert_eq!(living(&[world(5, Some(1)), world(9, Some(1)), world(7, Some(2))]), (2, false));
        assert_eq!(living(&[world(5, Some(1)), world(9, Some(1)), world(7, Some(1))]), (1, true));
        assert_eq!(living(&[world(5, Some(1)), world(9, None), world(7, Some(2))]), (1, false));
        assert_eq!(living(&[world(5, None), world(9, None), world(9, None)]), (1, false));
    }

    #[test]
    fn classes_of_another_loader_but_for_a_few() {
        let mut names: Vec<(u32, u64)> = (0..200).map(|name| (1, name)).collect();
        names.extend((1..150).map(|name| (2, name)));
        names.extend((5..10).chain(200..202).map(|name| (3, name)));
        names.extend((100..201).map(|name| (4, name)));
        let names: Vec<Defined> = names.into_iter().map(|(loader, name)| (loader, name, 0)).collect();
        let loader = |node: u32| {
            let first = names.iter().position(|&(of, ..)| of == node).unwrap();
            Loader { node, first, count: names.iter().filter(|&&(of, ..)| of == node).count() }
        };
        let within = |node| is_within(loader(node), loader(1), &names, |class| (class.1, class.2));
        assert_eq!([1, 2, 3, 4].map(within), [true, true, false, true]);
    }
}
