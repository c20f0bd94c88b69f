//! Writes nginx's configuration.

use super::{NginxOptions, NginxServer};
use crate::require::skip;
use crate::{CertificateFiles, Pki, content};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::Command;
use target::KeyKind;

/// The file of the ticket key in nginx's folder.
pub(super) const TICKET_KEY: &str = "ticket.key";

/// The file of the users of `/private` in nginx's folder.
pub(super) const USERS: &str = "users";

/// One line per request, with fields separated by tabs; read by [`super::log`], but for the times.
pub(super) const REQUEST_LOG: &str = concat!(
    r"'$server_port\t$status\t$request_method\t$request_uri\t$ssl_protocol\t$ssl_cipher\t",
    r"$ssl_curve\t$ssl_session_reused\t$connection\t$connection_requests\t$ssl_client_verify\t",
    r"$body_bytes_sent\t$remote_addr\t$ssl_client_s_dn\t$ssl_early_data\t$ssl_server_name\t",
    r"$ssl_alpn_protocol\t$host\t$remote_user\t$msec\t$request_time'",
);

/// One line per connection of a stream server.
const CONNECTION_LOG: &str = concat!(
    r"'$server_port\t$status\t$ssl_protocol\t$ssl_cipher\t$ssl_curve\t$ssl_session_reused\t",
    r"$remote_addr'",
);

/// How many connections wait to be accepted.
const BACKLOG: &str = " backlog=4096;";

/// The input of a configuration.
pub(super) struct Input<'a> {
    pub pki: &'a Pki,
    pub options: &'a NginxOptions,
    pub folder: &'a Path,
    pub ports: &'a BTreeMap<NginxServer, u16>,
    pub status_port: u16,
}

/// The directive that loads the stream module, empty if it is built in; `None` if it is missing.
pub(super) fn stream_module(nginx: &Path) -> Option<String> {
    let output = Command::new(nginx).arg("-V").output().unwrap();
    let built = String::from_utf8_lossy(&output.stderr).into_owned();
    if built
        .split_whitespace()
        .any(|option| option == "--with-stream")
    {
        return Some(String::new());
    }
    let modules = built
        .split_whitespace()
        .find_map(|option| option.strip_prefix("--modules-path="));
    let module =
        Path::new(modules.unwrap_or("/usr/lib/nginx/modules")).join("ngx_stream_module.so");
    if module.is_file() {
        return Some(format!("load_module {};\n", module.display()));
    }
    skip("nginx's stream module is not installed (Debian: libnginx-mod-stream)");
    None
}

/// The whole configuration.
pub(super) fn text(input: &Input<'_>) -> String {
    let folder = input.folder.display();
    let servers = |stream| {
        input
            .ports
            .iter()
            .filter(move |(server, _)| server.is_stream() == stream)
    };
    let mut http = String::new();
    for (&server, &port) in servers(false) {
        http.push_str(&http_server(input, server, port));
    }
    let mut stream = String::new();
    for (&server, &port) in servers(true) {
        let listen = listen(input.options.ip, port, " ssl");
        let _ = writeln!(
            stream,
            "  server {{ {listen} {} return x; }}",
            tls(input, server, None)
        );
    }
    format!(
        "daemon off; {processes} pid {folder}/nginx.pid; error_log \
         stderr warn;
events {{ worker_connections 8192; multi_accept on; }}
http {{
  default_type text/plain; server_tokens off; tcp_nodelay on; ssl_ecdh_curve {groups};
  keepalive_requests 1000000000; keepalive_timeout 600s;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  log_format rows {REQUEST_LOG}; access_log {folder}/access.log rows;
  server {{ {status} access_log off; location / {{ stub_status; }} }}
{http}}}
stream {{
  ssl_ecdh_curve {groups}; log_format rows {CONNECTION_LOG}; access_log {folder}/stream.log rows;
{stream}}}
",
        processes = processes(input.options.workers),
        groups = input.options.groups,
        status = listen(input.options.ip, input.status_port, ""),
    )
}

/// A single process is stopped by its id. Workers run as the user of the test, because the folder
/// is not readable for others.
fn processes(workers: u32) -> String {
    if workers == 1 {
        "master_process off; worker_processes 1;".to_owned()
    } else {
        let user = if rustix::process::geteuid().is_root() {
            "user root;"
        } else {
            ""
        };
        format!("worker_processes {workers}; {user}")
    }
}

