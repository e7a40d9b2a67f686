//! Steps of the `stable_path` of findings. They are texts: class or name, then the field or index that leads on.

use crate::runtime::Runtime;
use crate::steps::{Step, variable};
use crate::{jvm, v8};

/// Roots of variables of running code, besides the stack.
const RUNNING: [&str; 2] = ["handles of running code", "pending microtasks"];

/// Returns the steps of a path, each normalised by `normal`, without run-dependent ones.
pub(crate) fn steps(runtime: Runtime, path: &[&str], normal: impl Fn(&str) -> String) -> Vec<String> {
    let start = loader_steps(runtime, path);
    let mut steps: Vec<String> = Vec::with_capacity(path.len() - start);
    for (at, &step) in path.iter().enumerate().skip(start) {
        let is_last = at + 1 == path.len();
        let next = path.get(at + 1).copied().unwrap_or_default();
        steps.push(match runtime {
            Runtime::V8 => v8_step(step, is_last, next, &normal),
            Runtime::Jvm | Runtime::DotNet => normal(step),
        });
    }
    steps
}

/// Number of leading steps by which the loader of the class path holds all classes.
fn loader_steps(runtime: Runtime, path: &[&str]) -> usize {
    let is_held = runtime == Runtime::Jvm
        && path.len() > 2
        && jvm::is_platform_loader(path[0])
        && path[0].ends_with(".classes")
        && path[1].starts_with("java.util.");
    if is_held { 2 } else { 0 }
}

/// Stands for any function with a variable: another one may lead to the same variable.
const FUNCTION: &str = "()";

/// Whether a step is a variable of a function.
pub(crate) fn is_variable(step: &Step) -> bool {
    step.name == FUNCTION && !step.out.is_empty()
}

/// Splits a step into its class or name and the rest.
pub(crate) fn split(runtime: Runtime, step: &str) -> Step {
    let end = match runtime {
        Runtime::V8 => match (step.find("()"), step.find('}').filter(|_| step.starts_with('{'))) {
            (Some(end), _) => end + 2,
            (None, Some(end)) => end + 1,
            (None, None) => step.find(['.', '[']).unwrap_or(step.len()),
        },
        Runtime::Jvm => field_of_java(step),
        Runtime::DotNet => step.strip_suffix("[]").map_or(step.len(), str::len),
    };
    let (name, out) = step.split_at(end);
    let is_function = runtime == Runtime::V8 && name.ends_with("()") && !out.is_empty();
    Step { name: if is_function { FUNCTION } else { name }.to_owned(), out: out.to_owned() }
}

/// Position of the field: after the first part of a name that is no package.
fn field_of_java(step: &str) -> usize {
    let mut start = 0;
    for part in step.split_inclusive('.') {
        let name = part.strip_suffix('.').unwrap_or(part);
        let is_class = name.starts_with(|first: char| first.is_uppercase()) || name.contains('$');
        if is_class {
            return start + name.find('[').unwrap_or(name.len());
        }
        start += part.len();
    }
    step.find('[').unwrap_or(step.len())
}

fn v8_step(step: &str, is_last: bool, next: &str, normal: impl Fn(&str) -> String) -> String {
    if let (Some(page), Some(dot)) = (step.find(" / "), step.rfind('.'))
        && !is_last
        && step[page..].contains("://")
        && dot > page
    {
        return format!("{}{}", normal(&step[..dot]), normal(&step[dot..]));
    }
    let Some((holder, name)) = scope_and_variable(step) else { return normal(step) };
    let next_class = next.split(['.', '[']).next().unwrap_or(next);
    if !next_class.is_empty() && v8::is_named(next_class) {
        return normal(holder);
    }
    format!("{}.{}", normal(holder), normal(variable(name)))
}

/// Splits a step into a function or other owner of variables, and the variable.
fn scope_and_variable(step: &str) -> Option<(&str, &str)> {
    let at = match step.find("()") {
        Some(end) => end + 2,
        None => ["Generator", "AsyncGenerator", "stack"]
            .into_iter()
            .chain(RUNNING)
            .find(|name| step.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
            .map(str::len)?,
    };
    let name = step[at..].strip_prefix('.').filter(|name| !name.is_empty() && !name.contains(['.', '[', '*']))?;
    Some((&step[..at], name))
}
