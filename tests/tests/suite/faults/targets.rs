//! Targets that do not exist, are not what they claim, or are faulty.

use crate::faults::assert_refused;
use interop::{CoordinatorCommand, DEADLINE, Finished};
use rustix::net::{AddressFamily, SocketType, bind, ipproto, listen, socket};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;
use target::{
    BadFraming, CertificateDefect, Config, ConnectionEnd, FaultPlace, OpeningFault, RunningTarget,
    ServerTls, TargetAnswer, TargetFault,
};

/// Operations of each run.
const REQUESTS: u64 = 12;

/// Virtual users of each run.
const USERS: u64 = 3;

/// Each user runs into a few time-outs of 300 ms, one after the other, with back-offs in between.
const RUN_MAX: Duration = Duration::from_secs(20);

/// Runs against `url` with a threshold that any error fails. Only the time-out that makes failures
/// of this kind is short: a busy machine is slow.
fn run(url: &str, ca: Option<&str>, kind: &str) -> Finished {
    let short = match kind {
        "connect.time_out" => "connection.timeouts.connect = \"300ms\"\n",
        "tls.time_out" => "connection.timeouts.handshake = \"300ms\"\n",
        "http.time_out" => "connection.timeouts.request = \"300ms\"\n",
        _ => "",
    };
    let trust = if ca.is_some() {
        "tls.ca = \"ca.pem\"\n"
    } else {
        ""
    };
    let text = format!(
        "target.url = {url:?}\n{trust}load = {{ connections = {USERS}, requests = {REQUESTS} \
         }}\n{short}thresholds.\"errors.count\" = \"<= 0\"\n"
    );
    CoordinatorCommand::local(2, &text)
        .file("ca.pem", ca.unwrap_or_default().as_bytes())
        .run()
}

/// Asserts that every operation failed with this kind, in the result and on the console, and that
/// this made the threshold fail.
fn assert_counted(case: &str, finished: Finished, kind: &str) -> Finished {
    println!("{case}");
    let finished = finished.expect(1);
    let document = finished.document();
    let fired = Duration::from_nanos(document.run.duration_ns);
    assert!(fired < RUN_MAX, "{case}: {finished}");
    // A busy disk may take long to store the run.
    assert!(finished.took < DEADLINE, "{case}: {finished}");
    let errors: Vec<(&str, u64)> = document
        .measured
        .errors
        .iter()
        .map(|error| (error.name.as_str(), error.count))
        .collect();
    assert_eq!(errors, [(kind, REQUESTS)], "{case}");
    let operations = &document.measured.operations;
    assert_eq!(
        (operations.ended, operations.ok, operations.errors),
        (REQUESTS, 0, REQUESTS),
        "{case}"
    );
    assert!(finished.clean().stdout.contains(kind), "{case}: {finished}");
    finished
}

