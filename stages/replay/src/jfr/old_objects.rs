//! Old objects and the chains that hold them.
//!
//! An old object is a constant; its referrer is another one with the field or element and the referring object, which
//! again has a referrer, up to the root. Chains of the virtual machine have at most 200 objects; cyclic or endless ones
//! are cut.

use super::chunk::Failure;
use super::collections::micros;
use super::constants::Constants;
use super::fields::{Plan, Value};
use super::metadata::Types;
use super::names::Names;
use super::recording::{Class, Recording};
use super::strings::{NONE, cut};
use heaplake_schemas::old_object_chains::OldObjectChainRow;
use heaplake_schemas::old_objects::OldObjectRow;
use heaplake_schemas::replay::ABSENT;
use rustc_hash::FxHashSet;

/// Fields of `jdk.OldObjectSample`.
pub(crate) const SAMPLE: [&str; 9] = [
    "allocationTime",
    "objectAge",
    "objectSize",
    "lastKnownHeapUsage",
    "object",
    "arrayElements",
    "root",
    "eventThread",
    "stackTrace",
];

/// Most objects of a chain.
const MOST_STEPS: usize = 1000;

/// Most objects of all chains: this number plus one per byte of the recording.
const FREE_STEPS: u64 = 1 << 16;

/// Longest path, bytes.
const LONGEST: usize = 4 << 10;

/// The modifier bit of static fields.
const STATIC: i64 = 8;

/// The class of class objects.
const CLASS: &str = "java.lang.Class";

/// The runtime's prefix of the name of a class object.
const CLASS_NAME: &str = "Class Name: ";

/// Field selections of the constants of old objects.
pub(crate) struct Chains {
    object: Plan,
    reference: Plan,
    array: Plan,
    field: Plan,
    root: Plan,
}

/// A step of a chain.
struct Step {
    class: Class,
    class_name: String,
    description: Option<String>,
    address: Option<i64>,
    by: By,
    skipped: u32,
    referrer: Value,
}

/// How a step refers to the previous one.
#[derive(Default)]
struct By {
    field: Option<String>,
    is_static: bool,
    element: Option<(i64, i64)>,
}

impl Chains {
    /// Selects the fields, for the classes of a chunk.
    pub(crate) fn new(types: &Types) -> Self {
        let plan = |class: &str, fields: &[&str]| Plan::named(types, class, fields);
        Self {
            object: plan("jdk.types.OldObject", &["address", "type", "description", "referrer"]),
            reference: plan("jdk.types.Reference", &["array", "field", "object", "skip"]),
            array: plan("jdk.types.OldObjectArray", &["size", "index"]),
            field: plan("jdk.types.OldObjectField", &["name", "modifiers"]),
            root: plan("jdk.types.OldObjectGcRoot", &["description", "system", "type"]),
        }
    }

    /// Handles a sample.
    pub(crate) fn sample(
        &self,
        [time, age, size, heap, object, elements, root, thread, stack]: [Value; 9],
        names: &mut Names<'_, '_>,
    ) -> Result<(), Failure> {
        let header = names.constants.chunk.header;
        let (steps, cut) = self.steps(&object, names)?;
        let roots = self.root(&root, &mut names.constants)?;
        let first = steps.first();
        let type_id = match first {
            Some(step) => step.class.type_id,
            None => names.to.class("")?.type_id,
        };
        let path = if steps.len() > 1 || roots.iter().any(Option::is_some) { Some(path(&roots, &steps)) } else { None };
        let (stack, function) = names.shown(&stack)?;
        let thread = names.text(&thread)?;
        let to = &mut *names.to;
        let [root_description, root_system, root_type] = roots;
        let row = OldObjectRow {
            sample: to.samples,
            type_id,
            address: first.and_then(|step| step.address).map_or(ABSENT, |address| address as u64),
            allocated_at_us: micros(&time, &header),
            age_seconds: age.number().map_or(f64::NAN, |ticks| header.span(ticks) as f64 / 1e9),
            bytes: size.amount().unwrap_or(ABSENT),
            array_elements: elements.amount().unwrap_or(ABSENT),
            heap_used_bytes: heap.amount().unwrap_or(ABSENT),
            thread,
            function,
            stack,
            description: to.strings.optional(first.and_then(|step| step.description.as_deref()))?,
            root_system: to.strings.optional(root_system.as_deref())?,
            root_type: to.strings.optional(root_type.as_deref())?,
            root_description: to.strings.optional(root_description.as_deref())?,
            path: to.strings.optional(path.as_deref())?,
            chain_length: steps.len().saturating_sub(1) as u32,
            chain_cut: u32::from(cut),
        };
        to.held(row.path)?;
        write(&steps, to)?;
        to.old_objects.push(to.scratch, row)?;
        to.samples = to.samples.saturating_add(1);
        Ok(())
    }

