//! lighttpd.

use super::recipe::{Need, Recipe, Setting};
use super::{OtherRow, row};
use std::process::Command;

pub(super) const RECIPE: Recipe = Recipe {
    program: "lighttpd",
    need: Need::Required,
    modules: &["/usr/lib/lighttpd/mod_openssl.so"],
    version: &["-v"],
    command,
    log: Some("rows.log"),
    rows,
    handshakes: None,
};

/// An HTTP/2 connection gets an additional row at its end, whose path is that of the preface.
fn rows(text: &str) -> Vec<OtherRow> {
    row::rows(text)
        .into_iter()
        .filter(|row| row.path != "*")
        .collect()
}

/// Rows go through a pipe, since lighttpd writes a file only every four seconds.
fn command(command: &mut Command, setting: &Setting<'_>) {
    let (folder, files) = (setting.folder.display(), setting.files);
    let config = format!(
        "server.modules = (\"mod_openssl\", \"mod_accesslog\")
server.document-root = \"{folder}/html\"
server.bind = \"127.0.0.1\"
server.port = {port}
server.max-keep-alive-requests = 1000000
index-file.names = (\"index.html\")
accesslog.filename = \"|cat >>{folder}/rows.log\"
accesslog.format = \"row %{{remote}}p - %H %s %U\"
ssl.engine = \"enable\"
ssl.pemfile = \"{cert}\"
ssl.privkey = \"{key}\"
",
        port = setting.port,
        cert = files.cert.display(),
        key = files.key.display(),
    );
    setting.write("lighttpd.conf", &config);
    command
        .arg("-D")
        .arg("-f")
        .arg(setting.folder.join("lighttpd.conf"));
}
