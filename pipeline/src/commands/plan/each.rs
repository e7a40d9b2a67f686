//! Forecasts of several inputs, a line of JSON each, for a scheduler.

use super::arguments::Arguments;
use super::outlook::forecast;
use crate::diagnostic::{Diagnostic, Done, Kind};
use crate::inputs::{self, Wanted};
use crate::print;
use heaplake_input::source::Input;
use schemars::JsonSchema;
use serde::Serialize;
use std::fs;

/// Forecast of one input, or its failure. Sizes are bytes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Line {
    Planned {
        input: String,
        /// Stored size, compressed or not; `None` for standard input.
        bytes: Option<u64>,
        nodes: u64,
        edges: u64,
        estimated: bool,
        least_memory: u64,
        resident_memory: u64,
        scratch: u64,
    },
    Failed {
        input: String,
        kind: Kind,
        error: String,
        advice: String,
        exit_code: u8,
    },
}

/// Prints a line for each input, in the order of `analyze`. The line of an input reports its failure.
pub(super) fn run(arguments: &Arguments) -> Done {
    for input in inputs::resolve(&arguments.inputs, Wanted::Snapshots) {
        let line = match input {
            Ok(input) => planned(&input, arguments).unwrap_or_else(|diagnostic| Line::failed(input.name(), diagnostic)),
            Err((name, why)) => {
                let diagnostic =
                    Diagnostic::failed(format!("{name}: {why}"), "name a file, or a folder that holds some");
                Line::failed(name, diagnostic)
            }
        };
        print::json_line(&line)?;
    }
    Ok(0)
}

fn planned(input: &Input, arguments: &Arguments) -> Result<Line, Diagnostic> {
    let forecast = forecast(input, arguments)?;
    let bytes = match input {
        Input::File(path) => fs::metadata(path).ok().map(|file| file.len()),
        Input::Stdin => None,
    };
    Ok(Line::Planned {
        input: input.name(),
        bytes,
        nodes: forecast.nodes,
        edges: forecast.edges,
        estimated: forecast.estimated,
        least_memory: forecast.least_memory,
        resident_memory: forecast.resident_memory,
        scratch: forecast.scratch,
    })
}

impl Line {
    fn failed(input: String, diagnostic: Diagnostic) -> Self {
        let diagnostic = diagnostic.about(&input);
        let (kind, exit_code) = (diagnostic.kind(), diagnostic.exit as u8);
        Self::Failed { input, kind, error: diagnostic.cause, advice: diagnostic.advice, exit_code }
    }
}
