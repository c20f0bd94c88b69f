//! nghttp2's server, which prints every frame that it receives.

use super::OtherRow;
use super::recipe::{Need, Recipe, Setting};
use std::process::Command;

pub(super) const RECIPE: Recipe = Recipe {
    program: "nghttpd",
    need: Need::Required,
    modules: &[],
    version: &["--version"],
    command,
    log: None,
    rows,
    handshakes: Some((None, "SSL/TLS handshake completed")),
};

fn command(command: &mut Command, setting: &Setting<'_>) {
    command
        .args(["-v", "-a", "127.0.0.1", "-d"])
        .arg(setting.folder.join("html"));
    if let Some(bytes) = setting.options.header_table_bytes {
        command.arg(format!("--header-table-size={bytes}"));
    }
    command
        .arg(setting.port.to_string())
        .arg(&setting.files.key)
        .arg(&setting.files.cert);
}

/// Each field is on a line of its own: `[id=3] [  0.012] recv (stream_id=1) :path: /`.
fn rows(text: &str) -> Vec<OtherRow> {
    text.lines().filter_map(row).collect()
}

fn row(line: &str) -> Option<OtherRow> {
    let (head, path) = line.split_once(":path: ")?;
    let connection = head.strip_prefix("[id=")?.split(']').next()?.parse().ok()?;
    Some(OtherRow {
        connection,
        resumed: None,
        http: "2".to_owned(),
        status: None,
        path: path.to_owned(),
    })
}
