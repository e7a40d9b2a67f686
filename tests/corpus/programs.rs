//! The programs of the corpus, and the truth about each.

/// The truth about a program.
#[derive(Clone, Copy)]
pub(crate) enum Truth {
    /// It leaks, and this text is in the subject, message, path or location of the first finding.
    Culprit(&'static str),
    /// It leaks, and the rules do not find this yet. Once they do, it is a culprit.
    Missed(&'static str),
    /// It keeps only what it needs.
    Healthy,
}

/// A program that takes a mode and a path, works for some seconds, writes its snapshot there, and ends.
pub(crate) struct Program {
    /// Its file in `tests/programs`.
    pub file: &'static str,
    /// Its arguments before the path.
    pub mode: &'static str,
    /// Its packages; `corpus/package.json` has their versions.
    pub packages: &'static [&'static str],
    /// The first version of Node.js that can run it.
    pub since: u32,
    pub truth: Truth,
}

use Truth::{Culprit, Healthy, Missed};

const fn plain(file: &'static str, mode: &'static str, truth: Truth) -> Program {
    Program { file, mode, packages: &[], since: 20, truth }
}

const fn with(packages: &'static [&'static str], file: &'static str, mode: &'static str, truth: Truth) -> Program {
    Program { file, mode, packages, since: 20, truth }
}

/// Node.js alone; run every time.
pub(crate) const PLAIN: [Program; 13] = [
    plain("leaks.js", "leaking", Culprit("SessionCache.sessions")),
    plain("leaks.js", "healthy", Healthy),
    plain("resources.js", "promises", Culprit("waitForTurn (corpus/resources.js:51)")),
    plain("resources.js", "healthy", Healthy),
    plain("compiler.js", "", Healthy),
    plain("corpus/jest_contexts.cjs", "leaking", Culprit("closeSync")),
    plain("corpus/jest_contexts.cjs", "healthy", Healthy),
    plain("corpus/request_listeners.cjs", "leaking", Culprit("Settings")),
    plain("corpus/request_listeners.cjs", "healthy", Healthy),
    plain("corpus/rpc_pending.cjs", "leaking", Culprit("RpcClient.inFlight")),
    plain("corpus/rpc_pending.cjs", "healthy", Healthy),
    plain("corpus/job_deadlines.cjs", "leaking", Culprit("job_deadlines.cjs:16")),
    plain("corpus/job_deadlines.cjs", "healthy", Healthy),
];

/// Node.js alone, too.
pub(crate) const MORE: [Program; 8] = [
    plain("resources.js", "timers", Culprit("resources.js:27")),
    plain("resources.js", "listeners", Culprit("onOrder (corpus/resources.js:35)")),
    plain("resources.js", "targets", Culprit("onAbort (corpus/resources.js:43)")),
    plain("resources.js", "thens", Culprit("whenOpen (corpus/resources.js:59)")),
    plain("resources.js", "memo", Culprit("variable cache of memoize")),
    plain("resources.js", "wasm", Culprit("6 memories of WebAssembly")),
    // A list with elements that retain each other through closures: the finding names the first closure, not the
    // variable.
    plain("corpus/shared_context.cjs", "leaking", Missed("previous")),
    plain("corpus/shared_context.cjs", "healthy", Healthy),
];

const EXPRESS: &[&str] = &["express", "express-session"];
const GRAPHQL: &[&str] = &["dataloader", "graphql"];
const ESLINT: &[&str] = &["eslint", "@eslint/js", "lodash"];

/// With packages of npm.
pub(crate) const PACKAGES: [Program; 16] = [
    with(EXPRESS, "corpus/express_sessions.cjs", "leaking", Culprit("MemoryStore.sessions")),
    with(EXPRESS, "corpus/express_sessions.cjs", "healthy", Healthy),
    with(&["prom-client"], "corpus/prom_labels.cjs", "leaking", Culprit("Histogram.hashMap")),
    with(&["prom-client"], "corpus/prom_labels.cjs", "healthy", Healthy),
    with(&["fastify"], "corpus/fastify_cache.cjs", "leaking", Culprit("ResponseCache.answers")),
    with(&["fastify"], "corpus/fastify_cache.cjs", "healthy", Healthy),
    with(&["lodash"], "corpus/lodash_memoize.cjs", "leaking", Culprit("Object.renderPage")),
    with(&["lodash"], "corpus/lodash_memoize.cjs", "healthy", Healthy),
    with(GRAPHQL, "corpus/dataloader_global.cjs", "leaking", Culprit("sharedLoader")),
    with(GRAPHQL, "corpus/dataloader_global.cjs", "healthy", Healthy),
    with(&["rxjs"], "corpus/rxjs_subscriptions.cjs", "leaking", Culprit("PriceFeed.prices")),
    with(&["rxjs"], "corpus/rxjs_subscriptions.cjs", "healthy", Healthy),
    with(ESLINT, "corpus/eslint.cjs", "healthy", Healthy),
    with(&["@rollup/wasm-node", "rxjs"], "corpus/rollup.cjs", "healthy", Healthy),
    with(&["webpack", "lodash", "rxjs"], "corpus/webpack.cjs", "healthy", Healthy),
    // V8 of Node 20 takes minutes to write the snapshot: its time is quadratic in the variables of a function.
    Program { file: "corpus/typescript.cjs", mode: "healthy", packages: &["typescript"], since: 22, truth: Healthy },
];

pub(crate) const JAVA: [Program; 5] = [
    plain("Service.java", "leaking", Culprit("Service$SessionCache.SESSIONS")),
    plain("Service.java", "healthy", Healthy),
    plain("Reloads.java", "leaking", Culprit("Reloads$Drivers.REGISTERED")),
    plain("Reloads.java", "healthy", Healthy),
    plain("Garbage.java", "", Culprit("garbage that was not collected yet")),
];
