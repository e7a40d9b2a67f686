//! A call of a tool: its arguments, and the run that they name.

use super::failing::OrFail;
use super::root::{Root, name};
use heaplake_kit::overhead::FIXED_OVERHEAD;
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context};
use heaplake_lake::nearest::nearest;
use heaplake_lake::selection::FoundRun;
use heaplake_mcp::answer::Page;
use heaplake_mcp::arguments::Arguments;
use heaplake_mcp::failure::Failure;
use heaplake_mcp::next::Next;
use heaplake_query::classes::{self, ClassRow};
use heaplake_query::{Asked, Subject};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};

/// Memory and threads of comparisons and statements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resources {
    /// Bytes.
    pub memory: u64,
    /// Threads.
    pub threads: usize,
}

/// Most rows of those lists of an answer that have no pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Fields of an object.
    pub fields: usize,
    /// References of each direction.
    pub references: usize,
    /// Steps of a path, half at each end.
    pub steps: usize,
    /// Branches of holders of a class.
    pub holders: usize,
    /// Chains of a class.
    pub chains: usize,
    /// Whether findings have the steps of their paths as a list too.
    pub lists_steps: bool,
}

impl Limits {
    /// For agents, to whom each token costs.
    pub(crate) const AGENTS: Self =
        Self { fields: 24, references: 8, steps: 12, holders: 8, chains: 3, lists_steps: false };
    /// For a page.
    pub(crate) const PAGES: Self =
        Self { fields: 60, references: 40, steps: 60, holders: 60, chains: 30, lists_steps: true };
}

/// A call.
pub(crate) struct Ask<'a> {
    /// The lake or run that the server answers for.
    pub root: &'a Root,
    /// Resources of comparisons and statements.
    pub resources: Resources,
    /// Of lists without pages.
    pub limits: Limits,
    /// Arguments.
    pub arguments: &'a Arguments,
    /// Set if the answer is no longer wanted.
    pub cancel: &'a AtomicBool,
}

/// The run of a call.
pub(crate) struct OfRun {
    /// Its name.
    pub name: String,
    /// Changes when it is replaced.
    pub version: String,
    /// The run, open.
    pub asked: Asked,
}

impl Ask<'_> {
    /// The run that the call names, or the only one; `None` if it names none of several.
    pub(crate) fn run(&self) -> Result<Option<OfRun>, Failure> {
        let runs = self.root.runs()?;
        match self.arguments.text("run")? {
            Some(wanted) => Self::opened(runs.named(&wanted)?).map(Some),
            None => runs.only().map(Self::opened).transpose(),
        }
    }

    /// As [`Self::run`]; a run must be named if there are several.
    pub(crate) fn need_run(&self) -> Result<OfRun, Failure> {
        match self.run()? {
            Some(run) => Ok(run),
            None => Err(self.root.runs()?.unnamed()),
        }
    }

    fn opened(found: &FoundRun) -> Result<OfRun, Failure> {
        let asked = Asked::with_any_tables(&found.place).or_fail()?;
        Ok(OfRun { name: name(found), version: found.run.identity.to_string(), asked })
    }

    /// Objects of the run that the call names; 0 if it names none.
    pub(crate) fn objects(&self) -> Result<u64, Failure> {
        let runs = self.root.runs()?;
        let run = match self.arguments.text("run")? {
            Some(wanted) => Some(runs.named(&wanted)?),
            None => runs.only(),
        };
        Ok(run.map_or(0, |found| found.run.objects))
    }

    /// Whether the answer is no longer wanted.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// The page of the call.
    pub(crate) fn page(&self, tool: &str, run: &OfRun) -> Result<Page, Failure> {
        Page::of(tool, self.arguments, &run.version)
    }

    /// The object that the call names: a number, or `@` and an id; `None` if it names none.
    pub(crate) fn subject(&self) -> Result<Option<Subject>, Failure> {
        let Some(text) = self.arguments.text("node")? else { return Ok(None) };
        let subject = text.trim().parse();
        subject.map(Some).map_err(|problem: String| {
            Failure::new(problem, "take node from another answer; top lists the largest objects").then(vec![Next::new(
                "top",
                json!({"run": self.run_argument()}),
                "it lists objects with their node",
            )])
        })
    }

    /// The argument `run` as it was given.
    pub(crate) fn run_argument(&self) -> Option<String> {
        self.arguments.text("run").ok().flatten()
    }

    /// Context of comparisons.
    pub(crate) fn context(&self) -> Context<'_> {
        let budget = Budget::new(self.resources.memory.saturating_sub(FIXED_OVERHEAD));
        Context { budget, threads: self.resources.threads, progress: &Silent, cancel: self.cancel }
    }
}

impl OfRun {
    /// The class that a text names: its number or name.
    pub(crate) fn class(&self, wanted: &str) -> Result<ClassRow, Failure> {
        let rows = classes::all(&self.asked).or_fail()?;
        classes::find(&rows, wanted).map_err(|near| {
            let near = if near.is_empty() { nearest(wanted, rows.iter().map(|row| row.class.clone())) } else { near };
            let next = Next::new("top", json!({"run": self.name, "what": "classes"}), "it lists the classes");
            Failure::new(format!("the run has no class {wanted:?}"), "take class_id from top")
                .near(near)
                .then(vec![next])
        })
    }

    /// Words for the run in an answer.
    pub(crate) fn of(&self) -> String {
        format!("run {}", self.name)
    }
}
