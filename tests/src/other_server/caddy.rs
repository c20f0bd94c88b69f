//! Caddy, configured by JSON, with a log in JSON.

use super::OtherRow;
use super::recipe::{Need, Recipe, Setting};
use super::row::http;
use serde_json::{Value, json};
use std::process::Command;

pub(super) const RECIPE: Recipe = Recipe {
    program: "caddy",
    need: Need::Optional,
    modules: &[],
    version: &["version"],
    command,
    log: Some("rows.log"),
    rows,
    handshakes: None,
};

fn command(command: &mut Command, setting: &Setting<'_>) {
    let (folder, files) = (setting.folder, setting.files);
    let server = json!({
        "listen": [format!("127.0.0.1:{}", setting.port)],
        "protocols": ["h1", "h2"],
        "automatic_https": { "disable": true },
        "tls_connection_policies": [{ "default_sni": "localhost" }],
        "routes": [{ "handle": [{ "handler": "file_server", "root": folder.join("html") }] }],
        "logs": { "default_logger_name": "rows" },
    });
    let config = json!({
        "admin": { "disabled": true },
        "logging": { "logs": {
            "default": { "level": "WARN" },
            "rows": {
                "writer": { "output": "file", "filename": folder.join("rows.log") },
                "encoder": { "format": "json" },
                "include": ["http.log.access.rows"],
            },
        } },
        "apps": {
            "http": { "servers": { "only": server } },
            "tls": { "certificates": {
                "load_files": [{ "certificate": files.cert, "key": files.key }],
            } },
        },
    });
    setting.write("caddy.json", &config.to_string());
    command
        .arg("run")
        .arg("--config")
        .arg(folder.join("caddy.json"));
    command
        .env("HOME", folder)
        .env("XDG_DATA_HOME", folder)
        .env("XDG_CONFIG_HOME", folder);
}

fn rows(text: &str) -> Vec<OtherRow> {
    text.lines()
        .filter_map(|line| row(&serde_json::from_str(line).ok()?))
        .collect()
}

fn row(line: &Value) -> Option<OtherRow> {
    let request = &line["request"];
    Some(OtherRow {
        connection: request["remote_port"].as_str()?.parse().ok()?,
        resumed: request["tls"]["resumed"].as_bool(),
        http: http(request["proto"].as_str()?),
        status: line["status"].as_u64()?.try_into().ok(),
        path: request["uri"].as_str()?.to_owned(),
    })
}
