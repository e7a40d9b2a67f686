//! Queries of rules about the heap, and blank findings.

use super::class_roles::{ClassRoles, Kinds, role};
use super::packages::{CodeOf, Packages};
use super::tree::Tree;
use crate::nodes::Nodes;
use heaplake_kit::text::{count, size};
use heaplake_kit::{ColumnMap, Job, StageError, StringTable};
use heaplake_paths::retainer_tree::text::Trees;
use heaplake_schemas::chains::ChainRow;
use heaplake_schemas::findings::{Finding, Scope, Severity};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::owners;
use heaplake_schemas::retainer_trees::ROWS as RETAINER_TREES;
use heaplake_schemas::scratch::{self as columns, CLASS_KEYS, Metadata, STRINGS};
use std::borrow::Cow;
use std::sync::Arc;

/// Maximum characters of a class name in a message.
const MOST_NAME: usize = 80;
/// Maximum number of steps of a chain.
const CHAIN_STEPS: usize = 4096;
/// Number of dominators searched for a holder: an element of a long list has many.
const DEEP: usize = 1 << 16;

/// Number of dominators searched for a closure.
const NEAR: usize = 3;
/// Maximum number of chains to a class.
const CHAINS: usize = 64;

/// The heap, and lookups in it.
pub(super) struct Heap<'a> {
    pub metadata: Arc<Metadata>,
    pub job: Job<'a>,
    /// Bytes of all nodes that the root retains.
    pub bytes: u64,
    pub nodes: Nodes,
    /// Roles of classes in the runtime.
    pub classes: ClassRoles,
    /// Kinds of parts of the runtime or of their holder, and of class objects.
    parts: Kinds,
    class_objects: Kinds,
    names: ColumnMap<StringId>,
    strings: StringTable,
    keys: StringTable,
    /// Chains, if computed.
    chains: Option<ColumnMap<ChainRow>>,
    /// All retainers of big classes, if computed.
    pub trees: Option<Trees>,
    /// Shortest paths, if computed.
    pub tree: Option<Tree>,
    pub functions: Kinds,
    pub texts: Kinds,
    /// Kinds of code, and of arrays of plain data.
    code: Kinds,
    pub data_arrays: Kinds,
    packages: Option<Packages>,
}

impl<'a> Heap<'a> {
    pub(super) fn open(metadata: Arc<Metadata>, job: &Job<'a>) -> Result<Self, StageError> {
        let Job { scratch, context, .. } = *job;
        let nodes = Nodes::open(scratch)?;
        let names = ColumnMap::uncounted(scratch, columns::CLASS_NAME)?;
        let strings = StringTable::open(scratch, STRINGS)?;
        let name = |class: usize| strings.text(names[class].index());
        let classes = ClassRoles::of(names.len(), name, &metadata.roles, &context.budget)?;
        strings.release();
        Ok(Self {
            bytes: nodes.retained.at(metadata.root.index()),
            nodes,
            classes,
            parts: Kinds::of(&metadata.roles.part_kinds, &metadata).with(&metadata.synthetic_kinds),
            class_objects: Kinds::of(&metadata.roles.class_objects, &metadata),
            names,
            strings,
            keys: StringTable::open(scratch, CLASS_KEYS)?,
            chains: ColumnMap::if_any(scratch, columns::CHAIN_ROW)?,
            trees: if scratch.has(RETAINER_TREES) { Some(Trees::open(scratch)?) } else { None },
            tree: Tree::open(scratch)?,
            functions: Kinds::of(&metadata.roles.functions, &metadata),
            texts: Kinds::of(&metadata.roles.texts, &metadata),
            code: Kinds::of(&metadata.roles.code, &metadata),
            data_arrays: Kinds::of(&metadata.roles.data_arrays, &metadata),
            packages: Packages::open(scratch)?,
            metadata,
            job: *job,
        })
    }

    /// Releases the pages read so far.
    pub(super) fn release(&self) {
        self.nodes.release();
        self.tree.iter().for_each(Tree::release);
    }

