//! Types of a .NET heap and the names of their classes.
//!
//! A type is identified by the address of its description, which differs between processes. A class key is the name of
//! the type; if several types have one name, module and token of the type follow, which are stable as long as the
//! module does not change.

use crate::names::NameWriter;
use crate::origins::{NONE, OriginWriter};
use heaplake_input::nettrace::payload::Type;
use heaplake_kit::memory_account::MemoryAccount;
use heaplake_kit::{Budget, BudgetVec, ColumnWriter, Scratch, StageError, StringWriter, finish_all};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::owners::Origin;
use heaplake_schemas::scratch::{self as columns, CLASS_KEYS, Column};
use heaplake_symbols::{Build, Library, Module};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Kind of the nodes of each type, a position in [`NODE_KINDS`].
pub(crate) const KIND: Column<u8> = Column::new("dotnet.type_kind");

/// Kinds of nodes in the table of nodes.
pub(crate) const NODE_KINDS: [&str; 4] = ["root", "object", "array", "string"];

/// Positions in [`NODE_KINDS`].
pub(crate) mod node_kind {
    /// The synthetic root.
    pub(crate) const ROOT: u8 = 0;
    /// An instance of a class.
    pub(crate) const OBJECT: u8 = 1;
    /// An array.
    pub(crate) const ARRAY: u8 = 2;
    /// A string.
    pub(crate) const STRING: u8 = 3;
}

/// The class of the root, after those of all types.
pub(crate) const ROOT_CLASS: &[u8] = b"(root)";

/// Module of types without a known one.
const UNKNOWN: &str = "?";

/// Modules of the platform.
const PLATFORM: [&str; 4] = ["System", "mscorlib", "netstandard", "WindowsBase"];
/// Prefixes of other platform modules.
const PLATFORM_FAMILIES: [&str; 2] = ["System.", "Microsoft."];

/// Bytes per entry of the hash tables, free slots included.
const ENTRY: u64 = 64;

/// Limit of nested arrays named by their element types.
const DEEPEST: usize = 32;

/// Bytes of a name after which generic arguments are omitted.
const LONGEST: usize = 1000;

/// The file of a module.
struct File {
    name: String,
    build: Option<Build>,
}

impl File {
    /// Returns the name of the module: that of the file without extension.
    fn module(&self) -> &str {
        let name = self.name.as_str();
        name.strip_suffix(".dll").or_else(|| name.strip_suffix(".exe")).unwrap_or(name)
    }
}

struct Known {
    id: u64,
    definition: Option<Type>,
    /// Kind of its nodes, if the definition does not determine it.
    kind: Option<u8>,
}

/// The types, in order of first occurrence.
pub(crate) struct Types {
    by_id: FxHashMap<u64, u32>,
    types: BudgetVec<Known>,
    /// Modules, by address.
    modules: FxHashMap<u64, File>,
    /// Names of types from assemblies, by module and token.
    found: FxHashMap<(u64, u32), String>,
    account: MemoryAccount,
}

impl Types {
    /// Starts empty.
    pub(crate) fn new(budget: &Budget) -> Result<Self, StageError> {
        Ok(Self {
            by_id: FxHashMap::default(),
            types: budget.growing("the types of the heap"),
            modules: FxHashMap::default(),
            found: FxHashMap::default(),
            account: MemoryAccount::new(budget, "the types of the heap")?,
        })
    }

    /// Number of types.
    pub(crate) fn count(&self) -> u32 {
        self.types.len() as u32
    }

    /// Returns the position of the type with an id, which may be undefined yet.
    #[inline]
    pub(crate) fn position(&mut self, id: u64) -> Result<u32, StageError> {
        match self.by_id.get(&id) {
            Some(&position) => Ok(position),
            None => self.add(id),
        }
    }

    #[cold]
    fn add(&mut self, id: u64) -> Result<u32, StageError> {
        self.account.add(ENTRY)?;
        // One class is the root's.
        let position = u32::try_from(self.types.len()).ok().filter(|&position| position < u32::MAX - 1);
        let position = position.ok_or(StageError::Overflow("the number of types"))?;
        self.types.push(Known { id, definition: None, kind: None })?;
        self.by_id.insert(id, position);
        Ok(position)
    }

