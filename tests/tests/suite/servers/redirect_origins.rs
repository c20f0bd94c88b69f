//! Redirects to other origins: what each of the servers logged is what is reported of its address.

use crate::servers::{REQUESTS, USERS};
use analysis::Document;
use interop::{CoordinatorCommand, Nginx, NginxOptions, NginxRequest, NginxServer, Pki};
use std::collections::{BTreeMap, BTreeSet};
use target::KeyKind;

const KEPT: &str = "connection.requests = \"unlimited\"\n";
const ONCE: &str = "connection.requests = 1\n";
const RESUMED: &str = "connection.requests = 1\ntls.resumption = \"always\"\n";
const SHARED: &str = "connection = { http = \"2\", streams = 3 }\n";

/// A run from one server to others and back.
struct Chain<'a> {
    pki: &'a Pki,
    nginx: &'a Nginx,
    /// The servers that answer, in order; the last one with 200.
    servers: &'a [NginxServer],
}

impl Chain<'_> {
    /// The path that leads from each server to the next.
    fn path(&self) -> String {
        let next = self.servers[1..].iter();
        let hops = next.map(|&server| {
            let scheme = if server.is_tls() { "to" } else { "plain" };
            format!("/{scheme}/{}", self.nginx.address(server))
        });
        hops.collect::<String>() + "/length"
    }

    fn origin(&self, server: NginxServer) -> String {
        self.nginx.url(server, "")
    }

    /// A plan for it, which names the origins.
    fn plan(&self, load: &str, more: &str, request: &str) -> String {
        let first = self.servers[0];
        let others: BTreeSet<String> = self.servers.iter().map(|it| self.origin(*it)).collect();
        let others = others.iter().filter(|it| **it != self.origin(first));
        let others: Vec<&String> = others.collect();
        format!(
            "{load}name = \"interop\"\ntarget.url = {:?}\ntarget.redirects_to = {others:?}\n\
             tls.ca = {:?}\n{more}[request]\npath = {:?}\nredirects = 9\n{request}",
            self.nginx.url(first, "/"),
            self.pki.ca(),
            self.path()
        )
    }
}

/// Runs a plan with two agents. Returns the result.
fn run(plan: &str) -> Document {
    let finished = CoordinatorCommand::local(2, plan).run();
    finished.expect(0).whole_document(2)
}

fn closed() -> String {
    format!("load = {{ connections = {USERS}, requests = {REQUESTS} }}\n")
}

fn open() -> String {
    format!("load = {{ rate = \"300/s\", max_connections = 3, requests = {REQUESTS} }}\n")
}

/// Requests of each server.
fn by_server(requests: &[NginxRequest]) -> BTreeMap<NginxServer, Vec<&NginxRequest>> {
    let mut seen: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for request in requests {
        seen.entry(request.server).or_default().push(request);
    }
    seen
}

/// Compares connections and handshakes of each address with those in the log of its server.
fn assert_connections(document: &Document, nginx: &Nginx, requests: &[NginxRequest], case: &str) {
    let (mut opened, mut handshakes) = (0, 0);
    for (server, requests) in by_server(requests) {
        let connections = requests.iter().map(|request| request.connection);
        let connections = connections.collect::<BTreeSet<_>>().len() as u64;
        let address = nginx.address(server).to_string();
        let mut groups = document.by_address.iter();
        let group = groups.find(|group| group.name == address);
        let figures = &group.expect("an address that was connected to").figures;
        assert_eq!(
            figures.connections.opened, connections,
            "{case}, {server:?}"
        );
        let resumed = requests
            .iter()
            .filter(|it| it.resumed && it.nth == 1)
            .count();
        assert_eq!(
            figures.resumption.resumed, resumed as u64,
            "{case}, {server:?}"
        );
        opened += connections;
        handshakes += if server.is_tls() { connections } else { 0 };
    }
    let measured = &document.measured;
    assert_eq!(measured.connections.opened, opened, "{case}");
    assert_eq!(measured.resumption.handshakes, handshakes, "{case}");
    assert_eq!(measured.times["connect"].count, opened, "{case}");
}