    pub(super) fn class_name(&self, class: u32) -> Cow<'_, str> {
        self.strings.text(self.names[class as usize].index())
    }

    pub(super) fn class_name_id(&self, class: u32) -> StringId {
        self.names[class as usize]
    }

    /// Text that distinguishes a class from others of its name.
    pub(super) fn class_key(&self, class: u32) -> Cow<'_, str> {
        self.keys.text(class as usize)
    }

    /// Name of a class in a message.
    pub(super) fn shown_class(&self, class: u32) -> String {
        shorten(&self.class_name(class), MOST_NAME)
    }

    /// Whether classes are objects with references from their static fields.
    pub(super) fn has_class_objects(&self) -> bool {
        self.class_objects.any()
    }

    /// Whether nodes of a kind are class objects.
    pub(super) fn is_class_object(&self, kind: u8) -> bool {
        self.class_objects.has(kind)
    }

    /// Whether nodes of a kind and a class are parts of the runtime, or of their holder, rather than objects of the
    /// program.
    pub(super) fn is_part(&self, kind: u8, class: u32) -> bool {
        self.parts.has(kind) || self.classes.has(class, role::PART)
    }

    fn is_internal(&self, node: u32) -> bool {
        self.is_part(self.nodes.kind.at(node as usize), self.nodes.class.at(node as usize).0)
    }

    /// The nearest dominator that is an object of the program, the node itself included.
    pub(super) fn owner(&self, node: u32) -> Option<u32> {
        let mut at = node;
        for _ in 0..CHAIN_STEPS {
            if at == self.metadata.root.0 {
                return None;
            }
            if !self.is_internal(at) {
                return Some(at);
            }
            at = self.nodes.dominator.at(at as usize).0;
        }
        None
    }

    /// Origin of an object's code, by its constructor or class.
    pub(super) fn code_of(&self, node: u32) -> CodeOf {
        let class = self.nodes.class.at(node as usize);
        let origin = self.packages.as_ref().and_then(|packages| packages.origin(node, class));
        match origin {
            None => CodeOf::Unknown,
            Some(origin) if origin.platform != 0 => CodeOf::Platform,
            Some(origin) => match self.strings.text(origin.package as usize) {
                name if name == owners::NODE => CodeOf::Platform,
                name if name == owners::APPLICATION => CodeOf::Application,
                _ => CodeOf::Package,
            },
        }
    }

    /// The package of an object's code, or its script if that is the program's own.
    pub(super) fn module_of(&self, node: u32) -> Option<String> {
        let origin = self.packages.as_ref()?.origin(node, self.nodes.class.at(node as usize))?;
        let package = self.strings.text(origin.package as usize);
        if package != owners::APPLICATION {
            return Some(package.into_owned());
        }
        let script = (origin.script != u32::MAX).then(|| self.strings.text(origin.script as usize))?;
        script.rsplit(['/', '\\']).next().filter(|file| !file.is_empty()).map(str::to_owned)
    }

    /// Whether no known path from the root reaches a node.
    pub(super) fn is_garbage(&self, node: u32) -> bool {
        let tree = self.tree.as_ref().filter(|_| self.metadata.keeps_garbage && node != self.metadata.root.0);
        tree.is_some_and(|tree| tree.parent(node).is_none())
    }

    pub(super) fn is_thread(&self, node: u32) -> bool {
        let threads = &self.metadata.roles.threads;
        !threads.is_empty() && threads.fit(&self.class_name(self.nodes.class.at(node as usize).0))
    }

    /// Whether a node is a register in which the runtime keeps code and native objects.
    pub(super) fn is_register(&self, node: u32) -> bool {
        self.metadata.roles.register_classes.fit(&self.class_name(self.nodes.class.at(node as usize).0))
    }

    /// Whether a static field of a class refers to a node, or to the array that contains it.
    pub(super) fn is_static(&self, node: u32) -> bool {
        let Some(tree) = &self.tree else { return false };
        let above = std::iter::successors(tree.parent(node).get(), |&at| tree.parent(at).get()).take(NEAR);
        let mut objects =
            above.filter(|&at| !self.is_part(self.nodes.kind.at(at as usize), self.nodes.class.at(at as usize).0));
        objects.next().is_some_and(|at| self.is_class_object(self.nodes.kind.at(at as usize)))
    }

    pub(super) fn strings(&self) -> &StringTable {
        &self.strings
    }

    /// Text: `many` objects of a class, with an example.
    pub(super) fn objects(&self, many: u64, class: u32, example: Option<u32>) -> String {
        let name = self.shown_class(class);
        let plural = if many == 1 { "" } else { "s" };
        let plain = name.strip_prefix('(').and_then(|name| name.strip_suffix(')'));
        let own = example.map_or_else(String::new, |node| self.nodes.own_name(NodeId(node), 60));
        if example.is_some_and(|node| self.functions.has(self.nodes.kind.at(node as usize))) {
            let such = if own.is_empty() { String::new() } else { format!(" such as {own}()") };
            return format!("{} function{plural}{such}", count(many));
        }
        let is_telling = !own.trim().is_empty() && !self.metadata.roles.common_classes.fit(&own);
        let such = if is_telling { format!(" such as {own:?}") } else { String::new() };
        if self.classes.has(class, role::ENTRY) {
            return format!("{} entries ({name})", count(many));
        }
        match plain {
            Some(plain) => format!("{} {plain}{plural}{such}", count(many)),
            None => format!("{} {name} object{plural}{such}", count(many)),
        }
    }

    /// Whether a node is the source text of code, which the runtime keeps with the code.
    pub(super) fn is_source(&self, node: u32) -> bool {
        let above = self.nodes.dominator.at(node as usize).0;
        let parent = self.tree.as_ref().map_or(above, |tree| tree.parent(node).get().unwrap_or(above));
        self.is_code(above) || self.is_code(parent)
    }

    pub(super) fn is_code(&self, node: u32) -> bool {
        self.code.has(self.nodes.kind.at(node as usize))
    }

    /// Whether a variable of a closure closely dominates a node.
    pub(super) fn is_variable(&self, node: u32) -> bool {
        let mut at = node;
        for _ in 0..NEAR {
            at = self.nodes.dominator.at(at as usize).0;
            if at == self.metadata.root.0 {
                return false;
            }
            if self.classes.has(self.nodes.class.at(at as usize).0, role::CLOSURE_CONTEXT) {
                return true;
            }
        }
        false
    }

    /// Whether the shortest path to a node ends in a variable of a closure; true without paths.
    pub(super) fn is_reached_by_variable(&self, node: u32) -> bool {
        let above = self.tree.as_ref().map(|tree| tree.parent(node));
        above.is_none_or(|above| {
            !above.is_none() && self.classes.has(self.nodes.class.at(above.index()).0, role::CLOSURE_CONTEXT)
        })
    }

    /// The nearest node above on the path to a node, itself included, that is no part of another.
    pub(super) fn whole(&self, node: u32) -> u32 {
        let is_inner = |&at: &u32| {
            let (kind, class) = (self.nodes.kind.at(at as usize), self.nodes.class.at(at as usize).0);
            self.is_part(kind, class) || self.classes.has(class, role::ENTRY)
        };
        let above = |at: &u32| match &self.tree {
            _ if *at == self.metadata.root.0 => None,
            Some(tree) if !tree.parent(*at).is_none() => Some(tree.parent(*at).0),
            _ => Some(self.nodes.dominator.at(*at as usize).0),
        };
        std::iter::successors(Some(node), above).take(CHAIN_STEPS).find(|at| !is_inner(at)).unwrap_or(node)
    }

    /// The referrer of a node on its path, without parts; the node itself without a referrer.
    pub(super) fn holder(&self, node: u32) -> u32 {
        let parent = self.tree.as_ref().and_then(|tree| tree.parent(node).get());
        parent.map_or(node, |parent| self.whole(parent))
    }

    /// The largest chains to instances of a class: an example of each, and the bytes that its instances retain.
    fn chains_of(&self, class: u32) -> impl Iterator<Item = (u32, u64)> {
        let rows = self.chains.as_ref().map_or(&[][..], |rows| &rows[..]);
        let of_class = rows.iter().filter(move |row| row.kind == 0 && row.class_id == class).take(CHAINS);
        of_class.map(|row| (row.example_node, row.retained_bytes))
    }

    /// An instance of a big class that retains much.
    pub(super) fn example(&self, class: u32) -> Option<u32> {
        self.chains_of(class).next().map(|(example, _)| example)
    }

    /// Whether most of the bytes of a finding are within a node, as far as known.
    pub(super) fn is_mostly_within(&self, finding: &Finding, node: u32) -> bool {
        let Some(class) = finding.class_id.filter(|_| finding.scope == Scope::Class) else { return true };
        let (mut all, mut within) = (0u64, 0u64);
        for (example, bytes) in self.chains_of(class) {
            all = all.saturating_add(bytes);
            within = within.saturating_add(if self.is_within(example, node) { bytes } else { 0 });
        }
        within >= all / 4 * 3
    }

    /// Whether a node is `holder` or is dominated by it.
    pub(super) fn is_within(&self, node: u32, holder: u32) -> bool {
        let up = |&at: &u32| Some(self.nodes.dominator.at(at as usize).0).filter(|_| at != self.metadata.root.0);
        std::iter::successors(Some(node), up).take(DEEP).any(|at| at == holder)
    }

    /// Text: bytes, and their percentage of the heap.
    pub(super) fn share(&self, bytes: u64) -> String {
        let percent = if self.bytes == 0 { 0.0 } else { 100.0 * bytes as f64 / self.bytes as f64 };
        format!("{} ({percent:.1} % of the heap)", size(bytes))
    }
}

