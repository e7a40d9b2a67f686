//! The strings of every file, and their positions in the string table.
//!
//! The table starts with the fixed names, then the decimal index names ("0", "1", ... as V8 names the slots of a fixed
//! array), then the texts of the shared string nodes. Strings of the blocks follow in block order.

macro_rules! names {
    ($($id:ident = $text:expr,)*) => {
        $(#[doc = concat!("The string `", $text, "`.")] pub const $id: u64 = place(stringify!($id));)*
        /// The names of the constants in table order.
        const CONSTANTS: &[&str] = &[$(stringify!($id),)*];
        /// The fixed names in table order.
        pub const FIXED: &[&str] = &[$($text,)*];
    };
}

names! {
    DUMMY = "<dummy>",
    EMPTY = "",
    GC_ROOTS = "(GC roots)",
    INTERNALIZED_STRINGS = "(Internalized strings)",
    EXTERNAL_STRINGS = "(External strings)",
    STRONG_ROOTS = "(Strong roots)",
    STACK_ROOTS = "(Stack roots)",
    HANDLE_SCOPE = "(Handle scope)",
    BUILTINS = "(Builtins)",
    GLOBAL_HANDLES = "(Global handles)",
    WEAK_COLLECTIONS = "(Weak collections)",
    DOCUMENT_TREES = "(Document DOM trees)",
    WINDOW = "Window / https://example.test",
    SYSTEM_NATIVE_CONTEXT = "system / NativeContext",
    PRIMORDIALS = "Primordials",
    MAP_DESCRIPTORS = "(map descriptors)",
    SKIPPED_DESCRIPTOR = "SkippedDescriptor",
    SLOPPY_FUNCTION_MAP = "SloppyFunctionMap",
    SYSTEM_MAP = "system / Map",
    SYSTEM_ODDBALL = "system / Oddball",
    SYSTEM_CONTEXT = "system / Context",
    SYSTEM_SCOPE_INFO = "system / ScopeInfo",
    SYSTEM_FEEDBACK_CELL = "system / FeedbackCell",
    SYSTEM_PROPERTY_ARRAY = "system / PropertyArray",
    SYSTEM_ACCESSOR_PAIR = "system / AccessorPair",
    EXTERNAL_STRING_DATA = "system / ExternalStringData",
    SHARED_FUNCTION_INFO = "(shared function info)",
    BUILTIN_HANDLE = "(InterpreterEntryTrampoline builtin handle)",
    OBJECT_ELEMENTS = "(object elements)",
    CONCATENATED = "(concatenated string)",
    SLICED = "(sliced string)",
    HEAP_NUMBER = "heap number",
    SYMBOL = "symbol",
    BIGINT = "bigint",
    PATTERN = "^[a-z]+(\\d*)$",
    DOCUMENT = "#document",
    DIV = "<div class=\"row\">",
    SPAN = "<span>",
    // edges
    PROTO = "__proto__",
    MAP = "map",
    PROTOTYPE = "prototype",
    CONSTRUCTOR = "constructor",
    NATIVE_CONTEXT = "native_context",
    EDGE_SLOPPY = "sloppy_function_map",
    EDGE_PRIMORDIALS = "primordials",
    REGISTRY = "registry",
    DESCRIPTORS = "descriptors",
    SHARED = "shared",
    CONTEXT = "context",
    CODE = "code",
    FEEDBACK_CELL = "feedback_cell",
    SCOPE_INFO = "scope_info",
    PREVIOUS = "previous",
    ELEMENTS = "elements",
    PROPERTIES = "properties",
    TABLE = "table",
    VALUE = "value",
    KEY = "key",
    NEXT = "next",
    PREV = "prev",
    HEAD = "head",
    TAIL = "tail",
    LEFT = "left",
    RIGHT = "right",
    PARENT = "parent",
    TREE_ROOT = "root",
    CURRENT = "current",
    OWNER = "owner",
    FIRST = "first",
    SECOND = "second",
    FIRST_CHILD = "first_child",
    LAST_CHILD = "last_child",
    NEXT_SIBLING = "next_sibling",
    PREVIOUS_SIBLING = "previous_sibling",
    ELEMENT = "element",
    WRAPPER = "wrapper",
    SESSION = "session",
    LABEL = "label",
    NAME = "name",
    PRICE = "price",
    EXPORTS = "exports",
    COUNTER = "counter",
    CACHE = "cache",
    TEXT = "text",
    RESOURCE = "resource",
    ENTRIES = "entries",
    DATA = "data",
    TARGET = "target",
    PEER = "peer",
    PIN = "<symbol kPin>",
    MATCHER = "matcher",
    TOTAL = "total",
    EXCERPT = "excerpt",
    SOURCE = "source",
    USER = "user",
    BACKING_STORE = "backing_store",
    // properties of the plain objects
    ID = "id",
    EMAIL = "email",
    STREET = "street",
    CITY = "city",
    COUNTRY = "country",
    POSTAL_CODE = "postalCode",
    TYPE = "type",
    PAYLOAD = "payload",
    CREATED = "createdAt",
    UPDATED = "updatedAt",
    STATUS = "status",
    X = "x",
    Y = "y",
    WIDTH = "width",
    HEIGHT = "height",
    LONG_1 = "internalConfigurationIdentifier",
    LONG_2 = "lastSynchronisationTimestamp",
    LONG_3 = "preferredNotificationChannel",
    LONG_4 = "escalationContactAddress",
    LONG_5 = "retentionPolicyDescriptor",
    LONG_6 = "auditTrailReference",
    // classes
    C_OBJECT = "Object",
    C_FUNCTION = "Function",
    C_ARRAY = "Array",
    C_MAP = "Map",
    C_WEAK_MAP = "WeakMap",
    C_WEAK_REF = "WeakRef",
    C_REGEXP = "RegExp",
    C_SESSION = "Session",
    C_LINKED_LIST = "LinkedList",
    C_LIST_NODE = "ListNode",
    C_DEQUE = "Deque",
    C_DEQUE_NODE = "DequeNode",
    C_SEARCH_TREE = "SearchTree",
    C_TREE_NODE = "TreeNode",
    C_RING = "Ring",
    C_RING_NODE = "RingNode",
    C_CAROUSEL = "Carousel",
    C_SLIDE = "Slide",
    C_HTML_DIV = "HTMLDivElement",
    C_CACHE_ENTRY = "CacheEntry",
    C_MODULE = "Module",
    C_ORDER_LINE = "OrderLine",
    C_LOG_BUFFER = "LogBuffer",
    C_VIEW_REGISTRY = "ViewRegistry",
    C_VIEW_KEY = "ViewKey",
    C_VIEW_STATE = "ViewState",
    C_SUBJECT = "Subject",
    C_DETAIL = "Detail",
    C_ISLAND = "Island",
    C_WIDGET = "Widget",
    C_DUP_FLAG = "DupFlag",
    C_DUP_LIST = "DupList",
    C_DUP_LIST_NODE = "DupListNode",
    C_DUP_TREE_NODE = "DupTreeNode",
    C_DUP_RING = "DupRing",
    C_DUP_RING_NODE = "DupRingNode",
    C_NEAR_MISS = "NearMiss",
}

/// The position of a constant in [`CONSTANTS`].
const fn place(constant: &str) -> u64 {
    let mut at = 0;
    while !is_same(CONSTANTS[at].as_bytes(), constant.as_bytes()) {
        at += 1;
    }
    at as u64
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// Number of index names; slots past them are written as hidden edges, which carry a number.
pub(crate) const INDEX_NAMES: u64 = 1024;
/// Number of shared string nodes and of their texts.
pub(crate) const COMMON_TEXTS: u64 = 64;
/// Number of texts of captured numbers.
pub(crate) const NUMERALS: u64 = 32;

/// First of the index names.
pub(crate) const FIRST_INDEX: u64 = FIXED.len() as u64;
/// First of the texts of the shared strings.
pub(crate) const FIRST_COMMON: u64 = FIRST_INDEX + INDEX_NAMES;
/// First of the texts of captured numbers.
pub(crate) const FIRST_NUMERAL: u64 = FIRST_COMMON + COMMON_TEXTS;
/// First string of the blocks.
pub(crate) const FIRST_FREE: u64 = FIRST_NUMERAL + NUMERALS;

/// The string index of slot `i`'s name.
#[inline]
pub(crate) fn index(i: u64) -> u64 {
    debug_assert!(i < INDEX_NAMES);
    FIRST_INDEX + i
}

/// Text of a fixed name.
pub(crate) fn text(name: u64) -> &'static str {
    FIXED[name as usize]
}

/// All strings before [`FIRST_FREE`], in order.
pub(crate) fn all() -> impl Iterator<Item = String> {
    let fixed = FIXED.iter().map(|text| (*text).to_owned());
    let indexes = (0..INDEX_NAMES).map(|i| i.to_string());
    // Twelve bytes each, so that all shared strings have the same size.
    let common = (0..COMMON_TEXTS).map(|i| format!("shared-{i:05}"));
    let numerals = (0..NUMERALS).map(|i| format!("{i}.5"));
    fixed.chain(indexes).chain(common).chain(numerals)
}