#[test]
fn every_hop_to_another_origin_is_in_the_log_of_its_server() {
    use NginxServer as S;
    let pki = Pki::new();
    let cases: &[(&[S], &str, String)] = &[
        (&[S::Plain, S::Tls13], KEPT, closed()),
        (&[S::Plain, S::Tls13], ONCE, closed()),
        (&[S::Plain, S::Tls13], "connection.requests = 7\n", open()),
        (&[S::Tls13, S::Plain], KEPT, open()),
        (&[S::Tls13Tickets, S::Tls12Tickets], RESUMED, closed()),
        (&[S::Plain, S::Tls13Tickets, S::Plain], RESUMED, open()),
        (&[S::Tls13, S::Tls12Rsa, S::Plain, S::Tls13], KEPT, closed()),
        (&[S::Plain, S::EarlyData], RESUMED, closed()),
        (
            &[S::KeepAliveLimited, S::Tls13, S::KeepAliveLimited],
            KEPT,
            closed(),
        ),
        (&[S::Plain, S::KeepAliveLimited], KEPT, open()),
        (&[S::Http2Plain, S::Http2], SHARED, closed()),
        (&[S::Http2, S::AnyTlsTickets, S::Http2], SHARED, open()),
        (
            &[S::Http2, S::Http2Limited, S::Http2Limited],
            SHARED,
            closed(),
        ),
        (
            &[S::Http2Limited, S::Http2, S::Http2Limited],
            SHARED,
            open(),
        ),
        (
            &[S::Http2, S::Http2Plain],
            "connection = { http = \"2\", streams = 2, requests = 3, close = \"rst\" }\n",
            closed(),
        ),
    ];
    for (servers, connection, load) in cases {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let case = format!("{servers:?}, {connection}, {load}");
        let (pki, nginx) = (&pki, &nginx);
        let chain = Chain {
            pki,
            nginx,
            servers,
        };
        let expect = "expect = { status = [200], bytes = 0 }\n";
        let document = run(&chain.plan(load, connection, expect));
        let requests = nginx.wait_for_requests(servers.len() * REQUESTS as usize);
        let seen = by_server(&requests);
        for (&server, requests) in &seen {
            let visits = servers.iter().filter(|it| **it == server).count() as u64;
            assert_eq!(
                requests.len() as u64,
                visits * REQUESTS,
                "{case}, {server:?}"
            );
        }
        assert_connections(&document, nginx, &requests, &case);
        let operations = &document.measured.operations;
        let counts = (operations.started, operations.ended, operations.ok);
        assert_eq!(counts, (REQUESTS, REQUESTS, REQUESTS), "{case}");
        let followed: u64 = document.redirects.iter().map(|each| each.followed).sum();
        assert_eq!(followed, (servers.len() as u64 - 1) * REQUESTS, "{case}");
        let bodies: u64 = requests.iter().map(|request| request.body_bytes).sum();
        assert_eq!(document.measured.bytes.payload_bytes, bodies, "{case}");
        // Each operation belongs to the address of its last answer.
        let last = nginx.address(*servers.last().expect("some")).to_string();
        let groups = document.by_address.iter();
        for group in groups {
            let expected = if group.name == last { REQUESTS } else { 0 };
            assert_eq!(
                group.figures.operations.ended, expected,
                "{case}, {}",
                group.name
            );
        }
    }
}