/// Objects that a rule found: their number and bytes.
#[derive(Clone, Copy)]
pub(crate) struct Found<'a> {
    pub rule: &'a str,
    pub severity: Severity,
    pub count: u64,
    pub bytes: u64,
}

impl Found<'_> {
    /// A finding about a class; `example` is one of its objects.
    pub(super) fn about_class(self, class: u32, example: Option<u32>, heap: &Heap) -> Finding {
        Finding { class_id: Some(class), node: example, ..self.about(Scope::Class, heap.shown_class(class)) }
    }

    pub(super) fn about_node(self, node: u32, heap: &Heap) -> Finding {
        let class = heap.nodes.class.at(node as usize).0;
        Finding { scope: Scope::Node, ..self.about_class(class, Some(node), heap) }
    }

    /// A finding without optional fields.
    pub(crate) fn about(self, scope: Scope, subject: impl Into<String>) -> Finding {
        Finding {
            rule: self.rule.to_owned(),
            severity: self.severity,
            scope,
            subject: subject.into(),
            count: self.count,
            bytes: self.bytes,
            class_id: None,
            set: None,
            node: None,
            type_id: None,
            function_id: None,
            message: String::new(),
            next_step: String::new(),
            path: Vec::new(),
            holder_node: None,
            owner: None,
            place: None,
            class_key: None,
            stable_path: Vec::new(),
        }
    }
}

/// Shortens a text to at most `most` characters.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}
