//! Every control of `[tls]` that affects what is negotiated or verified: the server saw what the
//! plan says and what the result reports.

use crate::servers::{REQUESTS, USERS, assert_all_ok, run, run_alone};
use analysis::Document;
use interop::{
    CoordinatorCommand, Haproxy, HaproxyFrontend, HaproxyOptions, Nginx, NginxOptions, NginxServer,
    Pki, ensure, plan, play_side_by_side,
};

/// Runs at once: those whose handshakes are refused mostly wait.
const AT_ONCE: usize = 4;

/// The outcome of a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Agreed<'a> {
    version: &'a str,
    /// IANA's name.
    suite: &'a str,
    /// IANA's name; empty for servers that do not log it.
    group: &'a str,
    server_name: &'a str,
    alpn: &'a str,
}

/// What these servers choose if a plan says nothing.
const USUAL: Agreed<'static> = Agreed {
    version: "TLS 1.3",
    suite: "TLS_AES_256_GCM_SHA384",
    group: "X25519",
    server_name: "",
    alpn: "",
};
const ECDSA_256: &str = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384";
const OLD: Agreed<'static> = Agreed {
    version: "TLS 1.2",
    suite: ECDSA_256,
    ..USUAL
};

const fn suite(name: &'static str) -> Agreed<'static> {
    if name.len() > 30 {
        Agreed { suite: name, ..OLD }
    } else {
        Agreed {
            suite: name,
            ..USUAL
        }
    }
}

/// HAProxy only chooses among its certificates if it knows the name.
const fn rsa(name: &'static str) -> Agreed<'static> {
    Agreed {
        server_name: "localhost",
        ..suite(name)
    }
}

/// Lines of `[tls]`, and their outcome.
const CASES: [(&str, Agreed<'static>); 19] = [
    ("", USUAL),
    ("versions = [\"1.2\"]", OLD),
    ("versions = [\"1.3\"]", USUAL),
    (
        "cipher_suites = [\"TLS_AES_256_GCM_SHA384\"]",
        suite("TLS_AES_256_GCM_SHA384"),
    ),
    (
        "cipher_suites = [\"TLS_AES_128_GCM_SHA256\"]",
        suite("TLS_AES_128_GCM_SHA256"),
    ),
    (
        "cipher_suites = [\"TLS13_CHACHA20_POLY1305_SHA256\"]",
        suite("TLS_CHACHA20_POLY1305_SHA256"),
    ),
    (
        "cipher_suites = [\"ECDHE-ECDSA-AES256-GCM-SHA384\"]",
        suite(ECDSA_256),
    ),
    (
        "cipher_suites = [\"ECDHE-ECDSA-AES128-GCM-SHA256\"]",
        suite("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
    ),
    (
        "cipher_suites = [\"ECDHE-ECDSA-CHACHA20-POLY1305\"]",
        suite("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"),
    ),
    (
        "cipher_suites = [\"ECDHE-RSA-AES256-GCM-SHA384\"]\nserver_name = \"localhost\"",
        rsa("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"),
    ),
    (
        "cipher_suites = [\"ECDHE-RSA-AES128-GCM-SHA256\"]\nserver_name = \"localhost\"",
        rsa("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
    ),
    (
        "cipher_suites = [\"ECDHE-RSA-CHACHA20-POLY1305\"]\nserver_name = \"localhost\"",
        rsa("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
    ),
    ("groups = [\"X25519\"]", USUAL),
    (
        "groups = [\"secp256r1\"]",
        Agreed {
            group: "secp256r1",
            ..USUAL
        },
    ),
    (
        "groups = [\"P-384\"]",
        Agreed {
            group: "secp384r1",
            ..USUAL
        },
    ),
    (
        "versions = [\"1.2\"]\ngroups = [\"secp256r1\"]",
        Agreed {
            group: "secp256r1",
            ..OLD
        },
    ),
    (
        "server_name = \"localhost\"",
        Agreed {
            server_name: "localhost",
            ..USUAL
        },
    ),
    (
        "alpn = [\"http/1.1\"]",
        Agreed {
            alpn: "http/1.1",
            ..USUAL
        },
    ),
    (
        "alpn = [\"http/1.0\", \"http/1.1\"]\nserver_name = \"localhost\"",
        {
            Agreed {
                alpn: "http/1.1",
                server_name: "localhost",
                ..USUAL
            }
        },
    ),
];

fn sections(tls: &str) -> String {
    tls.lines()
        .map(|line| format!("tls.{line}\n"))
        .collect::<String>()
        + "connection.requests = 1\n"
}

/// The one combination that all handshakes of the result negotiated; results do not contain the
/// name that was sent.
fn reported<'a>(document: &'a Document, server_name: &'a str) -> Agreed<'a> {
    let [one] = &document.measured.negotiated[..] else {
        panic!("{:?}", document.measured.negotiated)
    };
    assert_eq!((one.count, one.handshake.as_str()), (REQUESTS, "full"));
    Agreed {
        version: &one.version,
        suite: &one.suite,
        group: &one.group,
        server_name,
        alpn: &one.alpn,
    }
}

/// OpenSSL's names as IANA's.
fn iana(name: &str) -> String {
    match name {
        "prime256v1" => "secp256r1".to_owned(),
        _ if name.starts_with("TLSv") => name.replace("TLSv", "TLS "),
        _ if name.starts_with("ECDHE") => {
            let name = format!("TLS_{}", name.replace('-', "_"));
            let name = name
                .replace("ECDSA_", "ECDSA_WITH_")
                .replace("RSA_", "RSA_WITH_")
                .replace("AES", "AES_");
            if name.ends_with("POLY1305") {
                name + "_SHA256"
            } else {
                name
            }
        }
        _ => name.to_owned(),
    }
}

#[test]
fn nginx_sees_what_the_plan_chooses() {
    let pki = Pki::new();
    let options = NginxOptions {
        groups: "X25519:prime256v1:secp384r1",
        ..NginxOptions::default()
    };
    let Some(nginx) = Nginx::start(&pki, &options) else {
        return;
    };
    for (tls, agreed) in CASES {
        let before = nginx.requests().len();
        let document = run_alone(&plan(
            &nginx.url(NginxServer::AnyTls, "/"),
            &pki,
            &sections(tls),
        ));
        assert_all_ok(&document.measured);
        assert_eq!(reported(&document, agreed.server_name), agreed, "{tls}");
        let rows = nginx.wait_for_requests(before + REQUESTS as usize);
        assert_eq!(rows.len() - before, REQUESTS as usize, "{tls}");
        for row in &rows[before..] {
            let (version, suite, group) =
                (iana(&row.protocol), iana(&row.cipher), iana(&row.curve));
            let (server_name, alpn) = (row.server_name.as_str(), row.alpn.as_str());
            assert_eq!(
                Agreed {
                    version: &version,
                    suite: &suite,
                    group: &group,
                    server_name,
                    alpn
                },
                agreed,
                "{tls}"
            );
        }
    }
}

#[test]
fn haproxy_sees_what_the_plan_chooses() {
    let pki = Pki::new();
    let Some(haproxy) = Haproxy::start(&pki, HaproxyOptions::default()) else {
        return;
    };
    for (number, (tls, agreed)) in CASES.into_iter().enumerate() {
        let document = run_alone(&plan(
            &haproxy.url(HaproxyFrontend::AnyTls, "/"),
            &pki,
            &sections(tls),
        ));
        assert_all_ok(&document.measured);
        assert_eq!(reported(&document, agreed.server_name), agreed, "{tls}");
        let rows = haproxy.wait_for_rows((number + 1) * REQUESTS as usize);
        for row in &rows[number * REQUESTS as usize..] {
            let (version, suite) = (iana(&row.protocol), iana(&row.cipher));
            let (server_name, alpn) = (row.server_name.as_str(), row.alpn.as_str());
            // It does not log the group before 2.8.
            assert_eq!(
                Agreed {
                    version: &version,
                    suite: &suite,
                    group: agreed.group,
                    server_name,
                    alpn
                },
                agreed,
                "{tls}"
            );
        }
    }
}

/// The plan trusts an authority of the same name with another key.
const OTHER_KEY: &str = "tls.certificate.bad_signature";

/// How much of a server is verified, and the outcome.
#[test]
fn servers_are_checked_as_much_as_the_plan_says() {
    let (pki, strangers) = (Pki::new(), Pki::new());
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let Some(haproxy) = Haproxy::start(&pki, HaproxyOptions::default()) else {
        return;
    };
    // (verify, whether the plan trusts the authority, name, outcome; empty: ok)
    let cases = [
        ("full", true, "localhost", None),
        ("full", false, "localhost", Some(OTHER_KEY)),
        (
            "full",
            true,
            "other.test",
            Some("tls.certificate.wrong_name"),
        ),
        ("once", true, "localhost", None),
        ("once", false, "localhost", Some(OTHER_KEY)),
        (
            "once",
            true,
            "other.test",
            Some("tls.certificate.wrong_name"),
        ),
        ("none", false, "other.test", None),
    ];
    let urls = [
        nginx.url(NginxServer::AnyTls, "/"),
        haproxy.url(HaproxyFrontend::AnyTls, "/"),
    ];
    let cases = cases.map(|case| urls.each_ref().map(|url| (url, case)));
    play_side_by_side(
        cases.into_iter().flatten(),
        AT_ONCE,
        |case| format!("{case:?}"),
        |&(url, (verify, trusts, name, error))| {
            let trusted = if trusts { &pki } else { &strangers };
            let sections = format!(
                "tls.verify = {verify:?}\ntls.server_name = {name:?}\nconnection.requests = 1\n"
            );
            let load = format!("load = {{ connections = 4, requests = {REQUESTS} }}\n");
            let text = format!("{load}{}", plan(url, trusted, &sections));
            let measured = CoordinatorCommand::local(1, &text)
                .run()
                .expect(i32::from(error.is_some()))
                .clean()
                .document()
                .measured;
            let errors = measured.errors.iter();
            let errors: Vec<_> = errors
                .map(|error| (error.name.as_str(), error.count))
                .collect();
            let expected: Vec<_> = error.map(|name| (name, REQUESTS)).into_iter().collect();
            ensure(errors == expected, || {
                format!("{errors:?}, not {expected:?}")
            })
        },
    );
}

#[test]
fn staple_of_nginx_is_reported_with_its_age() {
    let pki = Pki::new();
    let Some(ocsp_response) = interop::ocsp_response(pki.folder()) else {
        return;
    };
    let options = NginxOptions {
        ocsp_response: Some(ocsp_response),
        ..NginxOptions::default()
    };
    let Some(nginx) = Nginx::start(&pki, &options) else {
        return;
    };
    for version in ["1.2", "1.3"] {
        let sections = sections(&format!("versions = [{version:?}]"));
        let document = run_alone(&plan(&nginx.url(NginxServer::AnyTls, "/"), &pki, &sections));
        let [staple] = &document.measured.ocsp_staples[..] else {
            panic!("{:?}", document.measured.ocsp_staples)
        };
        assert_eq!(
            (staple.count, staple.share, staple.expired),
            (REQUESTS, 1.0, false),
            "TLS {version}"
        );
        // OpenSSL's clock has whole seconds, and this test takes less than minutes.
        assert!(
            staple
                .age_at_start_s
                .is_some_and(|age| (0..600).contains(&age)),
            "{staple:?}"
        );
        assert!(
            staple.produced_at.is_some() && staple.next_update > staple.this_update,
            "{staple:?}"
        );
        assert!(
            document
                .measured
                .negotiated
                .iter()
                .all(|agreed| agreed.ocsp_staple)
        );
    }
}

#[test]
fn names_of_openssl_are_understood() {
    let cases = [
        ("ECDHE-ECDSA-AES256-GCM-SHA384", ECDSA_256),
        (
            "ECDHE-RSA-CHACHA20-POLY1305",
            "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        ),
        ("TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"),
        ("TLSv1.3", "TLS 1.3"),
        ("prime256v1", "secp256r1"),
    ];
    for (name, expected) in cases {
        assert_eq!(iana(name), expected);
    }
}

/// Shares and kinds of resumption, as `nginx.rs` tests them with nginx.
#[test]
fn haproxy_resumes_as_often_and_by_what_the_plan_says() {
    use HaproxyFrontend::{Tls12Rsa, Tls12Tickets, Tls13Tickets};
    let pki = Pki::new();
    let by_id = "versions = [\"1.2\"]\nresumption = { kind = \"session-id\" }";
    let half = "resumption = { share = 0.5 }";
    // (session cache, frontend, lines of [tls], resumed at least and at most)
    let (all, middle) = (REQUESTS - USERS, REQUESTS / 2);
    let cases = [
        (
            false,
            Tls12Tickets,
            half,
            middle - 2 * USERS,
            middle + 2 * USERS,
        ),
        (
            false,
            Tls13Tickets,
            half,
            middle - 2 * USERS,
            middle + 2 * USERS,
        ),
        (true, Tls12Rsa, by_id, all, all),
        (false, Tls12Tickets, by_id, 0, 0),
    ];
    for (session_cache, frontend, tls, least, most) in cases {
        let Some(haproxy) = Haproxy::start(&pki, HaproxyOptions::caching(session_cache)) else {
            return;
        };
        let measured = run(&plan(&haproxy.url(frontend, "/"), &pki, &sections(tls))).measured;
        assert_all_ok(&measured);
        let counts = haproxy.wait_for_requests(frontend, REQUESTS);
        assert_eq!(
            measured.resumption.resumed, counts.handshakes_resumed,
            "{frontend:?}, {tls}"
        );
        assert!(
            (least..=most).contains(&counts.handshakes_resumed),
            "{frontend:?}, {tls}: {counts:?}"
        );
    }
}