#[test]
fn each_fault_of_a_target_is_one_counted_kind() {
    let stop = |at, then| Config {
        answer: TargetAnswer::faulty(TargetFault::Stop { at, then }),
        ..Config::default()
    };
    let broken = |fault| Config {
        connection_fault: Some(fault),
        ..Config::default()
    };
    let certificate = |fault| Config {
        tls: Some(ServerTls {
            certificate_fault: Some(fault),
            ..ServerTls::default()
        }),
        ..Config::default()
    };
    let bad_framing = Config {
        answer: TargetAnswer::faulty(TargetFault::BadFraming(BadFraming::TwoLengths)),
        ..Config::default()
    };
    let cases = [
        (
            "resets the handshake",
            broken(OpeningFault::Reset),
            "tls.reset",
        ),
        (
            "closes in the handshake",
            broken(OpeningFault::Close),
            "tls.eof",
        ),
        (
            "speaks something else",
            broken(OpeningFault::Garbage),
            "tls.bad_tls",
        ),
        ("is silent", broken(OpeningFault::Silence), "tls.time_out"),
        (
            "expired",
            certificate(CertificateDefect::Expired),
            "tls.certificate.expired",
        ),
        (
            "wrong name",
            certificate(CertificateDefect::WrongName),
            "tls.certificate.wrong_name",
        ),
        (
            "self-signed",
            certificate(CertificateDefect::SelfSigned),
            "tls.certificate.self_signed",
        ),
        (
            "stops in the head",
            stop(FaultPlace::InHead, ConnectionEnd::Orderly),
            "http.eof",
        ),
        (
            "stops in the body",
            stop(FaultPlace::InBody, ConnectionEnd::Orderly),
            "http.short_body",
        ),
        (
            "is cut in the body",
            stop(FaultPlace::InBody, ConnectionEnd::Truncate),
            "http.short_body",
        ),
        (
            "resets in the body",
            stop(FaultPlace::InBody, ConnectionEnd::Reset),
            "http.reset",
        ),
        (
            "hangs in the body",
            stop(FaultPlace::InBody, ConnectionEnd::Hang),
            "http.time_out",
        ),
        (
            "never answers",
            Config {
                answer: TargetAnswer::faulty(TargetFault::never_answers()),
                ..Config::default()
            },
            "http.time_out",
        ),
        (
            "answers 500",
            Config {
                answer: TargetAnswer::status(500),
                ..Config::default()
            },
            "http.status.500",
        ),
        ("breaks HTTP", bad_framing, "http.bad_framing"),
    ];
    for (case, config, kind) in cases {
        let server = RunningTarget::new(config).unwrap();
        let _ = assert_counted(case, run(&server.url("/"), server.ca_pem(), kind), kind);
    }
}

#[test]
fn plain_server_where_tls_is_wanted_is_no_tls() {
    let server = RunningTarget::new(Config::plain()).unwrap();
    let ca = RunningTarget::new(Config::default())
        .unwrap()
        .ca_pem()
        .map(str::to_owned);
    let (url, kind) = (server.url("/").replace("http:", "https:"), "tls.bad_tls");
    let finished = run(&url, ca.as_deref(), kind);
    let _ = assert_counted("plain HTTP", finished, kind);
}

#[test]
fn refused_connections_are_tried_again_with_back_off() {
    let finished = assert_counted(
        "refused",
        run("http://127.0.0.1:9/", None, "connect.refused"),
        "connect.refused",
    );
    let connections = finished.document().measured.connections;
    assert_eq!(
        (connections.attempted, connections.opened),
        (REQUESTS, 0),
        "{connections:?}"
    );
    // A user waits after each failure, except after the very last one.
    assert!(
        connections.back_offs >= REQUESTS - USERS && connections.back_offs <= REQUESTS,
        "{connections:?}"
    );
    assert!(
        connections.back_off_ns > 10_000_000 * (REQUESTS - USERS) / 2,
        "{connections:?}"
    );
}

#[test]
fn full_queue_of_a_listener_is_a_time_out_of_the_connect() {
    // Its queue holds one connection, or two; the kernel drops all others.
    let listener = socket(AddressFamily::INET, SocketType::STREAM, Some(ipproto::TCP)).unwrap();
    bind(&listener, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    listen(&listener, 0).unwrap();
    let address = TcpListener::from(listener);
    let address = (address.local_addr().unwrap(), address);
    let wait = Duration::from_millis(300);
    let held: Vec<TcpStream> =
        std::iter::from_fn(|| TcpStream::connect_timeout(&address.0, wait).ok())
            .take(8)
            .collect();
    assert!(
        !held.is_empty() && held.len() < 8,
        "{} connections went into the queue",
        held.len()
    );
    let _ = assert_counted(
        "full queue",
        run(&format!("http://{}/", address.0), None, "connect.time_out"),
        "connect.time_out",
    );
}

#[test]
fn name_that_does_not_resolve_is_told_before_the_run() {
    let finished = run("https://no-such-name.invalid/", None, "");
    assert_refused(
        &finished,
        4,
        &[
            "target.url",
            "no-such-name.invalid",
            "does not resolve",
            "target.addresses",
        ],
    );
}

#[test]
fn public_address_needs_a_word_of_the_machine_that_fires() {
    // TEST-NET-1, RFC 5737: an address without a host.
    let finished = run("http://192.0.2.1/", None, "");
    assert_refused(&finished, 4, &["192.0.2.1", "--allow 192.0.2.1"]);
}
