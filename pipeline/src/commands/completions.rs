//! `heaplake completions`: a completion script for a shell.

use crate::diagnostic::Done;
use crate::print;
use clap::{Args, Command};

#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  heaplake completions bash > ~/.local/share/bash-completion/completions/heaplake")]
pub(crate) struct Arguments {
    /// The shell
    shell: clap_complete::Shell,
}

/// Prints the script.
pub(crate) fn run(arguments: &Arguments, mut cli: Command) -> Done {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut cli, "heaplake", &mut text);
    Ok(print::bytes(&text))
}
