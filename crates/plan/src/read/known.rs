//! All keys of a plan, and what to write instead of unknown ones.

use crate::read::{
    builtin, capture, connection, event_stream, expect, fleet, grpc, identities, journey,
    journey_load, key_log, load, repeat, replay, request, search, target, tls, websocket,
};
use strsim::damerau_levenshtein;

/// Paths of a plan, by the sections that read them.
const SECTIONS: &[&[&str]] = &[
    &["name", "vars", "data", "let", "auth"],
    target::KEYS,
    builtin::KEYS,
    replay::KEYS,
    request::KEYS,
    expect::KEYS,
    event_stream::KEYS,
    grpc::KEYS,
    websocket::KEYS,
    capture::KEYS,
    journey::KEYS,
    journey_load::KEYS,
    connection::KEYS,
    tls::KEYS,
    identities::KEYS,
    key_log::KEYS,
    load::KEYS,
    fleet::KEYS,
    &["thresholds"],
];

/// Paths of the sections that turn a plan into several runs or a search.
const CAMPAIGN_SECTIONS: &[&[&str]] = &[&["variants", "matrix"], repeat::KEYS, search::KEYS];

/// All paths of a plan, without indices.
pub(crate) const KEYS: &[&str] = &join::<{ number(SECTIONS) }>(SECTIONS);

/// All paths of [`CAMPAIGN_SECTIONS`], without indices.
pub(crate) const CAMPAIGN_KEYS: &[&str] = &join::<{ number(CAMPAIGN_SECTIONS) }>(CAMPAIGN_SECTIONS);

const fn number(sections: &[&[&str]]) -> usize {
    let mut number = 0;
    let mut section = 0;
    while section < sections.len() {
        number += sections[section].len();
        section += 1;
    }
    number
}