#[test]
fn journeys_go_on_after_redirects_to_other_origins() {
    use NginxServer as S;
    const JOURNEYS: u64 = 30;
    let pki = Pki::new();
    let closed = "load = { connections = 3, journeys = 30 }\n";
    let open = "load = { rate = \"100/s\", max_connections = 20, journeys = 30 }\n";
    let one_stream = "connection = { http = \"2\", streams = 1 }\n";
    let cases: &[(&[S], &str, &str)] = &[
        (&[S::Plain, S::Tls13], KEPT, closed),
        (&[S::Plain, S::Tls13, S::Plain], ONCE, open),
        (&[S::Tls13, S::Plain], KEPT, open),
        (&[S::Http2Plain, S::Http2], one_stream, closed),
        (&[S::Http2, S::Http2Limited], one_stream, closed),
    ];
    for (servers, connection, load) in cases {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let case = format!("{servers:?}, {connection}, {load}");
        let chain = Chain {
            pki: &pki,
            nginx: &nginx,
            servers,
        };
        let steps = "name = \"away\"\n[[journey]]\n\
                     steps = [\"away\", { pause = \"2ms\" }, \"away\"]\n";
        let document = run(&chain.plan(load, connection, steps));
        let requests = nginx.wait_for_requests(servers.len() * 2 * JOURNEYS as usize);
        for (&server, requests) in &by_server(&requests) {
            let visits = servers.iter().filter(|it| **it == server).count() as u64;
            let expected = visits * 2 * JOURNEYS;
            assert_eq!(requests.len() as u64, expected, "{case}, {server:?}");
        }
        assert_connections(&document, &nginx, &requests, &case);
        let [figures] = &document.journeys[..] else {
            panic!("{case}: {:?}", document.journeys);
        };
        assert_eq!(
            (figures.begun, figures.completed),
            (JOURNEYS, JOURNEYS),
            "{case}"
        );
        let ok: Vec<u64> = figures.steps.iter().map(|step| step.ok).collect();
        assert_eq!(ok, [JOURNEYS; 2], "{case}");
    }
}

/// What `/sent` answers at the last server of a run that has credentials of all kinds, with the
/// bytes of that answer.
fn last_answer(chain: &Chain<'_>, headers: &str, answer: &str) -> Document {
    let path = chain.path().replace("/length", "/sent");
    let request = format!(
        "headers = {{ cookie = \"a=b\", x-key = \"{{key}}\", x-note = \"seen\"{headers} }}\n\
         expect = {{ status = [200], contains = {answer:?} }}\n"
    );
    let plan = chain.plan(&closed(), KEPT, &request);
    let plan = plan.replace(&chain.path(), &path);
    let plan = format!("vars.key = \"env:CANNONADE_KEY\"\n{plan}");
    let command = CoordinatorCommand::local(1, &plan);
    let command = command.with(|command| {
        command.env("CANNONADE_KEY", "hidden");
    });
    let finished = command.run().expect(0);
    finished.clean().document()
}

#[test]
fn credentials_are_for_the_origin_of_the_target() {
    use NginxServer as S;
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let (pki, nginx) = (&pki, &nginx);
    for (servers, headers, answer) in [
        (&[S::Plain, S::Tls13][..], "", "127.0.0.1   seen"),
        (
            &[S::Plain, S::Tls13],
            ", host = \"shop.test\"",
            "127.0.0.1   seen",
        ),
        (&[S::Tls13, S::Tls13Tickets], "", "127.0.0.1   seen"),
        (
            &[S::Plain, S::Tls13, S::Plain],
            "",
            "127.0.0.1 a=b hidden seen",
        ),
    ] {
        let chain = Chain {
            pki,
            nginx,
            servers,
        };
        let document = last_answer(&chain, headers, answer);
        assert_eq!(document.measured.operations.ok, REQUESTS, "{servers:?}");
    }
}

