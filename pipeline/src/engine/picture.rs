//! The graph of a run as a picture: Mermaid, which code hosts render, or DOT for Graphviz.

use super::graph::Graph;
use std::fmt::Write;

/// Language of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Mermaid.
    Mermaid,
    /// DOT.
    Dot,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 2] = [Self::Mermaid, Self::Dot];

    /// Name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mermaid => "mermaid",
            Self::Dot => "dot",
        }
    }
}

/// Draws the dependencies of all steps, without transitive ones.
pub fn draw(graph: &Graph, language: Language) -> String {
    let mut out = String::new();
    // Writing into a string cannot fail.
    let _ = match language {
        Language::Mermaid => mermaid(graph, &mut out),
        Language::Dot => dot(graph, &mut out),
    };
    out
}

fn mermaid(graph: &Graph, out: &mut String) -> std::fmt::Result {
    writeln!(out, "flowchart LR")?;
    for (position, step) in graph.steps.iter().enumerate() {
        let (open, close) = if step.product.is_part_of_run() { ("[(", ")]") } else { ("[", "]") };
        writeln!(out, "    s{position}{open}\"{}\"{close}", step.name)?;
    }
    for position in 0..graph.steps.len() {
        for before in graph.direct(position) {
            writeln!(out, "    s{before} --> s{position}")?;
        }
    }
    Ok(())
}

fn dot(graph: &Graph, out: &mut String) -> std::fmt::Result {
    writeln!(out, "digraph stages {{\n    rankdir=LR;\n    node [shape=box];")?;
    for (position, step) in graph.steps.iter().enumerate() {
        let shape = if step.product.is_part_of_run() { ", shape=cylinder" } else { "" };
        writeln!(out, "    s{position} [label=\"{}\"{shape}];", step.name)?;
    }
    for position in 0..graph.steps.len() {
        for before in graph.direct(position) {
            writeln!(out, "    s{before} -> s{position};")?;
        }
    }
    writeln!(out, "}}")
}
