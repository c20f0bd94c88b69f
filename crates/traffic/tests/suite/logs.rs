//! Logs as servers and tools wrote them, and what becomes of them. `UPDATE_GOLDEN=1` writes it.
//!
//! `nginx-*` are the same requests as nginx 1.22 logged them in three formats, `apache-*` those of
//! Apache 2.4: by curl, one of them slow, and some that are no requests. `mitmproxy.har` is a
//! session of curl and Chromium, `goreplay.gor` one of curl.

use super::{entries, rules, try_import};
use std::path::PathBuf;
use traffic::LogFormat;

const NGINX_FULL: &str = "log_format full '$remote_addr - $remote_user [$time_local] \"$request\" \
     $status $body_bytes_sent \"$http_referer\" \"$http_user_agent\" ' '$msec $request_time \
     $connection $connection_requests $ssl_session_reused \"$ssl_server_name\" $ssl_protocol \
     $ssl_cipher \"$http_host\" \"$content_length\" \"$request_body\"';";

const APACHE_EXACT: &str = concat!(
    r#"LogFormat "%a %{%d/%b/%Y:%T}t.%{usec_frac}t %{%z}t %D \"%m\" \"%U%q\" %>s %{c}L %k "#,
    r#"\"%{Host}i\" \"%{User-Agent}i\" \"%{SSL_TLS_SNI}x\" %{SSL_SESSION_RESUMED}x "#,
    r#"%{SSL_PROTOCOL}x \"%{Content-Length}i\"" exact"#,
);

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/logs")
}

fn log(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap()
}

#[test]
fn logs_become_what_is_committed() {
    for (name, log_format) in [
        ("nginx-combined.log", None),
        ("nginx-full.log", Some(NGINX_FULL)),
        ("nginx-json.log", None),
        ("apache-common.log", None),
        ("apache-vhost-combined.log", None),
        ("apache-exact.log", Some(APACHE_EXACT)),
        ("mitmproxy.har", None),
        ("goreplay.gor", None),
        ("vegeta-targets.json", None),
        ("vegeta-results.json", None),
    ] {
        let mut rules = rules();
        rules.log_format = log_format.map(|text| LogFormat::parse(text).unwrap());
        let (replay, summary) = try_import(&log(name), &rules).unwrap();
        let text = format!("{summary}\n\n{replay}");
        let path = folder().join(format!("{name}.golden"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(text, golden, "{name}; UPDATE_GOLDEN=1 writes it");
    }
}

/// The slow request took 1.5 s, and its line is the last one.
#[test]
fn duration_is_subtracted_from_the_time_of_the_line() {
    let mut rules = rules();
    rules.log_format = Some(LogFormat::parse(NGINX_FULL).unwrap());
    let (replay, _) = entries(&log("nginx-full.log"), &rules);
    assert_eq!(replay[0].request.path, "/slow");
    assert_eq!(replay[1].at_ns, 199_000_000);
}

#[test]
fn log_that_is_packed_or_cut_into_files_is_the_same_log() {
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write as _;

    let plain = log("nginx-json.log");
    let expected = try_import(&plain, &rules()).unwrap();
    let middle = plain.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    let mut packed = Vec::new();
    for part in [&plain[..middle], &plain[middle..]] {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(part).unwrap();
        packed.extend(encoder.finish().unwrap());
    }
    assert_eq!(try_import(&packed, &rules()).unwrap(), expected);
    let marked = [&b"\xef\xbb\xbf"[..], &plain].concat();
    assert_eq!(try_import(&marked, &rules()).unwrap(), expected);
    let windows = String::from_utf8_lossy(&log("nginx-combined.log")).replace('\n', "\r\n");
    assert_eq!(
        try_import(windows.as_bytes(), &rules()).unwrap(),
        try_import(&log("nginx-combined.log"), &rules()).unwrap()
    );
    // A cut one is refused, with the place.
    let cut = try_import(&packed[..packed.len() - 20], &rules())
        .unwrap_err()
        .to_string();
    let why = "its gzip data end early: the file is cut, or still being written";
    assert_eq!(cut, format!("line 1: {why}"));
}