    /// Returns the object and its chain of referrers; true if the chain is cut.
    fn steps(&self, object: &Value, names: &mut Names<'_, '_>) -> Result<(Vec<Step>, bool), Failure> {
        let (mut steps, mut seen) = (Vec::new(), FxHashSet::default());
        let Some((class, mut key)) = object.constant() else { return Ok((steps, false)) };
        let chunk = names.constants.chunk;
        let most = chunk.base.saturating_add(chunk.size()).saturating_add(FREE_STEPS);
        let (mut by, mut skipped) = (By::default(), 0);
        loop {
            if steps.len() == MOST_STEPS || names.to.steps >= most || !seen.insert(key) {
                names.to.kept.cut_chains += 1;
                return Ok((steps, true));
            }
            let Some(step) = self.step((class, key), (by, skipped), names)? else { return Ok((steps, false)) };
            let reference = step.referrer.constant();
            steps.push(step);
            names.to.steps += 1;
            let Some(reference) = reference else { return Ok((steps, false)) };
            let constants = &mut names.constants;
            let [array, field, holder, skip] = constants.read(&self.reference, reference)?.unwrap_or_default();
            let Some((_, next)) = holder.constant() else { return Ok((steps, false)) };
            by = self.by(&array, &field, constants)?;
            skipped = skip.number().and_then(|skip| u32::try_from(skip).ok()).unwrap_or(0);
            key = next;
        }
    }

    fn step(
        &self,
        object: (u32, i64),
        (by, skipped): (By, u32),
        names: &mut Names<'_, '_>,
    ) -> Result<Option<Step>, Failure> {
        let Some([address, class, description, referrer]) = names.constants.read(&self.object, object)? else {
            return Ok(None);
        };
        let class = names.class(&class)?;
        // Cut, since a chain is in memory while it is followed.
        let class_name = cut(&names.to.replay.types.text(class.type_id)).to_owned();
        let description = names.constants.text(&description)?.filter(|text| !text.is_empty());
        let description = description.map(|text| cut(&text).to_owned());
        Ok(Some(Step { class, class_name, description, address: address.number(), by, skipped, referrer }))
    }

    fn by(&self, array: &Value, field: &Value, constants: &mut Constants<'_>) -> Result<By, Failure> {
        let mut by = By::default();
        if let Some(array) = array.constant() {
            let [size, index] = constants.read(&self.array, array)?.unwrap_or_default();
            by.element = size.number().zip(index.number());
        }
        if let Some(field) = field.constant() {
            let [name, modifiers] = constants.read(&self.field, field)?.unwrap_or_default();
            by.field = constants.text(&name)?.map(|name| cut(&name).to_owned());
            by.is_static = modifiers.number().is_some_and(|bits| bits & STATIC != 0);
        }
        Ok(by)
    }

    /// Returns description, system and kind of a root.
    fn root(&self, root: &Value, constants: &mut Constants<'_>) -> Result<[Option<String>; 3], Failure> {
        let Some(root) = root.constant() else { return Ok([const { None }; 3]) };
        let texts: [Value; 3] = constants.read(&self.root, root)?.unwrap_or_default();
        let mut found = [const { None }; 3];
        for (found, text) in found.iter_mut().zip(&texts) {
            *found = constants.text(text)?.filter(|text| !text.is_empty());
        }
        Ok(found)
    }
}

/// Writes the rows of a chain.
fn write(steps: &[Step], to: &mut Recording<'_>) -> Result<(), Failure> {
    for (step, number) in steps.iter().zip(0..) {
        let (size, index) = step.by.element.unwrap_or((-1, -1));
        let amount = |number: i64| u64::try_from(number).unwrap_or(ABSENT);
        let row = OldObjectChainRow {
            sample: to.samples,
            step: number,
            address: step.address.map_or(ABSENT, |address| address as u64),
            array_index: amount(index),
            array_size: amount(size),
            type_id: step.class.type_id,
            description: to.strings.optional(step.description.as_deref())?,
            field: to.strings.optional(step.by.field.as_deref())?,
            is_static: if step.by.field.is_some() { u32::from(step.by.is_static) } else { NONE },
            skipped: step.skipped,
            padding: 0,
        };
        to.chains.push(to.scratch, row)?;
    }
    Ok(())
}

/// Returns the path from the root to the object, in classes and fields.
fn path(roots: &[Option<String>; 3], steps: &[Step]) -> String {
    let mut path = roots[1].clone().unwrap_or_else(|| "(root)".to_owned());
    for step in steps.iter().rev() {
        if path.len() > LONGEST {
            path += " > ...";
            break;
        }
        path += " > ";
        path += &shown(step);
        if step.skipped > 0 {
            path += " > ...";
        }
    }
    path
}

fn shown(step: &Step) -> String {
    let class = step.class_name.as_str();
    let described = step.description.as_deref().and_then(|text| text.strip_prefix(CLASS_NAME));
    match (&step.by.field, step.by.element) {
        (Some(field), _) if class == CLASS && described.is_some() => format!("{}.{field}", described.unwrap_or(class)),
        (Some(field), _) => format!("{class}.{field}"),
        (None, Some(_)) => format!("{}[n]", class.strip_suffix("[]").unwrap_or(class)),
        (None, None) => class.to_owned(),
    }
}
