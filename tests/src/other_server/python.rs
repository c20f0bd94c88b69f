//! Python's `http.server` over `ssl`, from `servers/python`.

use super::recipe::{Need, Recipe, Setting};
use super::row::rows;
use std::process::Command;

const SOURCE: &str = include_str!("../../servers/python/server.py");

pub(super) const RECIPE: Recipe = Recipe {
    program: "python3",
    need: Need::Required,
    modules: &[],
    version: &["--version"],
    command,
    log: None,
    rows,
    handshakes: Some((None, "handshake ")),
};

fn command(command: &mut Command, setting: &Setting<'_>) {
    setting.write("server.py", SOURCE);
    command
        .args(["-u", "server.py"])
        .arg(setting.port.to_string())
        .arg(&setting.files.cert)
        .arg(&setting.files.key);
    command.args(setting.options.answers_first.then_some("first"));
}
