//! 0-RTT: nginx sees what is sent with the ClientHello before the handshake is complete, and what
//! it rejects is sent again.

use crate::servers::{REQUESTS, USERS, assert_all_ok, run};
use interop::{
    CoordinatorCommand, Haproxy, HaproxyFrontend, HaproxyOptions, Nginx, NginxOptions, NginxServer,
    OpensslAnswers, OpensslOptions, OpensslServer, Pki, plan, wait_until,
};
use std::net::{IpAddr, Ipv4Addr};

/// Two requests on each connection: the first may be early; during the second the tickets arrive,
/// which a server sends once it has our Finished.
const EARLY: &str = "tls.resumption = \"always\"\ntls.early_data = true\nconnection.requests = 2\n";

/// nginx only marks a request as early if it has answered it before it reads our Finished; if it is
/// slow to read, it finds both at once, and does not mark it.
pub(crate) fn assert_seen(seen: u64, accepted: u64) {
    assert!(
        seen <= accepted && (seen > 0) == (accepted > 0),
        "{seen} seen of {accepted} accepted"
    );
}

#[test]
fn requests_of_resumed_connections_are_early_as_nginx_logs_it() {
    let pki = Pki::new();
    // (server, more of the plan, whether the server takes early data)
    let cases = [
        (NginxServer::EarlyData, "", true),
        (
            NginxServer::EarlyData,
            "connection.close = \"server\"\n",
            true,
        ),
        (NginxServer::EarlyData, "request.path = \"/big\"\n", true),
        (
            NginxServer::EarlyData,
            "request = { method = \"POST\", body = \"x\" }\n",
            false,
        ),
        (NginxServer::Tls13Tickets, "", false),
    ];
    for (server, more, takes) in cases {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let more = format!("{more}{EARLY}");
        let document = run(&plan(&nginx.url(server, "/"), &pki, &more));
        let (measured, early) = (&document.measured, &document.measured.early_data);
        let rows = nginx.wait_for_requests(REQUESTS as usize);
        let seen: Vec<_> = rows.iter().filter(|row| row.is_early).collect();
        assert_eq!(
            (measured.operations.ok, rows.len() as u64),
            (REQUESTS, REQUESTS),
            "{more}"
        );
        let resumed = nginx.status().accepted - USERS;
        assert_eq!(
            (measured.resumption.offered, measured.resumption.accepted),
            (resumed, resumed),
            "{more}"
        );
        let expected = if takes { resumed } else { 0 };
        assert_eq!(
            (early.offered, early.accepted, early.rejected),
            (expected, expected, 0),
            "{more}"
        );
        assert_seen(seen.len() as u64, expected);
        assert!(seen.iter().all(|row| row.resumed && row.nth == 1), "{more}");
        assert_eq!(
            document
                .notes
                .iter()
                .any(|note| note.contains("were sent as early data")),
            takes,
            "{:?}",
            document.notes
        );
    }
}

