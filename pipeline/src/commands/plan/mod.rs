//! `heaplake plan`: forecast of an analysis.

mod arguments;
mod each;
mod outlook;

pub(super) use arguments::Arguments;
pub(super) use each::Line;

use crate::diagnostic::{Diagnostic, Done};
use crate::print;
use heaplake_input::source::Input;

/// Prints the plan, or the graph of the stages.
pub(crate) fn run(arguments: &Arguments) -> Done {
    if arguments.each {
        return each::run(arguments);
    }
    let [name] = arguments.inputs.as_slice() else {
        let cause = format!("plan takes one input, but {} are given", arguments.inputs.len());
        return Err(Diagnostic::usage(cause, "name one, or add --each for a line of JSON for each"));
    };
    let input = match name.as_str() {
        "-" => Input::Stdin,
        path => Input::File(path.into()),
    };
    if let Some(language) = arguments.graph {
        return Ok(print::text(&outlook::graph(&input, arguments, language)?));
    }
    let forecast = outlook::forecast(&input, arguments)?;
    print::answer(&forecast, arguments.json, |forecast, look| print::plan::text(forecast, &input.name(), look))
}
