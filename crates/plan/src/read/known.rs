//! Every key of a plan, and what to write in place of one that is not.

use strsim::damerau_levenshtein;

/// Every path of a plan, without indices.
pub(crate) const KEYS: &[&str] = &[
    "name",
    "target.url",
    "target.addresses",
    "target.dns",
    "target.builtin",
    "target.builtin.tls",
    "target.builtin.key",
    "target.builtin.body_bytes",
    "target.builtin.delay",
    "target.builtin.stall",
    "target.builtin.stall.every",
    "target.builtin.stall.for",
    "target.builtin.stall.first",
    "target.builtin.servers",
    "target.builtin.servers.count",
    "target.builtin.servers.service_time",
    "request.name",
    "request.weight",
    "request.method",
    "request.path",
    "request.headers",
    "request.body",
    "request.body_file",
    "request.expect",
    "request.expect.status",
    "request.expect.bytes",
    "connection.requests",
    "connection.close",
    "connection.confirm",
    "connection.http",
    "connection.streams",
    "connection.source_addresses",
    "connection.timeouts",
    "connection.timeouts.connect",
    "connection.timeouts.handshake",
    "connection.timeouts.request",
    "tls.versions",
    "tls.cipher_suites",
    "tls.groups",
    "tls.key_share",
    "tls.resumption",
    "tls.resumption.share",
    "tls.resumption.kind",
    "tls.early_data",
    "tls.verify",
    "tls.key_exchange",
    "tls.ca",
    "tls.client_certificates",
    "tls.client_certificates.cert",
    "tls.client_certificates.key",
    "tls.client_certificates.mint",
    "tls.client_certificates.ca",
    "tls.client_certificates.ca_key",
    "tls.client_certificates.subject",
    "tls.client_certificates.validity",
    "tls.server_name",
    "tls.alpn",
    "tls.key_log",
    "tls.key_log.failed",
    "tls.key_log.slow",
    "tls.key_log.over",
    "load.connections",
    "load.rate",
    "load.arrivals",
    "load.max_connections",
    "load.duration",
    "load.requests",
    "load.warm_up",
    "load.think_time",
    "load.think_time.min",
    "load.think_time.max",
    "load.seed",
    "load.connect_ramp",
    "load.stage",
    "load.stage.over",
    "load.stage.to",
    "thresholds",
];

/// Paths of the sections that make several runs or a search of a plan, without indices.
pub(crate) const CAMPAIGN_KEYS: &[&str] = &[
    "variants",
    "matrix",
    "repeat.times",
    "repeat.pause",
    "repeat.shuffle",
    "repeat.seed",
    "search.rate",
    "search.rate.from",
    "search.rate.to",
    "search.connections",
    "search.connections.from",
    "search.connections.to",
    "search.agents",
    "search.hold",
    "search.precision",
    "search.settle",
];

/// Names that other tools have for what a plan calls otherwise.
const RENAMED: &[(&[&str], &str)] = &[
    (
        &["users", "vus", "virtual_users", "concurrency", "clients"],
        "write connections in [load]",
    ),
    (
        &["threads", "workers"],
        "leave it out: each agent runs a worker per CPU, or as many as its --workers says",
    ),
    (
        &["rps", "qps", "arrival_rate", "throughput"],
        "write rate in [load], such as \"2000/s\"",
    ),
    (
        &["keepalive", "keep_alive"],
        "write requests in [connection]: \"unlimited\" is keep-alive on, 1 is off",
    ),
    (
        &["insecure", "skip_verify", "verify_peer"],
        "write verify = \"none\" in [tls]",
    ),
    (&["sni"], "write server_name in [tls]"),
    (
        &["ciphers", "ciphersuites", "suites"],
        "write cipher_suites in [tls]",
    ),
    (&["curves"], "write groups in [tls]"),
    (
        &["min_version", "max_version", "protocols"],
        "write versions in [tls], such as [\"1.2\", \"1.3\"]",
    ),
    (
        &["client_cert", "client_certificate", "certificate", "certs"],
        "write client_certificates in [tls], such as [{ cert = \"a.pem\", key = \"a.key\" }]",
    ),
    (
        &["zero_rtt", "0rtt", "0-rtt", "earlydata"],
        "write early_data in [tls]",
    ),
    (
        &[
            "session_tickets",
            "tickets",
            "session_reuse",
            "reuse",
            "resume",
        ],
        "write resumption in [tls]",
    ),
    (
        &[
            "renegotiation",
            "renegotiate",
            "client_renegotiation",
            "allow_renegotiation",
        ],
        "rustls never renegotiates, and TLS 1.3 forbids it (RFC 8446 §4.1.2); try `openssl \
         s_client -tls1_2` and type R",
    ),
    (
        &[
            "signature_algorithms",
            "signature_schemes",
            "sigalgs",
            "signatures",
        ],
        "rustls offers all that it verifies, and never SHA-1; try `openssl s_client -sigalgs`, \
         which can offer others",
    ),
    (
        &[
            "psk",
            "psk_identity",
            "pre_shared_key",
            "external_psk",
            "srp",
        ],
        "rustls has no keys that both sides know beforehand; try `openssl s_client -psk`",
    ),
    (
        &[
            "compression",
            "heartbeat",
            "dtls",
            "quic",
            "max_fragment_length",
            "record_size_limit",
        ],
        "rustls has no such thing; try `openssl s_client`, which has most of them",
    ),
    (
        &["ocsp", "stapling", "ocsp_stapling", "status_request"],
        "leave it out: a staple is always asked for, and is in the result",
    ),
    (
        &["keylog", "sslkeylogfile", "key_log_file"],
        "write key_log in [tls], such as \"all\"",
    ),
    (
        &["timeout"],
        "write timeouts in [connection], such as { request = \"30s\" }",
    ),
    (
        &["stages", "ramp", "ramp_up", "rampup"],
        "write a [[load.stage]] with over and to",
    ),
    (&["warmup"], "write warm_up in [load]"),
    (&["iterations", "number"], "write requests in [load]"),
    (
        &["hosts", "server", "servers", "resolve", "connect_to"],
        "write addresses in [target]",
    ),
    (
        &["host"],
        "write the host in target.url; a Host field of its own stands in request.headers",
    ),
    (
        &["requests_per_connection"],
        "write requests in [connection]",
    ),
    (
        &["scenarios"],
        "write several [[request]] with their weight",
    ),
];

