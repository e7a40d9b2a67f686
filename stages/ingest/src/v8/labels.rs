//! Names of nodes and edges that [`super::resources`] recognises.

use super::names;
use heaplake_kit::{Scratch, StageError};
use heaplake_schemas::ids::StringId;

macro_rules! labels {
    ($($field:ident = $text:literal,)*) => {
        /// Ids of the names; `ABSENT` for those that the file lacks.
        pub(super) struct Labels {
            $(pub $field: StringId,)*
            /// Nodes with handles of the embedder or stack frames as strong edges. Handle scopes are excluded: those of
            /// a compiler job briefly hold everything it compiles.
            pub handles: [StringId; 2],
            /// Array buffers.
            pub buffers: [StringId; 2],
        }

        impl Labels {
            /// Looks the names up.
            pub(super) fn find(scratch: &Scratch) -> Result<Self, StageError> {
                let texts = [
                    $($text,)*
                    "(Global handles)", "(Stack roots)", "ArrayBuffer", "SharedArrayBuffer",
                ];
                // A name that the file lacks must not equal the missing name of a node.
                let mut ids = names::find(scratch, texts)?.into_iter().map(|id| if id.is_none() { ABSENT } else { id });
                let mut next = || ids.next().unwrap_or(ABSENT);
                Ok(Self {
                    $($field: next(),)*
                    handles: [next(), next()],
                    buffers: [next(), next()],
                })
            }
        }
    };
}

/// No string has this id.
const ABSENT: StringId = StringId(u32::MAX - 1);

labels! {
    array = "Array",
    generator = "Generator",
    async_generator = "AsyncGenerator",
    reaction = "system / PromiseReaction",
    memory = "Memory",
    dom_listener = "V8EventListener",
    handle_scope = "(Handle scope)",
    strong_roots = "(Strong roots)",
    proto = "__proto__",
    events = "_events",
    target_events = "<symbol kEvents>",
    on_timeout = "_onTimeout",
    on_immediate = "_onImmediate",
    idle_next = "_idleNext",
    repeat = "_repeat",
    next = "next",
    callback = "callback",
    listener = "listener",
    bound_function = "bound_function",
    function = "function",
    context = "context",
    extension = "extension",
    scope_info = "scope_info",
    code_scope = "name_or_scope_info",
    reactions = "reactions_or_result",
    global_proxy = "global_proxy_object",
    global_object = "global_object",
    table = "table",
    backing_store = "backing_store",
}
