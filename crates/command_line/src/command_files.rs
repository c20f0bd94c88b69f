//! Files generated from a command line: shell completions and manual pages.

use anyhow::Context as _;
use clap::Args;
use clap_complete::Shell;
use std::io::{self, Write as _};
use std::path::PathBuf;

const INSTALL: &str = "\
Examples, for `agent` and `coordinator` alike:
  bash        agent completions bash > ~/.local/share/bash-completion/completions/agent
  zsh         agent completions zsh > ~/.zfunc/_agent    (with fpath+=~/.zfunc before compinit)
  fish        agent completions fish > ~/.config/fish/completions/agent.fish
  powershell  agent completions powershell >> $PROFILE
  elvish      agent completions elvish >> ~/.config/elvish/rc.elv";

/// `completions`, as typed.
#[derive(Debug, Args)]
#[command(after_help = INSTALL)]
pub struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// `man`, as typed.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Where the pages go: a file for each command, such as agent-join.1
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}

/// Prints a script that completes the commands of `program` in a shell.
///
/// # Errors
/// Standard output cannot be written.
pub fn completions(
    args: &CompletionsArgs,
    program: &'static str,
    command: &clap::Command,
) -> anyhow::Result<()> {
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    // Completions for bash would offer what is hidden.
    let mut shown = clap::Command::new(program)
        .version(env!("CARGO_PKG_VERSION"))
        .args(command.get_arguments())
        .subcommands(shown);
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut shown, program, &mut script);
    match io::stdout().write_all(&script) {
        // The reader, such as `head`, has enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write to standard output"),
    }
}

/// Writes the pages of `command` and of its subcommands that are not hidden.
///
/// # Errors
/// The folder cannot be made, or a page not written.
pub fn man(args: &ManArgs, command: clap::Command) -> anyhow::Result<()> {
    let folder = &args.folder;
    let written = std::fs::create_dir_all(folder);
    written
        .and_then(|()| clap_mangen::generate_to(command, folder))
        .with_context(|| {
            let folder = folder.display();
            format!("cannot write the manual to {folder}; name a folder that can be written")
        })
}