#[test]
fn each_name_has_its_own_certificate_address_and_identity() {
    use NginxServer as S;
    let pki = Pki::new();
    let named = |name: &str| (name.to_owned(), name.to_owned());
    let options = NginxOptions {
        names: vec![named("login.test"), named("shop.test")],
        ..NginxOptions::default()
    };
    let Some(nginx) = Nginx::start(&pki, &options) else {
        return;
    };
    let client = pki.client(KeyKind::P256, "somebody");
    let port = |server| nginx.address(server).port();
    // A server that demands a certificate answers 400 without one.
    for (host, server, tls, http, status) in [
        ("shop.test", S::Tls13, "verify = \"full\"", "\"1.1\"", 200),
        ("login.test", S::Tls13, "verify = \"full\"", "\"1.1\"", 200),
        (
            "login.test",
            S::Http2,
            "verify = \"once\"",
            "\"2\", streams = 3",
            200,
        ),
        (
            "shop.test",
            S::ClientCertificate,
            "resumption = \"always\"",
            "\"1.1\"",
            200,
        ),
        (
            "login.test",
            S::ClientCertificate,
            "resumption = \"always\"",
            "\"1.1\"",
            400,
        ),
    ] {
        let from = match http {
            "\"1.1\"" => S::Tls13Tickets,
            _ => S::AnyTlsTickets,
        };
        let origin = format!("{host}:{}", port(server));
        let plan = format!(
            "{}target.url = \"https://shop.test:{}/\"\ntarget.addresses = [\"127.0.0.1\"]\n\
             target.redirects_to = [{{ url = \"https://{origin}\", addresses = \
             [\"127.0.0.1\"] }}]\n\
             connection = {{ http = {http} }}\n\
             tls = {{ ca = {:?}, {tls}, client_certificates = [{{ cert = {:?}, key = {:?} }}] }}\n\
             [request]\npath = \"/to/{origin}/length\"\nredirects = 2\n\
             expect.status = [{status}]\n",
            closed(),
            port(from),
            pki.ca(),
            client.cert,
            client.key,
        );
        let before = nginx.requests().len();
        let document = run(&plan);
        let case = format!("{origin}, {tls}, {http}");
        assert_eq!(document.measured.operations.ok, REQUESTS, "{case}");
        let requests = nginx.wait_for_requests(before + 2 * REQUESTS as usize);
        let last = requests[before..].iter().filter(|it| it.server == server);
        let last: BTreeSet<_> = last
            .map(|it| (&*it.server_name, &*it.host, it.status))
            .collect();
        assert_eq!(last, BTreeSet::from([(host, host, status)]), "{case}");
    }
}

#[test]
fn origins_are_refused_that_an_agent_does_not_allow() {
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    // An address for documentation (RFC 5737), to which nothing is sent.
    let plan = format!(
        "{}target.url = {:?}\ntarget.redirects_to = [\"https://192.0.2.7\"]\n\
         request.redirects = 1\n",
        closed(),
        nginx.url(NginxServer::Plain, "/")
    );
    for (allowed, code) in [("192.0.2.7:80", 4), ("192.0.2.7:443", 0)] {
        let command = CoordinatorCommand::local(1, &plan).with(|command| {
            command.args(["--allow", allowed]);
        });
        let finished = command.run().expect(code);
        let is_refused = finished.stderr.contains("start it with --allow 192.0.2.7 ");
        assert_eq!(is_refused, code != 0, "{finished}");
        // If it is refused, nothing goes to the target either.
        let seen = if code == 0 { REQUESTS } else { 0 };
        assert_eq!(nginx.wait_for_requests(seen as usize).len() as u64, seen);
    }
}

#[test]
fn bodies_go_along_as_the_status_says() {
    use NginxServer as S;
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let (pki, nginx) = (&pki, &nginx);
    for (servers, connection, transfer, length) in [
        // 307, and then 302. nginx tells the length of the request, but not that of chunks.
        (&[S::Tls13, S::Plain][..], KEPT, "", ", bytes = 5"),
        (
            &[S::Tls13, S::Plain],
            ONCE,
            "expect_continue = \"1s\"\n",
            ", bytes = 5",
        ),
        (&[S::Tls13, S::Plain], KEPT, "chunk_bytes = 3000\n", ""),
        (&[S::Http2, S::Http2Plain], SHARED, "", ", bytes = 5"),
        (&[S::Plain, S::Tls13], KEPT, "", ", bytes = 0"),
        (&[S::Http2Plain, S::Http2], SHARED, "", ", bytes = 0"),
    ] {
        let chain = Chain {
            pki,
            nginx,
            servers,
        };
        let request = format!(
            "method = \"POST\"\nbody = \"{}\"\n{transfer}\
             expect = {{ status = [200]{length} }}\n",
            "x".repeat(70_000)
        );
        let before = nginx.requests().len();
        let case = format!("{servers:?}, {transfer}");
        let document = run(&chain.plan(&closed(), connection, &request));
        assert_eq!(document.measured.operations.ok, REQUESTS, "{case}");
        let requests = nginx.wait_for_requests(before + 2 * REQUESTS as usize);
        let methods = requests[before..].iter().filter(|it| it.status == 200);
        let methods: BTreeSet<_> = methods.map(|it| &*it.method).collect();
        let method = if servers[1].is_tls() { "GET" } else { "POST" };
        assert_eq!(methods, BTreeSet::from([method]), "{case}");
    }
}

