//! Retained old objects of a recording, grouped by type and chain.

use heaplake_kit::{Job, Reservation, StageError, StringTable};
use heaplake_schemas::old_objects::OldObjectRow;
use heaplake_schemas::replay::{ABSENT, OLD_OBJECTS, RECORDING_TEXTS};
use std::collections::BTreeMap;

/// No text.
const NONE: u32 = u32::MAX;

/// Separator of the steps of a path.
const STEP: &str = " > ";

/// Bytes of a group besides its chain.
const ENTRY: u64 = 256;

/// Old objects of one type with one chain.
pub(super) struct Group {
    pub type_id: u32,
    /// From the root to the object, without links between objects of one class, so that elements of a linked list have
    /// the same chain.
    pub chain: Vec<String>,
    /// Number of objects.
    pub count: u64,
    /// Their bytes, 0 if unknown.
    pub bytes: u64,
    /// Ages of the youngest and the oldest, seconds.
    pub ages: (f64, f64),
    /// The function that allocated the oldest, if known.
    pub function: Option<String>,
}

/// Old objects of one type that one function of the program allocated.
pub(super) struct Site {
    pub type_id: u32,
    /// The innermost function on the stack outside the platform.
    pub function: String,
    /// Its caller, if known.
    pub caller: Option<String>,
    /// Number of such objects without a chain.
    pub count: u64,
    /// Their bytes, 0 if unknown.
    pub bytes: u64,
    /// Ages of the youngest and the oldest, seconds.
    pub ages: (f64, f64),
}

/// All old objects that something retains.
#[derive(Default)]
pub(super) struct OldObjects {
    /// Objects without a chain, by type and site.
    pub sites: Vec<Site>,
    /// Number of objects without a chain.
    pub without_chain: u64,
    /// Objects with a chain, by type and chain.
    pub groups: Vec<Group>,
    /// Number of objects with a chain.
    pub held: u64,
    /// Age of the oldest object, seconds.
    pub oldest: f64,
    _charge: Option<Reservation>,
}

struct Sums {
    count: u64,
    bytes: u64,
    ages: (f64, f64),
    function: u32,
}

/// Reads the old objects; an empty result without a replayed recording.
pub(super) fn read(job: &Job<'_>) -> Result<OldObjects, StageError> {
    if !job.scratch.has(OLD_OBJECTS) {
        return Ok(OldObjects::default());
    }
    let texts = StringTable::open(job.scratch, RECORDING_TEXTS)?;
    let mut account = job.context.budget.reserve("old objects by what holds them", 0)?;
    let mut groups: BTreeMap<(u32, String), Sums> = BTreeMap::new();
    let mut sites: BTreeMap<(u32, u32), Sums> = BTreeMap::new();
    let (mut held, mut without_chain, mut oldest) = (0, 0, 0.0_f64);
    job.each_row_if_any(OLD_OBJECTS, |row| {
        oldest = oldest.max(row.age_seconds);
        if row.path == NONE {
            without_chain += 1;
            if row.stack != NONE {
                let key = (row.type_id, row.stack);
                if !sites.contains_key(&key) {
                    account.grow(ENTRY)?;
                }
                add(sites.entry(key).or_insert(Sums::NOTHING), &row);
            }
            return Ok(());
        }
        held += 1;
        let key = (row.type_id, without_links(&texts.text(row.path as usize)));
        if !groups.contains_key(&key) {
            // The text, and its steps at the end.
            account.grow(ENTRY + 4 * key.1.len() as u64)?;
        }
        add(groups.entry(key).or_insert(Sums::NOTHING), &row);
        Ok(())
    })?;
    let groups = groups.into_iter().map(|((type_id, chain), sums)| {
        let function = (sums.function != NONE).then(|| texts.text(sums.function as usize).into_owned());
        let chain = chain.split(STEP).map(str::to_owned).collect();
        Group { type_id, chain, count: sums.count, bytes: sums.bytes, ages: sums.ages, function }
    });
    let groups = groups.collect();
    let sites = by_site(sites, &texts);
    Ok(OldObjects { groups, sites, held, without_chain, oldest, _charge: Some(account) })
}