    /// Defines a type. Addresses are reused after a module is unloaded, so the last definition counts.
    pub(crate) fn define(&mut self, definition: Type) -> Result<(), StageError> {
        let position = self.position(definition.id)? as usize;
        let old = &mut self.types[position].definition;
        let bytes = |definition: &Type| (definition.name.len() + 8 * definition.parameters.len()) as u64;
        self.account.add(bytes(&definition))?;
        if let Some(old) = old {
            self.account.sub(bytes(old));
        }
        *old = Some(definition);
        Ok(())
    }

    /// Defines a type and the kind of its nodes.
    pub(crate) fn declare(&mut self, definition: Type, kind: u8) -> Result<(), StageError> {
        let position = self.position(definition.id)? as usize;
        self.types[position].kind = Some(kind);
        self.define(definition)
    }

    /// Records the file of a module, and its build if known; the file's name without folder and extension is the
    /// module's name.
    pub(crate) fn module(&mut self, id: u64, path: &str, build: Option<Build>) -> Result<(), StageError> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
        let bytes = ENTRY + name.len() as u64;
        if self.modules.insert(id, File { name, build }).is_none() {
            self.account.add(bytes)?;
        }
        Ok(())
    }

    /// Looks up names missing from the input in assemblies.
    pub(crate) fn resolve(&mut self, library: &mut Library<'_>) -> Result<(), StageError> {
        let mut unnamed: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
        let definitions = self.types.iter().filter_map(|of| of.definition.as_ref());
        for of in definitions.filter(|of| of.name.is_empty() && !self.is_array_of_known(of)) {
            unnamed.entry(of.module).or_default().insert(of.token);
        }
        let count: usize = unnamed.values().map(BTreeSet::len).sum();
        for (id, tokens) in unnamed {
            let Some(file) = self.modules.get(&id) else { continue };
            let tokens: Vec<u32> = tokens.into_iter().collect();
            let names = library.types(&Module { name: &file.name, build: file.build }, &tokens)?;
            for (token, name) in tokens.into_iter().zip(names) {
                let Some(name) = name else { continue };
                self.account.add(ENTRY + name.len() as u64)?;
                self.found.insert((id, token), name);
            }
        }
        if self.found.len() < count {
            let missing = count - self.found.len();
            library.remark(format!("{missing} of {count} types have no names: give their assemblies with --symbols"));
        }
        Ok(())
    }

    fn is_array_of_known(&self, of: &Type) -> bool {
        of.is_array() && of.parameters.first().is_some_and(|&id| self.definition(id).is_some())
    }

    fn definition(&self, id: u64) -> Option<&Type> {
        self.by_id.get(&id).and_then(|&position| self.types[position as usize].definition.as_ref())
    }

    fn module_name(&self, module: u64) -> &str {
        self.modules.get(&module).map_or(UNKNOWN, File::module)
    }

    /// Returns the display name of a type.
    fn name(&self, of: &Known) -> String {
        let Some(mut definition) = of.definition.as_ref() else { return "(unknown type)".to_owned() };
        let mut dimensions = 0;
        // Arrays without a name are named by their elements.
        while definition.name.is_empty() && definition.is_array() && dimensions < DEEPEST {
            let element = definition.parameters.first().and_then(|&id| self.definition(id));
            let Some(element) = element else { break };
            dimensions += 1;
            definition = element;
        }
        let mut name = String::new();
        self.spell(definition, 0, &mut name);
        (0..dimensions).for_each(|_| name.push_str("[]"));
        name
    }

    /// Appends the name of a type with its generic arguments. A type without a name in any file is `[MODULE!TOKEN]`.
    fn spell(&self, of: &Type, depth: usize, name: &mut String) {
        if !of.name.is_empty() {
            name.push_str(&of.display());
            return;
        }
        let Some(found) = self.found.get(&(of.module, of.token)) else {
            let file = self.modules.get(&of.module).map_or(UNKNOWN, |file| &file.name);
            *name += &format!("[{file}!{:#010x}]", of.token);
            return;
        };
        name.push_str(found);
        if of.parameters.is_empty() || depth == DEEPEST {
            return;
        }
        for (number, &argument) in of.parameters.iter().enumerate() {
            name.push(if number == 0 { '[' } else { ',' });
            if name.len() > LONGEST {
                name.push('…');
                break;
            }
            match self.definition(argument) {
                Some(argument) => self.spell(argument, depth + 1, name),
                None => name.push('?'),
            }
        }
        name.push(']');
    }

    /// Writes names, keys and kinds of the classes: one per type, in order, then the root's. Returns the number of
    /// types of which only the id is known.
    pub(crate) fn write(&self, names: &mut NameWriter, scratch: &Scratch, budget: &Budget) -> Result<u64, StageError> {
        let mut name_ids = budget.growing("names of classes");
        for of in self.types.iter() {
            name_ids.push(names.intern(self.name(of).as_bytes())?)?;
        }
        let _tables = budget.reserve("names of classes", self.types.len() as u64 * 3 * ENTRY)?;
        // Number of types per name, per name and module, and per name, module and token.
        let (mut named, mut placed, mut numbered) = (FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
        for (of, &name) in self.types.iter().zip(name_ids.iter()) {
            let (module, token) = place(of);
            *named.entry(name).or_insert(0u32) += 1;
            *placed.entry((name, self.module_name(module))).or_insert(0u32) += 1;
            *numbered.entry((name, self.module_name(module), token)).or_insert(0u32) += 1;
        }
        let mut class_names: ColumnWriter<StringId> = ColumnWriter::create(scratch, columns::CLASS_NAME)?;
        let mut keys = StringWriter::create(scratch, CLASS_KEYS)?;
        let mut kinds = ColumnWriter::create(scratch, KIND)?;
        let mut unknown = 0;
        let mut origins = OriginWriter::create(scratch, budget)?;
        for (of, &name) in self.types.iter().zip(name_ids.iter()) {
            class_names.push(name)?;
            keys.extend(self.name(of).as_bytes())?;
            let (module, token) = place(of);
            let module = self.module_name(module);
            if named[&name] > 1 {
                let suffix = if placed[&(name, module)] > 1 { format!(" {token:#x}") } else { String::new() };
                keys.extend(format!(" ({module}{suffix})").as_bytes())?;
            }
            if numbered[&(name, module, token)] > 1 {
                keys.extend(format!(" @ {:#x}", of.id).as_bytes())?;
            }
            keys.end()?;
            origins.class(origin(module, names)?, None)?;
            unknown += u64::from(of.definition.is_none());
            kinds.push(match (of.kind, &of.definition) {
                (Some(kind), _) => kind,
                (None, Some(definition)) if definition.is_string() => node_kind::STRING,
                (None, Some(definition)) if definition.is_array() => node_kind::ARRAY,
                _ => node_kind::OBJECT,
            })?;
        }
        class_names.push(names.intern(ROOT_CLASS)?)?;
        keys.push(ROOT_CLASS)?;
        // The root's class has none.
        origins.finish(1, scratch)?;
        finish_all((class_names, keys, kinds))?;
        Ok(unknown)
    }
}

/// Returns the origin of a class of a module.
fn origin(module: &str, names: &mut NameWriter) -> Result<Option<Origin>, StageError> {
    if module == UNKNOWN || module.is_empty() {
        return Ok(None);
    }
    let package = names.intern(module.as_bytes())?.0;
    let platform = PLATFORM.contains(&module) || PLATFORM_FAMILIES.iter().any(|start| module.starts_with(start));
    Ok(Some(Origin { script: NONE, package, loader: NONE, platform: platform.into() }))
}

/// Returns module and token of a type.
fn place(of: &Known) -> (u64, u32) {
    of.definition.as_ref().map_or((0, 0), |definition| (definition.module, definition.token))
}
