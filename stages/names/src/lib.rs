//! How names become what they are in every run. A library without stages.
//!
//! A **signature** is a readable text that says what a row of a table is, the same in every run of a program: without
//! positions in scripts, generated numbers, hashes of contents, addresses, indices. A **fingerprint** is its hash. Rows
//! of two runs with one fingerprint are compared with each other.

use xxhash_rust::xxh3::xxh3_64;

/// The runtime whose names are normalised: each has its own generated names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// V8: Node, Electron, browsers, ArkTS.
    V8,
    /// Java virtual machines.
    Jvm,
    /// .NET.
    DotNet,
}

impl Runtime {
    /// The runtime of a format, as run.json and the facts name it.
    #[must_use]
    pub fn of_format(format: &str) -> Self {
        match format {
            _ if format.contains("hprof") => Self::Jvm,
            _ if format.contains("nettrace") => Self::DotNet,
            _ => Self::V8,
        }
    }
}

/// The rules by which names are normalised.
#[derive(Clone, Debug)]
pub struct Names {
    runtime: Runtime,
}

impl Names {
    /// The rules of a runtime.
    #[must_use]
    pub fn of(runtime: Runtime) -> Self {
        Self { runtime }
    }

    /// Signature of a class. `class_key` is as in the table `classes`; `script` is the URL of the script that it names.
    #[must_use]
    pub fn class(&self, class_key: &str, script: Option<&str>) -> String {
        let _ = script;
        match self.runtime {
            Runtime::V8 => class_key.splitn(4, ',').last().unwrap_or(class_key).to_owned(),
            Runtime::Jvm | Runtime::DotNet => class_key.to_owned(),
        }
    }

    /// Signature of a chain of classes: of each element the label of the edge to it, the signature of its class, and
    /// whether it repeats.
    #[must_use]
    pub fn chain<'a>(&self, kind: &str, path: impl Iterator<Item = (Option<&'a str>, &'a str, bool)>) -> String {
        let steps: Vec<String> = path.map(|(edge, class, _)| format!("{}.{class}", edge.unwrap_or_default())).collect();
        format!("{kind}: {}", steps.join(" → "))
    }

    /// Signature of an owner.
    #[must_use]
    pub fn owner(&self, owner: &str) -> String {
        owner.to_owned()
    }

    /// Signature of a set of duplicates, from the signature of its class, its status and what a member looks like.
    #[must_use]
    pub fn duplicate_set(&self, class: &str, status: &str, preview: Option<&str>) -> String {
        format!("{status} {class} {}", preview.unwrap_or_default())
    }

    /// Signature of a finding, from its rule, the signature of its class (or else its subject) and its `stable_path`.
    #[must_use]
    pub fn finding<'a>(&self, rule: &str, class: &str, stable_path: impl Iterator<Item = &'a str>) -> String {
        let path: Vec<&str> = stable_path.collect();
        format!("{rule} {class} {}", path.join(" → "))
    }

    /// Signature of a type in a trace.
    #[must_use]
    pub fn allocated_type(&self, name: &str) -> String {
        name.to_owned()
    }

    /// Signature of a type's objects that died in a generation.
    #[must_use]
    pub fn lifetime(&self, name: &str, generation: &str) -> String {
        format!("{}, generation {generation}", self.allocated_type(name))
    }

    /// Signature of a function: its name, what tells overloads apart, its module, its file.
    #[must_use]
    pub fn function(
        &self,
        name: &str,
        method_signature: Option<&str>,
        module: Option<&str>,
        file: Option<&str>,
    ) -> String {
        let _ = (module, file);
        format!("{name}{}", method_signature.unwrap_or_default())
    }
}

/// Fingerprint of a signature: its XXH3-64.
#[must_use]
pub fn fingerprint(signature: &str) -> u64 {
    xxh3_64(signature.as_bytes())
}
