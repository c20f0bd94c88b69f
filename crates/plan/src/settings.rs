//! What the variables of a plan are set to from outside it.

use std::collections::BTreeMap;

/// Values for a plan's variables: from the command line, and from the environment.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// Values by the variable's name, as given with `--set`.
    pub set: &'a BTreeMap<String, String>,
    /// Returns the value of an environment variable, or why it has none.
    pub environment: &'a dyn Fn(&str) -> Result<String, String>,
}

impl Settings<'_> {
    /// Sets nothing, and knows no environment.
    pub const NONE: Settings<'static> = Settings {
        set: &BTreeMap::new(),
        environment: &|_| Err("there is no environment here".to_owned()),
    };
}