#[test]
fn operations_under_way_at_the_end_are_followed_to_theirs() {
    use NginxServer as S;
    let pki = Pki::new();
    for (servers, connection, load) in [
        (
            &[S::Plain, S::Tls13, S::Plain][..],
            KEPT,
            "load = { connections = 3, duration = \"1s\", warm_up = \"500ms\", stage = [{ over = \
             \"1s\", to = 1 }] }\n",
        ),
        (
            &[S::Tls13, S::Plain],
            ONCE,
            "load = { connections = 3, duration = \"1s\", think_time = \"5ms\" }\n",
        ),
        (
            &[S::Http2Limited, S::Http2Plain],
            SHARED,
            "load = { rate = \"400/s\", max_connections = 2, duration = \"1s\", warm_up = \
             \"500ms\" }\n",
        ),
    ] {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let (pki, nginx) = (&pki, &nginx);
        let chain = Chain {
            pki,
            nginx,
            servers,
        };
        let document = run(&chain.plan(load, connection, "expect.status = [200]\n"));
        let operations = |figures: &analysis::Figures| {
            let operations = &figures.operations;
            // A busy machine is late for some arrivals, which end without having begun.
            let (not_sent, others): (Vec<_>, Vec<_>) = figures
                .errors
                .iter()
                .partition(|error| error.name == "load.not_sent");
            let not_sent: u64 = not_sent.iter().map(|error| error.count).sum();
            assert_eq!(operations.started + not_sent, operations.ended, "{load}");
            assert!(others.is_empty(), "{load}: {others:?}");
            operations.ok
        };
        let warm_up = document.warm_up.as_ref().map_or(0, operations);
        let ended = operations(&document.measured) + warm_up;
        let requests = nginx.wait_for_requests(servers.len() * ended as usize);
        for (server, requests) in by_server(&requests) {
            let visits = servers.iter().filter(|it| **it == server).count() as u64;
            assert_eq!(requests.len() as u64, visits * ended, "{load}, {server:?}");
        }
        let requests = requests.iter().map(|it| (it.server, it.connection));
        let connections = requests.collect::<BTreeSet<_>>().len() as u64;
        let warm_up = document.warm_up.as_ref();
        let opened = warm_up.map_or(0, |figures| figures.connections.opened);
        let opened = document.measured.connections.opened + opened;
        assert_eq!(opened, connections, "{load}");
    }
}

#[test]
fn origins_that_cannot_be_reached_fail_the_operation_and_not_the_next() {
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    // Nothing listens at port 1, and at the last one a server without TLS.
    let plain = nginx.address(NginxServer::Http2Plain);
    for (path, origin, name, connection) in [
        (
            "/plain/127.0.0.1:1/x",
            "http://127.0.0.1:1",
            "connect.refused",
            KEPT,
        ),
        (
            "/plain/127.0.0.1:1/x",
            "http://127.0.0.1:1",
            "connect.refused",
            ONCE,
        ),
        (
            "/plain/127.0.0.1:2/x",
            "http://127.0.0.1:1",
            "http.redirect.other_origin",
            KEPT,
        ),
        (
            &format!("/to/{plain}/x"),
            &format!("https://{plain}"),
            "tls.bad_tls",
            KEPT,
        ),
    ] {
        let plan = format!(
            "{}target.url = {:?}\ntarget.redirects_to = [{origin:?}]\ntls.verify = \"none\"\n\
             {connection}[[request]]\nname = \"away\"\npath = {path:?}\nredirects = 1\n\
             [[request]]\nname = \"stays\"\npath = \"/length\"\nredirects = 1\n",
            closed(),
            nginx.url(NginxServer::Plain, "/"),
        );
        let before = nginx.requests().len();
        let document = run(&plan);
        let errors = document.measured.errors.iter();
        let errors: Vec<_> = errors.map(|error| (&*error.name, error.count)).collect();
        assert_eq!(errors, [(name, REQUESTS / 2)], "{path}");
        assert_eq!(document.measured.operations.ok, REQUESTS / 2, "{path}");
        let requests = nginx.wait_for_requests(before + REQUESTS as usize);
        let seen = by_server(&requests[before..]);
        assert_eq!(seen[&NginxServer::Plain].len() as u64, REQUESTS, "{path}");
    }
}
