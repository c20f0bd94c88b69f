//! Apache's httpd, with a folder and configuration of its own.

use super::recipe::{Need, Recipe, Setting};
use super::row::rows;
use std::process::Command;

const MODULES: &str = "/usr/lib/apache2/modules";

pub(super) const RECIPE: Recipe = Recipe {
    program: "apache2",
    need: Need::Required,
    modules: &[
        "/usr/lib/apache2/modules/mod_ssl.so",
        "/usr/lib/apache2/modules/mod_http2.so",
    ],
    version: &["-v"],
    command,
    log: Some("rows.log"),
    rows,
    handshakes: Some((Some("error.log"), "AH02041")),
};

fn command(command: &mut Command, setting: &Setting<'_>) {
    setting.write("httpd.conf", &config(setting));
    // -X: one process, in the foreground.
    command
        .arg("-X")
        .arg("-f")
        .arg(setting.folder.join("httpd.conf"));
}

fn config(setting: &Setting<'_>) -> String {
    let (folder, files, port) = (setting.folder.display(), setting.files, setting.port);
    let modules = [
        "mpm_event",
        "authz_core",
        "alias",
        "ssl",
        "socache_shmcb",
        "http2",
    ];
    let load = modules
        .map(|name| format!("LoadModule {name}_module {MODULES}/mod_{name}.so\n"))
        .concat();
    format!(
        "ServerRoot {folder}
ServerName localhost
DefaultRuntimeDir {folder}
PidFile {folder}/httpd.pid
{load}Listen 127.0.0.1:{port}
User nobody
Group nogroup
ErrorLog {folder}/error.log
LogLevel warn ssl:debug
LogFormat \"row %{{remote}}p %{{SSL_SESSION_RESUMED}}x %H %>s %U\" rows
CustomLog {folder}/rows.log rows
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout 60
ThreadsPerChild 16
DocumentRoot {folder}/html
AliasMatch ^/$ {folder}/html/index.html
Protocols h2 http/1.1
SSLEngine on
SSLProtocol -all +TLSv1.2 +TLSv1.3
SSLSessionCache none
SSLCertificateFile {cert}
SSLCertificateKeyFile {key}
",
        cert = files.cert.display(),
        key = files.key.display(),
    )
}
