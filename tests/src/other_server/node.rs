//! Node, from `servers/node`.

use super::recipe::{Need, Recipe, Setting};
use super::row::rows;
use std::process::Command;

const SOURCE: &str = include_str!("../../servers/node/server.mjs");

pub(super) const RECIPE: Recipe = Recipe {
    program: "node",
    need: Need::Optional,
    modules: &[],
    version: &["--version"],
    command,
    log: None,
    rows,
    handshakes: Some((None, "handshake ")),
};

fn command(command: &mut Command, setting: &Setting<'_>) {
    setting.write("server.mjs", SOURCE);
    command
        .arg("server.mjs")
        .arg(setting.port.to_string())
        .arg(&setting.files.cert)
        .arg(&setting.files.key);
    command.args(
        setting
            .options
            .header_table_bytes
            .map(|bytes| bytes.to_string()),
    );
}
