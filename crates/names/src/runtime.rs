//! Runtimes with their own generated names.

/// Runtime of a program; each has its own generated names.
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
    /// All runtimes.
    pub const ALL: [Self; 3] = [Self::V8, Self::Jvm, Self::DotNet];

    /// Runtime of a format, as run.json and the metadata name it.
    pub fn of_format(format: &str) -> Self {
        match format {
            _ if format.contains("hprof") || ["jfr", "java-events"].contains(&format) => Self::Jvm,
            _ if format.contains("nettrace") || format.contains("gcdump") => Self::DotNet,
            _ => Self::V8,
        }
    }

    /// Name in rules of the user.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::V8 => "v8",
            Self::Jvm => "jvm",
            Self::DotNet => "dotnet",
        }
    }
}
