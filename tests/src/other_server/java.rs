//! The JDK's `HttpsServer`, from `servers/java`.

use super::recipe::{Need, Recipe, Setting};
use super::row::rows;
use std::process::Command;

const SOURCE: &str = include_str!("../../servers/java/Server.java");

pub(super) const RECIPE: Recipe = Recipe {
    program: "java",
    need: Need::Optional,
    modules: &[],
    version: &["-version"],
    command,
    log: None,
    rows,
    handshakes: None,
};

fn command(command: &mut Command, setting: &Setting<'_>) {
    setting.write("Server.java", SOURCE);
    command
        .arg("-Dsun.net.httpserver.nodelay=true")
        .arg("Server.java");
    command
        .arg(setting.port.to_string())
        .arg(&setting.files.cert)
        .arg(&setting.files.key)
        .arg(setting.options.ip.to_string());
}
