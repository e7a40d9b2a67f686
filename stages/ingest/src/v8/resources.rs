//! Stage `resources`: timers, listeners, pending promises, realms and WebAssembly memories of a V8 heap, and containers
//! in variables of closures.
//!
//! * Computes: rows of [`heaplake_schemas::resources`] with the function of each and its source location. Timers and
//!   immediates are those waiting to fire; listeners are functions in `_events` of Node's emitters, in the lists of its
//!   event targets, and those that Blink holds; a promise is pending if it has reactions, and its own waiting function
//!   is skipped if another promise will settle it. The program keeps a realm alive if no handle of the embedder does;
//!   [`super::realm_holders`] finds its holder.
//! * Resident memory: 6.2 bytes per node (offsets, kinds, names) and 9 per edge, 4 more per node if there are such
//!   realms, paged if they do not fit; 4 bits per node; 64 bytes per location, some fixed tables.
//! * Passes over disk: nodes and their edges once; those of functions and their code again; all edges again if there
//!   are such realms.
//! * Worst case: linear.
//! * Fails when: the budget is too small.
//! * Determinism: one thread, order of the nodes.
//! * Reference: Node's `lib/internal/timers.js`, `events.js` and `event_target.js`; V8's `JSPromise` and
//!   `PromiseReaction`.

use super::graph::{Edge, Graph, Places};
use super::labels::Labels;
use super::promises::{PENDING, Waiting};
use super::realm_holders;
use super::snapshot::{DOCUMENT, Snapshot};
use super::variables::Variables;
use heaplake_kit::access::{bits_per_node, column, document, per_edge, per_node, texts};
use heaplake_kit::{ArrayPlan, Bitset, ColumnWriter, Job, Offsets, Stage, StageError, Stats};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::resources::{NONE, RESOURCE_ROW, RESOURCE_TEXTS, ResourceRow, kind};
use heaplake_schemas::scratch::{self as columns, STRING_HASH, STRINGS};

/// Declaration of the stage.
pub const STAGE: Stage = Stage {
    name: "resources",
    when: |setting| setting.findings(),
    reads: &[
        document(DOCUMENT),
        texts(STRINGS),
        column(STRING_HASH),
        column(columns::NODE_KIND),
        column(columns::NODE_NAME),
        column(columns::NODE_EDGE_COUNT),
        column(columns::EDGE_KIND),
        column(columns::EDGE_NAME),
        column(columns::EDGE_TO),
        column(columns::LOCATION_NODE),
        column(columns::LOCATION_LINE),
        column(columns::CONTAINER_ROW),
    ],
    writes: &[column(RESOURCE_ROW), texts(RESOURCE_TEXTS)],
    arrays: &[&[
        Offsets::SIZE,
        per_node::<u8>(),
        per_node::<StringId>(),
        per_edge::<u8>(),
        per_edge::<u32>(),
        per_edge::<NodeId>(),
        per_node::<u32>(),
    ]],
    least: &[bits_per_node(4)],
    shares: true,
    temporary: &[bits_per_node(8)],
    fixed: (8 << 20) + LATER + Variables::BYTES,
    passes: "nodes and edges once, edges of functions again",
    run,
    ..Stage::NEW
};

/// Bytes kept for use after the arrays: locations, stacks, and page frames of one more array.
const LATER: u64 = 4 << 20;
/// Limit of nested wrappers around the program's function.
const WRAPPERS: usize = 4;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let snapshot = &Snapshot::load(scratch)?;
    let nodes = snapshot.metadata.node_count as u32;
    context.progress.begin(STAGE.name, nodes.into());
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let mut finder = Finder::open(snapshot, &mut plan, job)?;
    for node in 0..nodes {
        finder.see(node)?;
        context.step_every(1 << 16, node)?;
    }
    let Finder { mut graph, labels, mut places, mut rows, pending, derived, variables, left, steps, .. } = finder;
    let realms: Vec<u32> = left.iter().map(|&(realm, _)| realm).collect();
    let root = snapshot.header.root as u32;
    let holders = realm_holders::find(&realms, root, &mut graph, &labels, &mut plan, job)?;
    for ((realm, name), holder) in left.into_iter().zip(holders) {
        rows.push(ResourceRow { holder, name, ..ResourceRow::new(kind::LEFT_REALM, realm) })?;
    }
    pending.finish()?;
    let mut waiting = Waiting { graph: &mut graph, labels: &labels, places: &mut places, steps };
    waiting.write(&derived, &mut rows, scratch)?;
    variables.write(&mut graph, &labels, &mut places, &mut rows, context)?;
    places.finish()?;
    let found = rows.finish()?;
    Ok(Stats { rows: found, spilled_bytes: plan.spilled_bytes() })
}