impl Sums {
    const NOTHING: Self = Self { count: 0, bytes: 0, ages: (f64::INFINITY, f64::NEG_INFINITY), function: NONE };
}

/// Merges stacks with the same innermost functions of the program into one site.
fn by_site(stacks: BTreeMap<(u32, u32), Sums>, texts: &StringTable) -> Vec<Site> {
    let mut sites: BTreeMap<(u32, String, Option<String>), Sums> = BTreeMap::new();
    for ((type_id, stack), sums) in stacks {
        let stack = texts.text(stack as usize);
        let Some((function, caller)) = site(&stack) else { continue };
        let known = sites.entry((type_id, function.to_owned(), caller.map(str::to_owned))).or_insert(Sums::NOTHING);
        known.count += sums.count;
        known.bytes = known.bytes.saturating_add(sums.bytes);
        known.ages = (known.ages.0.min(sums.ages.0), known.ages.1.max(sums.ages.1));
    }
    let site = |((type_id, function, caller), sums): ((u32, String, Option<String>), Sums)| Site {
        type_id,
        function,
        caller,
        count: sums.count,
        bytes: sums.bytes,
        ages: sums.ages,
    };
    sites.into_iter().map(site).collect()
}

/// Returns the innermost function outside the platform of a stack, outermost first, and its caller.
fn site(stack: &str) -> Option<(&str, Option<&str>)> {
    const PLATFORM: [&str; 5] = ["java.", "javax.", "jdk.", "sun.", "com.sun."];
    let mut program = stack.rsplit(';').filter(|frame| !PLATFORM.iter().any(|begin| frame.starts_with(begin)));
    program.next().map(|function| (function, program.next()))
}

fn add(sums: &mut Sums, row: &OldObjectRow) {
    sums.count += 1;
    sums.bytes = sums.bytes.saturating_add(if row.bytes == ABSENT { 0 } else { row.bytes });
    // Comparisons with an unknown age are false.
    if row.age_seconds < sums.ages.0 {
        sums.ages.0 = row.age_seconds;
    }
    if row.age_seconds > sums.ages.1 {
        sums.ages.1 = row.age_seconds;
        sums.function = row.function;
    }
}

/// Returns a path without the steps from an object to another one of its class.
fn without_links(path: &str) -> String {
    let steps: Vec<&str> = path.split(STEP).collect();
    let mut kept: Vec<&str> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let next = steps.get(at + 1).map(|next| if at + 2 == steps.len() { next } else { class_of(next) });
        // The root is no object.
        let is_link = at > 0 && step.contains('.') && next == Some(class_of(step));
        if !is_link {
            kept.push(step);
        }
    }
    kept.join(STEP)
}

/// Returns the class with the field of a step.
fn class_of(step: &str) -> &str {
    step.rsplit_once('.').map_or(step, |(class, _)| class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_the_innermost_function_of_the_program() {
        let stack =
            "app.Main.main;java.util.Map.computeIfAbsent;app.Store.login;app.Session.<init>;java.util.Arrays.copyOf";
        assert_eq!(site(stack), Some(("app.Session.<init>", Some("app.Store.login"))));
        assert_eq!(site("app.Main.main"), Some(("app.Main.main", None)));
        assert_eq!(site("java.lang.Thread.run;jdk.internal.A.b"), None);
    }

    #[test]
    fn links_of_lists_are_left_out() {
        let of = |path| without_links(path);
        let short = "Root > App.ALL > java.util.HashMap.table > a.Node[n] > a.Node.value > byte[]";
        assert_eq!(of(short), short);
        let long =
            "Root > App.ALL > java.util.HashMap.table > a.Node[n] > a.Node.next > a.Node.next > a.Node.value > byte[]";
        assert_eq!(of(long), short);
        assert_eq!(of("Root > App.LIST > Link.next > Link.next > Link"), "Root > App.LIST > Link");
        assert_eq!(of("Root > byte[]"), "Root > byte[]");
        assert_eq!(of(""), "");
    }
}