/// What to write instead of the unknown `key` of the table `path`, whose keys are `siblings`.
pub(crate) fn cure(path: &str, key: &str, siblings: &[&str]) -> String {
    let containing = siblings
        .iter()
        .copied()
        .find(|sibling| key.len() > 3 && sibling.contains(key));
    if let Some(sibling) = nearest(key, siblings.iter().copied()).or(containing) {
        return format!("write {sibling}");
    }
    if let Some((_, cure)) = RENAMED.iter().find(|(names, _)| names.contains(&key)) {
        return (*cure).to_owned();
    }
    if let Some(elsewhere) = elsewhere(path, key) {
        return format!("write it as {elsewhere}");
    }
    if siblings.is_empty() {
        "remove it".to_owned()
    } else {
        format!("the keys here are {}", siblings.join(", "))
    }
}

/// The path whose last name is, or nearly is, `key`.
fn elsewhere(path: &str, key: &str) -> Option<&'static str> {
    let last = |known: &&'static str| known.rsplit('.').next().unwrap_or(known).to_owned();
    // What the built-in target has is hardly meant by somebody who writes of something else.
    let is_far = |table: &str| table.starts_with("target.builtin") && !path.starts_with("target");
    let is_elsewhere = |table: &str| table != path && !is_far(table);
    let candidates = || {
        KEYS.iter().copied().filter(|known| {
            known
                .rsplit_once('.')
                .is_some_and(|(table, _)| is_elsewhere(table))
        })
    };
    let lasts: Vec<String> = candidates().map(|known| last(&known)).collect();
    let name = nearest(key, lasts.iter().map(String::as_str))?.to_owned();
    candidates().find(|known| last(known) == name)
}

/// The nearest of `names`, where one is near enough to be a slip: a third of its letters.
fn nearest<'n>(key: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    if key.len() > 40 {
        return None;
    }
    let key = key.to_ascii_lowercase().replace('-', "_");
    let distances = names.map(|name| (damerau_levenshtein(&key, name), name));
    distances
        .min()
        .filter(|(distance, name)| *distance <= name.len() / 3)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::cure;

    #[test]
    fn a_slip_names_the_key_that_was_meant() {
        let load = ["connections", "rate", "duration", "warm_up", "stage"];
        let cases = [
            ("load", "conections", "write connections"),
            ("load", "Rate", "write rate"),
            ("load", "warm-up", "write warm_up"),
            ("load", "stages", "write stage"),
            ("load", "vus", "write connections in [load]"),
            (
                "load",
                "timeout",
                "write timeouts in [connection], such as { request = \"30s\" }",
            ),
            ("load", "url", "write it as target.url"),
            (
                "load",
                "xyzzy",
                "the keys here are connections, rate, duration, warm_up, stage",
            ),
        ];
        for (path, key, cured) in cases {
            assert_eq!(cure(path, key, &load), cured, "{key}");
        }
        assert_eq!(
            cure("", "duration", &["name", "target", "load"]),
            "write it as load.duration"
        );
    }
}
