//! Interactive prompt, with history and completion.

use super::arguments::Arguments;
use super::writing::to_standard_output;
use crate::diagnostic::{Diagnostic, Exit};
use crate::print;
use heaplake_sql::named;
use heaplake_sql::session::Session;
use heaplake_sql::words::Words;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper, Highlighter, Hinter};
use std::env;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

const HELP: &str = "\
A statement ends with a semicolon and may have several lines. Tab completes tables and columns.
  SHOW TABLES;          the views
  DESCRIBE classes;     columns of a view
  \\n                    queries of the library; \\n NAME runs one
  \\q                    the end
";

/// Reads statements until the end of input.
pub(super) fn run(session: &Session, arguments: &Arguments, cancel: &AtomicBool) -> Result<(), Diagnostic> {
    let config = Config::builder().completion_type(CompletionType::List).auto_add_history(true).build();
    let mut editor: Editor<Typed, FileHistory> = Editor::with_config(config).map_err(|error| unusable(&error))?;
    editor.set_helper(Some(Typed { words: Words::new(session.names()?) }));
    let history = history();
    if let Some(path) = &history {
        // Missing on the first use.
        let _ = editor.load_history(path);
    }
    print::text(&format!("{} runs. \\? for help, \\q to end.\n", session.lake().runs.len()));
    loop {
        match editor.readline("heaplake> ") {
            Ok(line) => match line.trim() {
                "" => {}
                "\\q" | "quit" | "exit" => break,
                "\\?" | "help" => drop(print::text(HELP)),
                "\\n" => {
                    let list: Vec<String> = named::all().iter().map(ToString::to_string).collect();
                    print::text(&list.join(""));
                }
                text => {
                    cancel.store(false, Ordering::Relaxed);
                    if let Err(diagnostic) = answer(session, arguments, text, cancel) {
                        let _ = diagnostic.tell();
                    }
                }
            },
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(unusable(&error)),
        }
        save(&mut editor, history.as_ref());
    }
    save(&mut editor, history.as_ref());
    Ok(())
}

fn answer(session: &Session, arguments: &Arguments, text: &str, cancel: &AtomicBool) -> Result<(), Diagnostic> {
    let started = Instant::now();
    if let Some(name) = text.strip_prefix("\\n ") {
        let (statement, values) = Session::named(&named::find(name.trim())?, &[])?;
        to_standard_output(arguments, |writer| session.run(statement, Some(values), writer, cancel))?;
    } else {
        for statement in Session::statements(text)? {
            to_standard_output(arguments, |writer| session.run(statement, None, writer, cancel))?;
        }
    }
    print::text(&format!("{:.2} s\n", started.elapsed().as_secs_f64()));
    Ok(())
}

/// Saves the history; a failure is ignored.
fn save(editor: &mut Editor<Typed, FileHistory>, path: Option<&PathBuf>) {
    if let Some(path) = path
        && path.parent().is_some_and(|folder| std::fs::create_dir_all(folder).is_ok())
    {
        let _ = editor.save_history(path);
    }
}

/// Path of the history, in the XDG state folder.
fn history() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let state = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")));
    state.map(|state| state.join("heaplake/sql_history"))
}

fn unusable(error: &ReadlineError) -> Diagnostic {
    let cause = format!("the terminal cannot be used: {error}");
    Diagnostic { exit: Exit::Failed, ..Diagnostic::failed(cause, "give the statement as an argument") }
}

/// Completes words, and recognises the end of a statement.
#[derive(Helper, Highlighter, Hinter)]
struct Typed {
    words: Words,
}

impl Completer for Typed {
    type Candidate = String;

    fn complete(&self, line: &str, cursor: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.words.complete(line, cursor))
    }
}

impl Validator for Typed {
    fn validate(&self, typed: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = typed.input().trim();
        let whole = text.is_empty() || text.starts_with('\\') || text.ends_with(';');
        let whole = whole || ["quit", "exit", "help"].contains(&text);
        Ok(if whole { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}