/// The keys of all sections, `N` in total. Uses loops, since constants cannot use iterators.
const fn join<const N: usize>(sections: &[&[&'static str]]) -> [&'static str; N] {
    let mut keys = [""; N];
    let mut number = 0;
    let mut section = 0;
    while section < sections.len() {
        let mut key = 0;
        while key < sections[section].len() {
            keys[number] = sections[section][key];
            number += 1;
            key += 1;
        }
        section += 1;
    }
    keys
}

/// Names in other tools for things that a plan calls otherwise.
const RENAMED: &[(&[&str], &str)] = &[
    (
        &[
            "users",
            "vus",
            "virtual_users",
            "concurrency",
            "clients",
            "c",
        ],
        "write connections in [load]",
    ),
    (
        &["maxVUs", "preAllocatedVUs"],
        "write max_connections in [load]",
    ),
    (
        &["executor"],
        "write connections (a closed loop) or rate (an open loop) in [load]",
    ),
    (
        &["sleep", "pause", "think"],
        "write think_time in [load], such as \"1s\"",
    ),
    (
        &["threads", "workers"],
        "leave it out: each agent runs a worker per CPU, or as many as its --workers says",
    ),
    (
        &[
            "rps",
            "qps",
            "arrival_rate",
            "requests_per_second",
            "startRate",
            "throughput",
            "timeUnit",
        ],
        "write rate in [load], such as \"2000/s\"",
    ),
    (
        &[
            "keepalive",
            "keep_alive",
            "disable_keepalive",
            "noConnectionReuse",
        ],
        "write requests in [connection]: \"unlimited\" is keep-alive on, 1 is off",
    ),
    (
        &[
            "insecure",
            "insecureSkipTLSVerify",
            "skip_verify",
            "verify_peer",
        ],
        "write verify = \"none\" in [tls]",
    ),
    (
        &["scenario", "scenarios", "flow"],
        "write [[journey]] with a name and steps = [\"NAME\", …]",
    ),
    (
        &["extract", "extractor", "save_as"],
        "write capture in [[request]], such as capture.token = { json = \"/token\" }",
    ),
    (
        &["jsonpath", "json_path", "jmespath"],
        "write json = \"/items/0/id\", a JSON pointer (RFC 6901)",
    ),
    (
        &["regex", "regexp"],
        "write matches = 'id=([0-9]+)', a regular expression",
    ),
    (
        &["css", "selector", "xpath"],
        "write html = \"input[name=csrf]\" and attribute = \"value\"",
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
        &["signature_algorithms", "signature_schemes", "sigalgs"],
        "write signatures in [tls], such as [\"ecdsa_secp256r1_sha256\"]",
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
    (&["iterations", "number", "n"], "write requests in [load]"),
    (
        &["cookies", "user_agent", "userAgent"],
        "write it as a field of request.headers",
    ),
    (&["data", "payload"], "write body in [request]"),
    (&["h2"], "write http = \"2\" in [connection]"),
    (&["call", "rpc"], "write method in request.grpc"),
    (
        &["protoset", "proto", "protos"],
        "write descriptors in request.grpc, a file that protoc --descriptor_set_out makes",
    ),
    (
        &["chunked", "chunk_size", "transfer_encoding"],
        "write chunk_bytes in [request], the bytes of each chunk of the body",
    ),
    (
        &["expect_100", "continue", "expect_100_continue"],
        "write expect_continue in [request], how long the body waits",
    ),
    (
        &["redirects", "max_redirects", "follow_redirects"],
        "write redirects in [request], the most that an operation follows",
    ),
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

/// Names that mean something different in these tables than the same key elsewhere.
const RENAMED_IN: [(&str, &[&str], &str); 5] = [
    ("repeat", &["count", "number", "runs"], "write times"),
    (
        "load.stage",
        &["duration", "length", "for", "time"],
        "write over, the time that the stage takes, such as \"1m\"",
    ),
    (
        "load.stage",
        &["target", "rate", "users", "vus", "connections", "startRate"],
        "write to, the rate or number of users at the end of the stage; without it the stage holds \
         what was before",
    ),
    (
        "request.expect",
        &["body", "text", "content", "regex"],
        "write contains or matches for the body's text, or json for its values",
    ),
    ("request.expect", &["header"], "write headers"),
];

/// Suggests what to write instead of the unknown `key` of the table `path`, whose keys are
/// `siblings`.
pub(crate) fn cure(path: &str, key: &str, siblings: &[&str]) -> String {
    let table = without_indices(path);
    let renamed = RENAMED_IN
        .iter()
        .find(|(of, names, _)| *of == table && names.contains(&key));
    if let Some((_, _, cure)) = renamed {
        return (*cure).to_owned();
    }
    // Keys of up to three letters are contained in too many others.
    let containing = siblings
        .iter()
        .copied()
        .find(|sibling| key.len() > 3 && sibling.contains(key));
    if let Some(sibling) = nearest(key, siblings.iter().copied()).or(containing) {
        return format!("write {sibling}");
    }
    // Names that other programs use come after likely typing errors.
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

/// Removes the indices from a path, as in [`KEYS`].
fn without_indices(path: &str) -> String {
    let parts = path
        .split('.')
        .map(|part| part.split('[').next().unwrap_or(part));
    parts.collect::<Vec<&str>>().join(".")
}

/// The path whose last name is, or nearly is, `key`.
fn elsewhere(path: &str, key: &str) -> Option<String> {
    // A user who writes about something else hardly means a key of the built-in target.
    let is_far = |table: &str| {
        let is_builtin = table.starts_with("target.builtin") && !path.starts_with("target");
        // That is for canonical texts.
        is_builtin || table == "replay.log"
    };
    let candidates: Vec<(&str, &str)> = KEYS
        .iter()
        .filter_map(|known| known.rsplit_once('.'))
        .filter(|(table, _)| *table != path && !is_far(table))
        .collect();
    let meant = nearest(key, candidates.iter().map(|(_, name)| *name))?;
    // If several tables have this key, the first in the plan's order.
    let (table, _) = candidates.iter().find(|(_, name)| *name == meant)?;
    Some(format!("{table}.{meant}"))
}

/// The nearest of `names`, if one is near enough to be a typing error: within a third of its
/// letters.
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
            ("load", "maxVUs", "write max_connections in [load]"),
            ("load", "n", "write requests in [load]"),
            ("load", "url", "write it as target.url"),
            (
                "load.stage[0]",
                "duration",
                "write over, the time that the stage takes, such as \"1m\"",
            ),
            (
                "request[3].expect",
                "body",
                "write contains or matches for the body's text, or json for its values",
            ),
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
