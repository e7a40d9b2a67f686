//! Names of classes, and keys that distinguish classes of one name.

use super::layouts::{Position, Types};
use super::origins;
use crate::index::Find;
use crate::names::NameWriter;
use crate::origins::OriginWriter;
use heaplake_kit::{
    ColumnPoints, ColumnWriter, Context, Reservation, Scratch, StageError, StringTable, StringWriter, create_all,
    finish_all,
};
use heaplake_schemas::ids::{ClassId, NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, CLASS_KEYS, STRINGS};
use rustc_hash::FxHashMap;

/// Names of synthetic classes, with ids after those of the dump's classes. Positions of primitive arrays equal their
/// type codes. Each is used only if the dump lacks the class.
const NAMES: [&str; 13] = [
    "(root)",
    "java.lang.ClassLoader",
    "(unknown)",
    "(unknown)[]",
    "boolean[]",
    "char[]",
    "float[]",
    "double[]",
    "byte[]",
    "short[]",
    "int[]",
    "long[]",
    "java.lang.Class",
];

/// Positions in [`NAMES`].
pub(crate) mod synthetic {
    /// The root's class.
    pub(crate) const ROOT: u32 = 0;
    /// The boot loader's class, if the dump lacks `java.lang.ClassLoader`.
    pub(crate) const BOOT_LOADER: u32 = 1;
    /// Instances of a missing class.
    pub(crate) const INSTANCE: u32 = 2;
    /// Arrays of references of a missing class.
    pub(crate) const OBJECT_ARRAY: u32 = 3;
    /// Classes, if the dump lacks `java.lang.Class`.
    pub(crate) const CLASS: u32 = 12;
}

/// Number of synthetic classes.
pub(crate) const MORE: usize = NAMES.len();

/// Class ids of nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ids {
    /// Number of the dump's classes, which come first.
    types: u32,
}

impl Ids {
    /// Returns the ids for a dump with `types` classes.
    pub(crate) fn new(types: usize) -> Self {
        Self { types: types as u32 }
    }

    /// Id of a class of the dump.
    #[inline]
    pub(crate) fn of(class: Position) -> ClassId {
        ClassId(class as u32)
    }

    /// Id of a synthetic class, by its position in [`NAMES`].
    #[must_use]
    pub(crate) fn synthetic(self, position: u32) -> ClassId {
        ClassId(self.types + position)
    }
}

/// Writes names, keys and origins of all classes; returns their number. The classes of nodes are already written.
///
/// A key is the class's name, followed for a class with a loader by the class of the loader, and by the loader's
/// address if several loaders of one class have loaded that name.
pub(crate) fn write(
    types: &Types,
    index: &mut impl Find,
    names: &mut NameWriter,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<u64, StageError> {
    let loaders = Loaders::find(types, index, scratch, context)?;
    let strings = StringTable::open(scratch, STRINGS)?;
    let mut name_of = ColumnWriter::create(scratch, columns::CLASS_NAME)?;
    let mut keys = StringWriter::create(scratch, CLASS_KEYS)?;
    let mut writer = OriginWriter::create(scratch, &context.budget)?;
    let (mut loader_of, mut node_of) = create_all(scratch, (columns::CLASS_LOADER, columns::CLASS_NODE))?;
    for class in types.descriptors.iter() {
        name_of.push(class.name)?;
        node_of.push(class.node)?;
        loader_of.push(loaders.node.get(&class.loader).copied().unwrap_or(NodeId::NONE))?;
        let loader = if class.loader == 0 { None } else { Some(loaders.class[&class.loader]) };
        writer.class(origins::of(class.name, loader, &strings, names)?, Some(class.node))?;
        keys.extend(&strings.text(class.name.index()).into_owned().into_bytes())?;
        if let Some(loader) = loader {
            keys.extend(b" (")?;
            match loader.get() {
                Some(name) => keys.extend(strings.get(name as usize))?,
                None => keys.extend(b"unknown loader")?,
            }
            if loaders.alike[&(class.name, loader)] > 1 {
                keys.extend(format!(" @ {:#x}", class.loader).as_bytes())?;
            }
            keys.extend(b")")?;
        }
        keys.end()?;
    }
    writer.finish(MORE, scratch)?;
    finish_all((loader_of, node_of))?;
    for name in NAMES {
        name_of.push(names.intern(name.as_bytes())?)?;
        keys.push(name.as_bytes())?;
    }
    keys.finish()?;
    name_of.finish()
}

/// Loaders of the dump.
struct Loaders {
    /// Name of the class of each loader, by address.
    class: FxHashMap<u64, StringId>,
    /// Node of each loader.
    node: FxHashMap<u64, NodeId>,
    /// Number of classes per pair of name and loader's class.
    alike: FxHashMap<(StringId, StringId), u32>,
    _reservation: Reservation,
}

impl Loaders {
    fn find(
        types: &Types,
        index: &mut impl Find,
        scratch: &Scratch,
        context: &Context<'_>,
    ) -> Result<Self, StageError> {
        let _reservation = context.budget.reserve("class loaders", 104 * types.descriptors.len() as u64)?;
        let class_of = ColumnPoints::open(scratch, columns::NODE_CLASS)?;
        let (mut class, mut node_of, mut alike) = (FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
        for loaded in types.descriptors.iter().filter(|class| class.loader != 0) {
            let loader = match class.get(&loaded.loader) {
                Some(&name) => name,
                None => {
                    let node = index.find(loaded.loader)?;
                    let its_class = node.and_then(|node| class_of.get(node.index()));
                    let name = its_class.and_then(|id| types.descriptors[..].get(id.index())).map(|class| class.name);
                    let name = name.unwrap_or(StringId::NONE);
                    class.insert(loaded.loader, name);
                    node_of.insert(loaded.loader, node.unwrap_or(NodeId::NONE));
                    name
                }
            };
            *alike.entry((loaded.name, loader)).or_insert(0) += 1;
        }
        Ok(Self { class, node: node_of, alike, _reservation })
    }
}