#[test]
fn rejected_early_data_is_sent_again_after_the_handshake() {
    let pki = Pki::new();
    let start = |last| {
        let ip = IpAddr::V4(Ipv4Addr::new(127, 0, 0, last));
        Nginx::start(
            &pki,
            &NginxOptions {
                ip,
                ticket_key: Some([7; 80]),
                ..NginxOptions::default()
            },
        )
    };
    // Both know the ticket key, but the second one's tickets allow no early data, and it accepts
    // none.
    let (Some(first), Some(second)) = (start(1), start(2)) else {
        return;
    };
    let addresses = [
        first.address(NginxServer::EarlyData),
        second.address(NginxServer::Tls13Tickets),
    ]
    .map(|a| a.to_string());
    let sections =
        format!("target.addresses = {addresses:?}\ntls.server_name = \"localhost\"\n{EARLY}");
    let document = run(&plan("https://localhost/", &pki, &sections));
    assert_all_ok(&document.measured);
    let of = |name: &String| {
        &document
            .by_address
            .iter()
            .find(|group| group.name == *name)
            .unwrap()
            .figures
    };
    let (taking, refusing) = (of(&addresses[0]), of(&addresses[1]));
    let issued_here = |to: &String| {
        let pairs = document
            .session_offers
            .iter()
            .filter(|pair| pair.issued_by == addresses[0] && pair.offered_to == *to);
        pairs.map(|pair| pair.offered).sum::<u64>()
    };
    assert_eq!(
        (taking.early_data.accepted, taking.early_data.rejected),
        (issued_here(&addresses[0]), 0)
    );
    assert_eq!(
        (refusing.early_data.accepted, refusing.early_data.rejected),
        (0, issued_here(&addresses[1]))
    );
    assert!(
        refusing.early_data.rejected > 0,
        "addresses are taken in turn: {:?}",
        document.session_offers
    );
    // A rejected request counts once, and its session is resumed all the same.
    let (here, there) = (first.wait_for_requests(1), second.wait_for_requests(1));
    assert_eq!((here.len() + there.len()) as u64, REQUESTS);
    assert_seen(
        here.iter().filter(|row| row.is_early).count() as u64,
        taking.early_data.accepted,
    );
    assert!(there.iter().all(|row| !row.is_early));
    assert_eq!(document.measured.resumption.refused, 0);
    let seen = document.measured.times["first_byte"].count;
    assert_eq!(seen, REQUESTS);
}

#[test]
fn haproxy_takes_early_requests_and_counts_each_once() {
    let pki = Pki::new();
    let Some(haproxy) = Haproxy::start(&pki, HaproxyOptions::default()) else {
        return;
    };
    let frontend = HaproxyFrontend::EarlyData;
    let document = run(&plan(&haproxy.url(frontend, "/"), &pki, EARLY));
    assert_all_ok(&document.measured);
    let (counts, early) = (
        haproxy.wait_for_requests(frontend, REQUESTS),
        &document.measured.early_data,
    );
    assert_eq!(
        (
            counts.requests,
            counts.answers_2xx,
            counts.handshakes_failed
        ),
        (REQUESTS, REQUESTS, 0)
    );
    assert_eq!(
        counts.handshakes_resumed,
        document.measured.resumption.resumed
    );
    assert!(early.offered > 0, "{early:?}");
    assert_eq!(
        (early.accepted, early.rejected),
        (counts.handshakes_resumed, 0),
        "{early:?}"
    );
}

/// With early data `s_server` does not answer by itself, so the answers are typed.
#[test]
fn openssl_takes_early_requests_and_marks_them() {
    let pki = Pki::new();
    let (tickets, session_cache, early_data) = (true, true, true);
    let options = OpensslOptions {
        tickets,
        session_cache,
        early_data,
        answers: OpensslAnswers::Typed,
        ..OpensslOptions::default()
    };
    let Some(mut server) = OpensslServer::start(&pki, options) else {
        return;
    };
    let text = plan(
        &server.url("/"),
        &pki,
        &EARLY.replace("requests = 2", "requests = 1"),
    );
    let coordinator = CoordinatorCommand::local(
        1,
        &format!("load = {{ connections = 1, requests = 3 }}\n{text}"),
    )
    .spawn();
    for asked in 1..=3 {
        let is_asked =
            || (server.output().matches("GET / HTTP/1.1").count() == asked).then_some(());
        wait_until(&format!("request {asked}"), is_asked);
        server.type_in("HTTP/1.1 200 OK\nContent-Length: 3\n\nok");
    }
    let measured = coordinator.wait().expect(0).document().measured;
    let (early, marked) = (
        &measured.early_data,
        server.output().matches("Early data received").count() as u64,
    );
    assert_eq!(
        (measured.operations.ok, measured.resumption.resumed),
        (3, 2)
    );
    assert_eq!(
        (early.offered, early.accepted, early.rejected, marked),
        (2, 2, 0, 2),
        "{}",
        server.output()
    );
}
