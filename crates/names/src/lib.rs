//! Normalisation of names to run-independent signatures. A library without stages.
//!
//! A **signature** is a readable text that identifies a row of a table, equal in every run of a program: without
//! positions in scripts, generated numbers, hashes of contents, addresses, indices. A **fingerprint** is its hash.
//! Comparisons match rows of two runs by fingerprint.
//!
//! The rules are lists, one for each runtime, with an example for each case; [`lists`] exports them to the page
//! `docs/signatures.md`. A name goes through the rules of the user first, then through those of its runtime, then
//! through those of all runtimes, until none of these changes it: normalisation is idempotent.

mod chains;
mod common;
mod dotnet;
mod jvm;
mod paths;
mod rules;
mod runtime;
mod scan;
mod scripts;
pub mod source_maps;
mod steps;
mod tails;
mod user;
mod v8;

pub use rules::{Rule, RuleList};
pub use runtime::Runtime;
pub use user::check as check_pattern;

use chains::Element;
use heaplake_schemas::chains::KINDS;
use heaplake_schemas::names::NameRules;
use std::borrow::Cow;
use user::UserRules;
use xxhash_rust::xxh3::xxh3_64;

/// Rules of a runtime's names, in order.
fn rules_of(runtime: Runtime) -> &'static [&'static [Rule]] {
    match runtime {
        Runtime::V8 => &[v8::RULES, common::RULES],
        Runtime::Jvm => &[jvm::RULES, common::RULES],
        Runtime::DotNet => &[dotnet::RULES, common::RULES],
    }
}

/// All lists of rules.
pub fn lists() -> [RuleList; 6] {
    let list = |title, about, rules| RuleList { title, about, rules };
    [
        list("Names of V8", "Classes, functions, fields and variables.", v8::RULES),
        list(
            "Scripts of V8",
            "The signature of a class whose constructor is in a script is `Name (script)`, without line and column.",
            scripts::RULES,
        ),
        list("Names of Java virtual machines", "Classes, functions and fields.", jvm::RULES),
        list("Names of .NET", "Types and functions.", dotnet::RULES),
        list("Names of all runtimes", "These apply after those of the runtime.", common::RULES),
        list("Edges and steps of paths", "These apply after all others.", steps::LABELS),
    ]
}

/// Replaces an empty name.
const NO_NAME: &str = "(no name)";

/// Finding rules about the whole snapshot: the class that they name is only an example.
const OF_THE_WHOLE: [&str; 3] = ["possible-duplicates", "unreachable", "unrooted-objects"];

/// Rules that normalise names.
#[derive(Clone, Debug)]
pub struct Normaliser {
    runtime: Runtime,
    user: UserRules,
}

impl Normaliser {
    /// Rules of a runtime.
    pub fn of(runtime: Runtime) -> Self {
        Self { runtime, user: UserRules::default() }
    }

    /// Puts user rules first; their patterns must be [valid](check_pattern).
    #[must_use]
    pub fn with_rules(self, rules: &NameRules) -> Self {
        let user = UserRules::of(rules, self.runtime);
        Self { user, ..self }
    }

    /// Signature of a class. `class_key` is as in the table `classes`; `script` is the URL of the script in it.
    pub fn class(&self, class_key: &str, script: Option<&str>) -> String {
        let name = if self.runtime == Runtime::V8 { v8::name_of_key(class_key) } else { class_key };
        let name = self.name(name);
        match script.map(|script| self.script(script)).filter(|script| !script.is_empty()) {
            Some(script) if self.runtime == Runtime::V8 => format!("{name} ({script})"),
            _ => name,
        }
    }

