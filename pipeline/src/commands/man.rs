//! `heaplake man`: the manual page.

use crate::diagnostic::{Diagnostic, Done};
use crate::print;
use clap::{Args, Command};

#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  heaplake man | man -l -\n  heaplake man analyze > heaplake-analyze.1")]
pub(crate) struct Arguments {
    /// The command, such as analyze or lake drop
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

/// Prints the page; fails for an unknown command.
pub(crate) fn run(arguments: &Arguments, mut cli: Command) -> Done {
    // Gives the commands their full names.
    cli.build();
    let page = arguments.command.iter().try_fold(&cli, |cli, name| cli.find_subcommand(name));
    let Some(page) = page else {
        let cause = format!("there is no command {:?}", arguments.command.join(" "));
        return Err(Diagnostic::usage(cause, "heaplake --help lists the commands"));
    };
    let mut text = Vec::new();
    // Writing into memory cannot fail.
    let _ = clap_mangen::Man::new(page.clone()).render(&mut text);
    Ok(print::bytes(&text))
}