struct Finder {
    graph: Graph,
    labels: Labels,
    places: Places,
    rows: ColumnWriter<ResourceRow>,
    pending: ColumnWriter<NodeId>,
    /// Targets of the embedder and the stack, except weak handles.
    handled: Bitset,
    /// Promises that functions or reactions will settle.
    derived: Bitset,
    variables: Variables,
    /// Realms without a handle, with the names of their globals.
    left: Vec<(u32, u32)>,
    /// Remaining links to follow in lists: damaged files may have cycles.
    steps: u64,
}

/// Targets collected in the pass over an object's edges.
#[derive(Default)]
struct Seen {
    events: Option<u32>,
    target_events: Option<u32>,
    on_timeout: Option<u32>,
    on_immediate: Option<u32>,
    next: Option<u32>,
    repeat: Option<u32>,
    pending: bool,
    global: Option<u32>,
    variables: bool,
}

impl Finder {
    fn open(snapshot: &Snapshot, plan: &mut ArrayPlan<'_>, job: &Job<'_>) -> Result<Self, StageError> {
        let Job { scratch, context, .. } = *job;
        let nodes = snapshot.metadata.node_count;
        let bits = |what| Bitset::new(&context.budget, what, nodes as usize);
        // Mandatory memory comes before the arrays, which take the rest.
        let (handled, derived) = (bits("resources: what handles hold")?, bits("resources: promises of functions")?);
        let variables = Variables::open(nodes as u32, job)?;
        let places = Places::open(scratch, context.budget.reserve("places of functions", 0)?)?;
        let later = context.budget.reserve("resources: what comes after the first pass", LATER)?;
        let graph = Graph::open(snapshot, plan, scratch)?;
        drop(later);
        Ok(Self {
            graph,
            labels: Labels::find(scratch)?,
            places,
            rows: ColumnWriter::create(scratch, RESOURCE_ROW)?,
            pending: ColumnWriter::create(scratch, PENDING)?,
            handled,
            derived,
            variables,
            left: Vec::new(),
            steps: nodes,
        })
    }

    fn see(&mut self, node: u32) -> Result<(), StageError> {
        let kinds = self.graph.kinds;
        let kind = self.graph.kind(node)?;
        if kind == kinds.synthetic {
            return self.see_root(node);
        }
        if !kinds.matter(kind) {
            return Ok(());
        }
        let name = self.graph.name(node)?;
        let labels = &self.labels;
        let settles = name == labels.generator || name == labels.async_generator || name == labels.reaction;
        let mut seen = Seen::default();
        for at in self.graph.range(node)? {
            let edge = self.graph.edge(at)?;
            if edge.kind == kinds.property {
                seen.property(edge, &self.labels);
            } else if edge.kind == kinds.internal {
                seen.pending |= edge.name == self.labels.reactions.0 && self.is_reaction(edge.to)?;
                if edge.name == self.labels.global_proxy.0 {
                    seen.global = Some(edge.to);
                }
            } else if edge.kind == kinds.context {
                seen.variables = true;
            } else if settles && self.graph.kind(edge.to)? == kinds.object {
                self.derived.insert(edge.to as usize);
            }
        }
        self.judge(node, name, &seen)
    }

    fn is_reaction(&mut self, node: u32) -> Result<bool, StageError> {
        Ok(self.graph.text(node)?.starts_with(b"system / PromiseReaction"))
    }

    /// Records the targets of handles.
    fn see_root(&mut self, node: u32) -> Result<(), StageError> {
        if !self.labels.handles.contains(&self.graph.name(node)?) {
            return Ok(());
        }
        for at in self.graph.range(node)? {
            let edge = self.graph.edge(at)?;
            if edge.kind != self.graph.kinds.weak {
                self.handled.insert(edge.to as usize);
            }
        }
        Ok(())
    }

    fn judge(&mut self, node: u32, name: StringId, seen: &Seen) -> Result<(), StageError> {
        if let Some(events) = seen.events {
            self.emitter(node, events)?;
        }
        if let Some(map) = seen.target_events {
            self.target(node, map)?;
        }
        self.timer(node, seen)?;
        if seen.pending {
            self.pending.push(NodeId(node))?;
        }
        if let Some(global) = seen.global {
            let name = self.graph.name(global)?.0;
            if !self.handled.contains(node as usize) && self.left.len() < realm_holders::MOST {
                self.left.push((node, name));
            }
        }
        if seen.variables {
            self.variables.see(node, &mut self.graph)?;
        }
        if name == self.labels.memory {
            self.memory(node)?;
        }
        if name == self.labels.dom_listener { self.dom_listener(node) } else { Ok(()) }
    }

    fn timer(&mut self, node: u32, seen: &Seen) -> Result<(), StageError> {
        let (object, number) = (self.graph.kinds.object, self.graph.kinds.number);
        if let (Some(called), Some(next)) = (seen.on_timeout, seen.next)
            && self.graph.kind(next)? == object
        {
            // Numbers are in the file only if they were captured; `null` means that it fires once.
            let again = match seen.repeat {
                Some(repeat) => self.graph.kind(repeat)? == number,
                None => true,
            };
            self.called(ResourceRow::new(if again { kind::INTERVAL } else { kind::TIMEOUT }, node), called)?;
        }
        seen.on_immediate.map_or(Ok(()), |called| self.called(ResourceRow::new(kind::IMMEDIATE, node), called))
    }