    /// Signature of a chain of classes: its kind, and its [identifying steps](tails). `path` has, for each element, the
    /// label of the edge to it, the signature of its class, and whether it repeats.
    pub fn chain<'a>(&self, kind: &str, path: impl Iterator<Item = (Option<&'a str>, &'a str, bool)>) -> String {
        let elements: Vec<Element<'_>> = path
            .map(|(edge, class, repeats)| Element { label: self.label(edge.unwrap_or_default()), class, repeats })
            .collect();
        let mut steps = chains::steps(self.runtime, &elements);
        chains::without_loader(&mut steps, self.runtime);
        let steps = tails::of(self.runtime, steps, |url| self.script(url));
        let between = if kind == KINDS[1] { " › " } else { " → " };
        let path = steps::join(steps.iter().map(|step| (&*step.name, &*step.out)), between);
        format!("{kind}: {path}")
    }

    /// Signature of an owner.
    pub fn owner(&self, owner: &str) -> String {
        self.name(owner)
    }

    /// Signature of a set of duplicates, from the signature of its class, its status and the preview of a member.
    pub fn duplicate_set(&self, class: &str, status: &str, preview: Option<&str>) -> String {
        match preview {
            Some(preview) => format!("{status} {class} {}", self.built_in(preview)),
            None => format!("{status} {class}"),
        }
    }

    /// Signature of a finding, from its rule, the signature of its class (or else its subject), the [identifying
    /// steps](tails) of its `stable_path`, and its place, whose script distinguishes equal variables of functions.
    pub fn finding<'a>(
        &self,
        rule: &str,
        class: &str,
        stable_path: impl Iterator<Item = &'a str>,
        place: Option<&str>,
    ) -> String {
        let steps = self.path(stable_path);
        let steps = steps.iter().map(|step| paths::split(self.runtime, step)).collect();
        let mut steps = tails::of(self.runtime, steps, |url| self.script(url));
        if let (Some(holder), Some(place)) = (steps.first_mut().filter(|step| paths::is_variable(step)), place) {
            let file = place.rsplit_once(':').map_or(place, |(file, _)| file);
            holder.name = format!("() ({})", self.script(file));
        }
        let path = steps::join(steps.iter().map(|step| (&*step.name, &*step.out)), " → ");
        let class = if OF_THE_WHOLE.contains(&rule) { Cow::Borrowed("") } else { self.built_in(class) };
        let parts = [rule, &class, &path];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// The steps of a `stable_path`, by the rules for steps.
    pub fn path<'a>(&self, stable_path: impl Iterator<Item = &'a str>) -> Vec<String> {
        let raw: Vec<&str> = stable_path.collect();
        paths::steps(self.runtime, &raw, |text| self.step(text))
    }

    /// Signature of a type in a trace.
    pub fn allocated_type(&self, name: &str) -> String {
        self.name(name)
    }

    /// Signature of a type's objects that died in a generation.
    pub fn lifetime(&self, name: &str, generation: &str) -> String {
        format!("{}, generation {generation}", self.allocated_type(name))
    }

    /// Signature of a function: its name, method signature for overloads, module, file.
    pub fn function(
        &self,
        name: &str,
        method_signature: Option<&str>,
        module: Option<&str>,
        file: Option<&str>,
    ) -> String {
        let overload = method_signature.map(|signature| self.built_in(signature)).unwrap_or_default();
        let place = module.or(file).map(|place| self.script(place)).filter(|place| !place.is_empty());
        let name = match overload.is_empty() {
            true => self.name(name),
            false => format!("{} {}", self.name(name), overload.trim()),
        };
        place.map_or_else(|| name.clone(), |place| format!("{name} ({place})"))
    }

    /// Applies all rules to a name.
    fn name(&self, name: &str) -> String {
        let name = if name.is_empty() { NO_NAME } else { name };
        self.built_in(&self.user.apply(name)).into_owned()
    }

    /// Applies the rules of the runtime to a name.
    fn built_in<'a>(&self, name: &'a str) -> Cow<'a, str> {
        rules::apply(rules_of(self.runtime), name)
    }

    /// Release-independent name of a script or module.
    fn script(&self, url: &str) -> String {
        rules::apply(&[scripts::RULES], &self.user.apply(url)).into_owned()
    }

    /// Normalises the label of an edge.
    fn label(&self, label: &str) -> String {
        if label.is_empty() || label == "[]" {
            return label.to_owned();
        }
        rules::apply_to_any(&[steps::LABELS], &self.name(label)).into_owned()
    }

    /// Normalises a step of a path.
    fn step(&self, step: &str) -> String {
        rules::apply_to_any(&[steps::LABELS], &self.name(step)).into_owned()
    }
}

/// Fingerprint of a signature: its XXH3-64.
pub fn fingerprint(signature: &str) -> u64 {
    xxh3_64(signature.as_bytes())
}