fn http_server(input: &Input<'_>, server: NginxServer, port: u16) -> String {
    let http2 = matches!(
        server,
        NginxServer::Http2
            | NginxServer::Http2Plain
            | NginxServer::Http2Limited
            | NginxServer::AnyTlsTickets
    );
    let (ssl, http2) = (
        if server.is_tls() { " ssl" } else { "" },
        if http2 { " http2" } else { "" },
    );
    let listen = listen(input.options.ip, port, &format!("{ssl}{http2}"));
    let default = http_block(input, server, &listen, None);
    // Options of the socket can be given only once.
    let listen = listen.replace(BACKLOG, ";");
    let names = input.options.names.iter().filter(|_| server.has_names());
    let named = names.map(|(name, certified)| {
        let files = input.pki.server_for(KeyKind::P256, certified);
        let listen = format!("{listen} server_name {name};");
        http_block(input, server, &listen, Some(&files))
    });
    std::iter::once(default).chain(named).collect()
}

/// A server with the certificate of its kind, or with this one.
fn http_block(
    input: &Input<'_>,
    server: NginxServer,
    listen: &str,
    files: Option<&CertificateFiles>,
) -> String {
    let keep_alive = match server {
        NginxServer::KeepAliveLimited => {
            format!("keepalive_requests {};", input.options.keepalive_requests)
        }
        NginxServer::Http2Limited => format!(
            "keepalive_requests {}; http2_max_concurrent_streams {};",
            input.options.keepalive_requests, input.options.http2_streams
        ),
        NginxServer::KeepAliveIdle => format!(
            "keepalive_timeout {}ms;",
            input.options.keepalive_idle.as_millis()
        ),
        _ => String::new(),
    };
    let (tls, html, body) = (
        tls(input, server, files),
        input.folder.join("html"),
        content::body(),
    );
    // SSI removes the length, so nginx answers in chunks.
    format!(
        "  server {{ {listen} {keep_alive} {tls} root {};
    location = / {{ return 200 '{body}'; }} location = /204 {{ return 204; }} location = /500 {{ \
         return 500 '{body}'; }}
    location = /private {{ auth_basic private; auth_basic_user_file {users}; }}
    location = /bearer {{ if ($http_authorization != 'Bearer {token}') {{ return 401; }}
      return 204; }}
    location = /length {{ return 200 '$content_length'; }}
    location = /packed {{ gzip on; gzip_types *; gzip_comp_level 9; }}
    location = /packed.br {{ add_header content-encoding br; }}
    location = /packed.bad {{ add_header content-encoding br; }}
    location = /packed.zst {{ add_header content-encoding zstd; }}
    location = /nth {{ add_header x-nth $connection_requests; default_type application/json;
      return 200 '{{\"state\": \"ok\", \"nth\": $connection_requests}}'; }}
    location = /moved {{ return 301 /found?a=b; }} location = /found {{ return 302 length; }}
    location = /other {{ return 303 /; }} location = /again {{ return 307 /length; }}
    location = /still {{ return 308 /length; }} location = /round {{ return 302 /round; }}
    location = /away {{ return 302 http://other.test/; }}
    location ~ ^/to/([^/]+)(/.*)$ {{ return 302 https://$1$2; }}
    location ~ ^/plain/([^/]+)(/.*)$ {{ return 307 http://$1$2; }}
    location = /sent {{ return 200 '$host $http_cookie $http_x_key $http_x_note'; }}
    location = /chunked {{ ssi on; ssi_types *; }} }}\n",
        html.display(),
        users = input.folder.join(USERS).display(),
        token = super::TOKEN,
    )
}

fn tls(input: &Input<'_>, server: NginxServer, files: Option<&CertificateFiles>) -> String {
    let ticket_key = input
        .options
        .ticket_key
        .map(|_| input.folder.join(TICKET_KEY));
    let staple = input
        .options
        .ocsp_response
        .as_ref()
        .filter(|_| server == NginxServer::AnyTls);
    let staple =
        staple.map(|path| format!(" ssl_stapling on; ssl_stapling_file {};", path.display()));
    server.tls_directives(input.pki, files, ticket_key.as_deref()) + &staple.unwrap_or_default()
}

fn listen(ip: IpAddr, port: u16, ssl: &str) -> String {
    format!("listen {}{ssl}{}", SocketAddr::new(ip, port), BACKLOG)
}
