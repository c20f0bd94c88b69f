//! h2o.

use super::recipe::{Need, Recipe, Setting};
use super::row::rows;
use std::process::Command;

pub(super) const RECIPE: Recipe = Recipe {
    program: "h2o",
    need: Need::Optional,
    modules: &[],
    version: &["-v"],
    command,
    log: Some("rows.log"),
    rows,
    handshakes: None,
};

fn command(command: &mut Command, setting: &Setting<'_>) {
    let (folder, files) = (setting.folder.display(), setting.files);
    let config = format!(
        "num-threads: 1
listen:
  host: 127.0.0.1
  port: {port}
  ssl:
    certificate-file: {cert}
    key-file: {key}
access-log:
  path: {folder}/rows.log
  format: \"row %{{connection-id}}x %{{ssl.session-reused}}x %H %s %U\"
hosts:
  default:
    paths:
      /:
        file.dir: {folder}/html
",
        port = setting.port,
        cert = files.cert.display(),
        key = files.key.display(),
    );
    setting.write("h2o.yaml", &config);
    command.arg("-c").arg(setting.folder.join("h2o.yaml"));
}