    /// Writes a row about a callable, if `called` is a function.
    fn called(&mut self, row: ResourceRow, called: u32) -> Result<(), StageError> {
        if self.graph.kind(called)? != self.graph.kinds.closure {
            return Ok(());
        }
        let function = self.written(called)?;
        let place = self.places.of(function, &mut self.graph)?;
        self.rows.push(ResourceRow { function, place, ..row })
    }

    /// Returns the program's function behind bound functions and wrappers of the runtime.
    fn written(&mut self, function: u32) -> Result<u32, StageError> {
        let (mut at, kinds) = (function, self.graph.kinds);
        for _ in 0..WRAPPERS {
            let listener = self.graph.target(at, kinds.property, self.labels.listener)?;
            let inner = match listener {
                None => self.graph.inner(at, self.labels.bound_function)?,
                some => some,
            };
            match inner {
                Some(inner) if self.graph.kind(inner)? == kinds.closure => at = inner,
                _ => break,
            }
        }
        Ok(at)
    }

    /// Listeners of an emitter: each event has a function or an array of functions.
    fn emitter(&mut self, node: u32, events: u32) -> Result<(), StageError> {
        let kinds = self.graph.kinds;
        for at in self.graph.range(events)? {
            let Edge { kind, name, to } = self.graph.edge(at)?;
            if kind != kinds.property || name == self.labels.proto.0 {
                continue;
            }
            let listener = |to| ResourceRow { holder: node, name, ..ResourceRow::new(kind::LISTENER, to) };
            if self.graph.kind(to)? == kinds.closure {
                self.called(listener(to), to)?;
            } else if self.graph.name(to)? == self.labels.array {
                for at in self.graph.range(to)? {
                    let edge = self.graph.edge(at)?;
                    if edge.kind == kinds.element {
                        self.called(listener(edge.to), edge.to)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Listeners of an event target: a map from event types to linked lists.
    fn target(&mut self, node: u32, map: u32) -> Result<(), StageError> {
        let Some(table) = self.graph.inner(map, self.labels.table)? else { return Ok(()) };
        let (internal, property) = (self.graph.kinds.internal, self.graph.kinds.property);
        let mut event = NONE;
        for at in self.graph.range(table)? {
            let edge = self.graph.edge(at)?;
            if edge.kind != internal {
                continue;
            }
            if self.graph.kind(edge.to)? != self.graph.kinds.object {
                // A key, which precedes its value.
                event = self.graph.name(edge.to)?.0;
                continue;
            }
            let mut next = self.graph.target(edge.to, property, self.labels.next)?;
            while let Some(listener) = next.filter(|_| self.steps > 0) {
                self.steps -= 1;
                if let Some(called) = self.graph.target(listener, property, self.labels.callback)? {
                    self.called(
                        ResourceRow { holder: node, name: event, ..ResourceRow::new(kind::LISTENER, called) },
                        called,
                    )?;
                }
                next = self.graph.target(listener, property, self.labels.next)?;
            }
        }
        Ok(())
    }

    /// Adds a listener of Blink; the file lacks its target.
    fn dom_listener(&mut self, node: u32) -> Result<(), StageError> {
        for at in self.graph.range(node)? {
            let edge = self.graph.edge(at)?;
            if self.graph.kind(edge.to)? == self.graph.kinds.closure {
                return self.called(ResourceRow::new(kind::LISTENER, edge.to), edge.to);
            }
        }
        Ok(())
    }

    /// Adds a WebAssembly memory, if the node is one: only those have a buffer that is no property.
    fn memory(&mut self, node: u32) -> Result<(), StageError> {
        for at in self.graph.range(node)? {
            let edge = self.graph.edge(at)?;
            if edge.kind == self.graph.kinds.hidden_edge
                && self.labels.buffers.contains(&self.graph.name(edge.to)?)
                && let Some(data) = self.graph.inner(edge.to, self.labels.backing_store)?
            {
                return self.rows.push(ResourceRow { holder: data, ..ResourceRow::new(kind::MEMORY, node) });
            }
        }
        Ok(())
    }
}

impl Seen {
    #[inline]
    fn property(&mut self, edge: Edge, labels: &Labels) {
        let slot = match StringId(edge.name) {
            name if name == labels.events => &mut self.events,
            name if name == labels.target_events => &mut self.target_events,
            name if name == labels.on_timeout => &mut self.on_timeout,
            name if name == labels.on_immediate => &mut self.on_immediate,
            name if name == labels.idle_next => &mut self.next,
            name if name == labels.repeat => &mut self.repeat,
            _ => return,
        };
        *slot = Some(edge.to);
    }
}
