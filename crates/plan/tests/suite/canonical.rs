//! Canonical text: its content, that it reads back as the same plan, and that it never changes.

use crate::support::{again, parse};
use plan::ThresholdScope;

const FULL: &str = r#"
name = "edge-handshakes"

[target]
url = "https://Edge.test:8443/index.html"
addresses = ["10.0.0.11", "[2001:db8::1]:8443"]

[[request]]
headers = { accept = ["text/html", "*/*"], "x.y" = "{user}\t\"q\"" }
body_file = "body.json"
method = "POST"
expect = { status = [404, "2xx", "290-303"], bytes = 356 }
[[request]]
name = "item"
path = "/item/{seq}?r={random}"
body = "line\nline\u0007"
weight = 3

[connection]
requests = 5
close = "server"
source_addresses = ["10.0.1.1"]
timeouts = { connect = "1.5s" }

[tls]
versions = ["1.3", "1.2"]
cipher_suites = ["TLS13_AES_256_GCM_SHA384", "ECDHE-RSA-AES128-GCM-SHA256"]
groups = ["P-256", "X25519MLKEM768"]
key_share = "remembered"
resumption = { share = 0.8 }
verify = "once"
key_exchange = "cheap"
ca = "ca.pem"
client_certificates = [{ cert = "a.pem", key = "a.key" }]
server_name = "Edge.test"
alpn = ["http/1.1"]

[load]
rate = "100/m"
arrivals = "poisson"
warm_up = "10s"
seed = 42
[[load.stage]]
over = "60s"
to = "250/s"
[[load.stage]]
over = "90s"

[fleet]
lost = "continue"
tolerate = "0.50%"
join_timeout = "120s"
lease = "0.5m"

[thresholds]
response_time.p99 = "<=250ms"
"response_time.p99.9" = "< 1.5s"
"errors.share" = "<= 0.1%"
tls.resumed.share = ">= 0.75"
"#;

