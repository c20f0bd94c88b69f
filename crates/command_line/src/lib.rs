//! What the command lines of both programs share: what `--version` says, completions and manual
//! pages, and the folder for what outlives a run.

mod command_files;
mod state_folder;
mod version;

pub use command_files::{CompletionsArgs, ManArgs, completions, man};
pub use state_folder::state_folder;
pub use version::build_words;