#[test]
fn stream_stands_in_the_canonical_text_only_if_there_is_one() {
    let base = "target.url = \"http://a.test/\"\nload = { connections = 1, requests = 1 }\n";
    let line = |stream: &str| {
        let plan = parse(&format!("{base}{stream}")).unwrap();
        assert_eq!(again(&plan), Ok(plan.clone()));
        let canonical = plan.canonical_text();
        let line = canonical.lines().find(|line| line.starts_with("stream"));
        line.map(str::to_owned)
    };
    let cases = [
        ("", None),
        (
            "request.stream.events = \"lines\"\n",
            Some("stream = { events = \"lines\" }"),
        ),
        (
            "[request.stream]\ncut_after = 100\nend = \"[DO\\nNE]\"\nevents = \"sse\"\n",
            Some("stream = { events = \"sse\", end = \"[DO\\nNE]\", cut_after = 100 }"),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(line(text).as_deref(), expected);
    }
}

#[test]
fn checks_stand_in_the_canonical_text_in_the_order_of_their_numbers() {
    let text = r#"
target.url = "http://a.test/"
load = { connections = 1, requests = 1 }
[request.expect]
json = { "/b" = "ok", "/a" = { below = 5, above = 1 } }
matches = 'order-\d+'
bytes = { min = 1, max = 2048 }
contains = "Wel\ncome"
headers = { X-Cache = { matches = "^HIT", present = true }, age = 0, "a.b" = "c" }
"#;
    let plan = parse(text).unwrap();
    let canonical = plan.canonical_text();
    let line = canonical
        .lines()
        .find(|line| line.starts_with("expect"))
        .unwrap();
    assert_eq!(
        line,
        [
            r#"expect = { status = ["100-399"], bytes = { min = 1, max = 2048 }, "#,
            r#"headers = { "x-cache" = { present = true, matches = "^HIT" }, "age" = 0, "#,
            r#""a.b" = "c" }, contains = ["Wel\ncome"], matches = ["order-\\d+"], "#,
            r#"json = { "/b" = "ok", "/a" = { above = 1.0, below = 5.0 } } }"#,
        ]
        .concat()
    );
    assert_eq!(again(&plan), Ok(plan.clone()));
    let words: Vec<String> = plan.checks().map(|(_, failure)| failure).collect();
    assert_eq!(
        words,
        [
            "header x-cache is missing",
            "header x-cache does not match \"^HIT\"",
            "header age is not 0",
            "header a.b is not \"c\"",
            "body lacks \"Wel\\ncome\"",
            "body does not match \"order-\\\\d+\"",
            "JSON /b is not \"ok\"",
            "JSON /a is not > 1",
            "JSON /a is not < 5",
        ]
    );
}

#[test]
fn threshold_of_a_request_reads_back_whichever_characters_its_name_has() {
    for name in ["index", "GET /a.b?c=1", "a\"b\\c", "ü.response_time"] {
        let quoted = plan::quote(name);
        let text = format!(
            "target.url = \"https://a.test/\"\nload = {{ connections = 1, requests = 1 }}\n\
             request = [{{ name = {quoted} }}, {{ name = \"b\" }}]\n[thresholds]\n\
             request.{quoted}.response_time.p95 = \"<= 250ms\"\n"
        );
        let plan = parse(&text).unwrap();
        let threshold = &plan.thresholds()[0];
        assert_eq!(threshold.scope, ThresholdScope::Request(name.to_owned()));
        assert_eq!(again(&plan).unwrap().thresholds(), plan.thresholds());
    }
}

#[test]
fn canonical_text_writes_every_default_out() {
    let plan = parse(FULL).unwrap();
    let golden = include_str!("canonical/full.toml");
    assert_eq!(plan.canonical_text(), golden);
    // Agents and coordinators of one version must agree; a change here changes the wire protocol.
    assert_eq!(
        plan.digest().to_string(),
        include_str!("canonical/full.sha256").trim()
    );
}

#[test]
fn the_least_plan_has_defaults() {
    let plan = parse("target.builtin = true\nload.connections = 1\nload.requests = 1").unwrap();
    assert_eq!(plan.canonical_text(), include_str!("canonical/least.toml"));
    assert_eq!(again(&plan).as_ref(), Ok(&plan));
}

#[test]
fn canonical_text_reads_back_as_the_same_plan() {
    let plan = parse(FULL).unwrap();
    let second = again(&plan).unwrap();
    assert_eq!(second, plan);
    assert_eq!(second.canonical_text(), plan.canonical_text());
    // The raw reader accepts it too, and then reads the files by name.
    assert_eq!(parse(&plan.canonical_text()).as_ref(), Ok(&plan));
}

#[test]
fn one_plan_has_one_text_however_it_is_written() {
    let ways = [
        "[target]\nurl = \"https://a.test\"\n[load]\nrate = \"120/m\"\nduration = \"1m30s\"\n\
         [thresholds]\n\"errors.share\" = \"<=0\"",
        "thresholds.errors.share = \"<= 0%\"\nload = { duration = \"90s\", rate = \"2/s\" }\n\
         \"target.url\" = \"HTTPS://A.test:443/\"",
        "\"thresholds.errors.share\" = \"<= 0.0\"\n\"load.duration\" = \"90000ms\"\n\
         [target]\nurl = \"https://a.test/\"\n[load]\nrate = \"7200/h\"",
    ];
    let digests = ways.map(|way| parse(way).unwrap().digest());
    assert_eq!(digests, [digests[0]; 3]);
}

#[test]
fn a_listening_builtin_target_reads_back_with_its_address_and_ca() {
    let plan = parse("target.builtin = true\nload.rate = \"5/s\"\nload.duration = \"1s\"").unwrap();
    let pem = b"-----BEGIN CERTIFICATE-----\n";
    let listening = plan
        .clone()
        .with_builtin_at("127.0.0.1:4433".parse().unwrap(), Some(pem));
    assert_eq!(
        listening.target().url.to_string(),
        "https://127.0.0.1:4433/"
    );
    assert_eq!(listening.files().len(), 1);
    assert_eq!(again(&listening).as_ref(), Ok(&listening));
    assert_ne!(listening.digest(), plan.digest());
}

#[test]
fn canonical_text_wants_its_files_by_hash() {
    let plan = parse(FULL).unwrap();
    let missing = plan::Plan::parse_canonical(&plan.canonical_text(), &|_| None)
        .unwrap_err()
        .to_string();
    // Client certificates and keys can be elsewhere.
    assert_eq!(
        missing
            .matches("no content with its hash is at hand")
            .count(),
        2,
        "{missing}"
    );
    let forged =
        plan::Plan::parse_canonical(&plan.canonical_text(), &|_| Some(b"else".as_slice().into()))
            .unwrap_err()
            .to_string();
    assert_eq!(
        forged.matches("which is not the stated one").count(),
        4,
        "{forged}"
    );
    let by_name = "load = { rate = \"1/s\", requests = 1 }\n\
                   target.url = \"https://a.test\"\n\
                   tls.ca = \"ca.pem\"";
    let by_name = plan::Plan::parse_canonical(by_name, &|_| None)
        .unwrap_err()
        .to_string();
    assert!(
        by_name.contains("canonical text names files with their sha256"),
        "{by_name}"
    );
}

#[test]
fn private_files_may_be_known_by_their_hash_alone() {
    let plan = parse(FULL).unwrap();
    let public: Vec<_> = plan.files().into_iter().cloned().collect();
    let content = |sha256| {
        public
            .iter()
            .find(|file| file.sha256 == sha256)
            .map(|file| file.content.clone())
    };
    let without = plan::Plan::parse_canonical(&plan.canonical_text(), &content).unwrap();
    assert_eq!(
        (&without, without.canonical_text()),
        (&plan, plan.canonical_text())
    );
    let keys = [&plan, &without].map(|plan| {
        plan.tls().unwrap().client_certificates.files()[0]
            .key
            .clone()
    });
    assert_eq!(
        keys.each_ref().map(|key| key.content.is_some()),
        [true, false]
    );
    // The content is never printed.
    assert_eq!(
        format!("{:?}", keys[0]),
        format!(
            "PrivateFile {{ name: \"a.key\", sha256: {}, content: Some(***) }}",
            keys[0].sha256
        )
    );
}

#[test]
fn minting_is_written_out_and_what_was_minted_is_no_part_of_the_text() {
    let text = "target.url = \"https://a.test\"\nload = { connections = 3, requests = 3 \
                }\ntls.client_certificates = { mint = 2, ca = \"ca.pem\", ca_key = \"a.key\" }";
    let plan = parse(text).unwrap();
    let line = plan
        .canonical_text()
        .lines()
        .find(|line| line.starts_with("client_certificates"))
        .unwrap()
        .to_owned();
    let (ca, key) = (
        plan::Sha256::hash(b"-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"),
        { plan::Sha256::hash(b"-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n") },
    );
    let files = format!(
        "ca = {{ file = \"ca.pem\", sha256 = \"{ca}\" }}, ca_key = {{ file = \"a.key\", sha256 = \
         \"{key}\" }}"
    );
    let expected = format!(
        "client_certificates = {{ mint = 2, {files}, subject = \"CN=user-{{user}}\", validity = \
         \"24h\" }}"
    );
    assert_eq!(line, expected);
    // The CA and its key remain where the plan was read.
    assert_eq!(plan.files().len(), 0);
    let elsewhere = plan::Plan::parse_canonical(&plan.canonical_text(), &|_| None).unwrap();
    assert_eq!(elsewhere, plan);
    assert!(
        elsewhere
            .tls()
            .unwrap()
            .client_certificates
            .minting()
            .unwrap()
            .ca_key
            .content
            .is_none()
    );
    assert_eq!(
        elsewhere.with_minted(plan::Minted::default()).digest(),
        plan.digest()
    );
}

#[test]
fn identities_go_round_users_and_agents() {
    let plan = |load: &str, mint: u32| {
        let tls = format!(
            "tls.client_certificates = {{ mint = {mint}, ca = \"ca.pem\", ca_key = \"a.key\" }}"
        );
        parse(&format!(
            "target.url = \"https://a.test\"\nload = {load}\n{tls}"
        ))
        .unwrap()
    };
    let places = |plan: &plan::Plan, agent, agents, worker, workers| {
        plan.identities(plan::Owner {
            agent,
            agents,
            worker,
            workers,
        })
        .into_iter()
        .collect::<Vec<usize>>()
    };
    // Agent 0 has the users 0, 2, 4 and agent 1 the users 1, 3, 5; likewise the connections of an
    // open loop.
    for load in [
        "{ connections = 6, requests = 9 }",
        "{ rate = \"1/s\", max_connections = 6, requests = 9 }",
    ] {
        assert_eq!(places(&plan(load, 4), 0, 2, 0, 1), [0, 2]);
        assert_eq!(places(&plan(load, 4), 1, 2, 0, 1), [1, 3]);
        assert_eq!(places(&plan(load, 9), 1, 2, 0, 1), [1, 3, 5]);
        assert_eq!(places(&plan(load, 9), 1, 2, 1, 2), [3, 5]);
        assert_eq!(places(&plan(load, 1), 1, 2, 0, 1), [0]);
    }
}

#[test]
fn redirects_stand_in_the_text_only_if_some_are_followed() {
    let text = |redirects: &str| {
        let plan = format!(
            "target.url = \"https://a.test/\"\nload = {{ connections = 1, requests = 1 }}\n\
             [request]\n{redirects}"
        );
        parse(&plan).unwrap().canonical_text()
    };
    assert_eq!(text("redirects = 0\n"), text(""));
    assert!(!text("").contains("redirects"));
    let followed = text("redirects = 20\n");
    assert!(followed.contains("redirects = 20\n"));
    assert_eq!(parse(&followed).unwrap().canonical_text(), followed);
}

#[test]
fn origins_of_redirects_stand_in_the_text_only_if_there_are_any() {
    let text = |origins: &str| {
        let plan = format!(
            "load = {{ connections = 1, requests = 1 }}\nrequest.redirects = 5\n\
             [target]\nurl = \"http://a.test/\"\naddresses = [\"10.0.0.1:81\", \"10.0.0.2\"]\n\
             {origins}"
        );
        parse(&plan).unwrap().canonical_text()
    };
    assert_eq!(text("redirects_to = []\n"), text(""));
    assert!(!text("").contains("redirects_to") && !text("").contains("[tls]"));
    let named = text(
        "redirects_to = [\"https://a.test\", { url = \"http://b.test:80/\", addresses = \
         [\"::1\"] }, \"https://10.0.0.3:8443\"]\n",
    );
    assert!(
        named.contains(
            "redirects_to = [{ url = \"https://a.test\", addresses = [\"10.0.0.1\", \
             \"10.0.0.2\"] }, { url = \"http://b.test\", addresses = [\"::1\"] }, { url = \
             \"https://10.0.0.3:8443\", addresses = [] }]\n"
        ),
        "{named}"
    );
    // The plan has TLS, although its target has none.
    assert!(named.contains("[tls]"), "{named}");
    assert_eq!(parse(&named).unwrap().canonical_text(), named);
}

#[test]
fn transfer_stands_in_the_text_only_if_it_is_not_the_usual_one() {
    let text = |transfer: &str| {
        let plan = format!(
            "target.url = \"https://a.test/\"\nload = {{ connections = 1, requests = 1 }}\n\
             [request]\nmethod = \"POST\"\nbody = \"a\"\n{transfer}"
        );
        parse(&plan).unwrap().canonical_text()
    };
    assert!(!text("").contains("chunk_bytes") && !text("").contains("expect_continue"));
    let given = text("chunk_bytes = 1000\nexpect_continue = \"1500ms\"\n");
    assert!(given.contains("chunk_bytes = 1000\nexpect_continue = \"1500ms\"\n"));
    assert_eq!(parse(&given).unwrap().canonical_text(), given);
}

#[test]
fn saved_text_is_read_without_files_and_secrets() {
    let secret = FULL.replace("accept = ", "authorization = \"s3cret\", accept = ");
    let plan = parse(&secret).unwrap();
    let saved = plan::Plan::parse_saved(&plan.masked_text()).unwrap();
    assert_eq!(saved.canonical_text(), plan.masked_text());
    assert!(!saved.canonical_text().contains("s3cret"));
    assert_eq!(saved.thresholds(), plan.thresholds());
    let by_name = FULL.split("[tls]").next().unwrap();
    assert!(
        plan::Plan::parse_saved(by_name).is_err(),
        "no hash is stated"
    );
}

#[test]
fn websocket_reads_back_from_the_canonical_text() {
    let base = "target.url = \"http://a.test/\"\nload = { connections = 1, requests = 1 }\n";
    for socket in [
        "hold = \"1m\", protocols = [\"a\"]",
        "message = [\"{message}\", \"{user}\"], binary = true, count = 9",
        "message = \"a\", every = \"1s\", answer = \"none\", hold = \"1ms\"",
        "message = \"{}\", answer = { json = \"/a\" }, count = 1",
    ] {
        // A plan that declares names refuses others, but knows the number of a message.
        for names in ["", "let.id = \"uuid\"\ndata.users.file = \"users.csv\"\n"] {
            let plan = parse(&format!(
                "{base}{names}request.websocket = {{ {socket} }}\n"
            ))
            .unwrap();
            assert_eq!(again(&plan), Ok(plan.clone()), "{socket}");
        }
    }
    let request = "request = { path = \"/{message}\", websocket.hold = \"1s\" }";
    let other = format!("{base}let.id = \"uuid\"\n{request}\n");
    let said = parse(&other).unwrap_err();
    assert!(
        said.contains("request.path: {message} is none of"),
        "{said}"
    );
}
