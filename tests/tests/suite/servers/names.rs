//! Many names on one edge: nginx has a server and a certificate for each, and logs the name that
//! each connection sent.

use crate::servers::{REQUESTS, USERS};
use analysis::{Document, Figures};
use interop::{
    CoordinatorCommand, KeyKind, Nginx, NginxOptions, NginxRequest, NginxServer, Pki, plan,
};
use std::collections::BTreeMap;

/// Names of the file, in its order.
const NAMES: u64 = 10;

fn name(row: u64) -> String {
    format!("n{row}.example.test")
}

/// nginx with a server for each name, which has its certificate.
fn edge(pki: &Pki) -> Option<Nginx> {
    let names = (0..NAMES).map(|row| (name(row), name(row))).collect();
    let options = NginxOptions {
        names,
        ..NginxOptions::default()
    };
    Nginx::start(pki, &options)
}

/// Runs a plan whose requests tell their number and their row's name.
fn run(nginx: &Nginx, server: NginxServer, pki: &Pki, agents: u32, more: &str) -> Document {
    let rows: String = (0..NAMES).map(|row| name(row) + "\n").collect();
    let named = "data.sites.file = \"sites.txt\"\n\
                 tls.server_name = \"{sites.line}\"\n\
                 request.path = \"/?{seq}-{user}-{sites.line}\"\n\
                 request.headers.host = \"{sites.line}:8443\"\n";
    let finished = CoordinatorCommand::local(
        agents,
        &plan(&nginx.url(server, "/"), pki, &format!("{named}{more}")),
    )
    .file("sites.txt", rows.as_bytes())
    .run()
    .expect(0);
    finished.clean().document()
}

/// What a request told: its number, its user and its row's name.
fn told(row: &NginxRequest) -> (u64, u64, &str) {
    let mut parts = row.path.strip_prefix("/?").unwrap().splitn(3, '-');
    let mut number = || parts.next().unwrap().parse().unwrap();
    (number(), number(), parts.next().unwrap())
}

/// Asserts that each request came over a connection for its own name, that names are as `name_of`
/// says for number and user, and that sessions are as nginx logged them.
fn assert_named(rows: &[NginxRequest], figures: &Figures, name_of: impl Fn(u64, u64) -> String) {
    for row in rows {
        let (seq, user, told) = told(row);
        assert_eq!(told, name_of(seq, user), "{row:?}");
        assert_eq!((row.server_name.as_str(), row.host.as_str()), (told, told));
    }
    let (counted, firsts) = (&figures.resumption, rows.iter().filter(|row| row.nth == 1));
    let resumed = firsts.clone().filter(|row| row.resumed).count() as u64;
    assert_eq!(counted.resumed, resumed, "{counted:?}");
    assert_eq!(counted.handshakes, firsts.count() as u64, "{counted:?}");
    // A session that was offered to another name would be refused.
    assert_eq!(
        (counted.accepted, counted.refused),
        (resumed, 0),
        "{counted:?}"
    );
}

#[test]
fn connections_have_their_rows_names_in_the_files_order() {
    let pki = Pki::new();
    let resumes = "tls.resumption = \"always\"\n";
    for (server, agents, users, more) in [
        (NginxServer::Tls13Tickets, 1, 1, resumes.to_owned()),
        (NginxServer::Tls13Tickets, 2, USERS, resumes.to_owned()),
        (
            NginxServer::Tls13Tickets,
            2,
            USERS,
            format!("{resumes}tls.verify = \"once\"\n"),
        ),
        (
            NginxServer::Tls13Cache,
            1,
            1,
            format!("{resumes}connection.close = \"server\"\n"),
        ),
        (
            NginxServer::Http2,
            2,
            USERS,
            "connection.http = \"2\"\n".to_owned(),
        ),
    ] {
        let Some(nginx) = edge(&pki) else { return };
        let load = format!(
            "load = {{ connections = {users}, requests = {REQUESTS} }}\n\
             connection.requests = 1\n{more}"
        );
        let document = run(&nginx, server, &pki, agents, &load);
        let rows = nginx.wait_for_requests(REQUESTS as usize);
        assert_eq!(document.measured.operations.ok, REQUESTS, "{load}");
        assert_eq!(rows.len() as u64, REQUESTS, "{load}");
        assert_named(&rows, &document.measured, |seq, _| name(seq % NAMES));
        // A user's first connection to a name has no session with it.
        if users == 1 {
            // One after the other, so that nginx's log has the file's order.
            let numbers: Vec<u64> = rows.iter().map(|row| told(row).0).collect();
            assert!(numbers.into_iter().eq(0..REQUESTS), "{load}");
            assert_eq!(document.measured.resumption.resumed, REQUESTS - NAMES);
        }
    }
}

#[test]
fn user_with_a_row_of_its_own_keeps_its_connection() {
    let pki = Pki::new();
    for (server, more, opened) in [
        (NginxServer::Tls13Tickets, "", USERS),
        (
            NginxServer::Http2,
            "connection = { http = \"2\", streams = 3 }\n",
            USERS,
        ),
        (
            NginxServer::Tls13Tickets,
            "connection.requests = 5\n",
            REQUESTS / 5,
        ),
    ] {
        let Some(nginx) = edge(&pki) else { return };
        let load = format!(
            "load = {{ connections = {USERS}, requests = {REQUESTS} }}\n\
             tls.resumption = \"always\"\ndata.sites.order = \"user\"\n{more}"
        );
        let document = run(&nginx, server, &pki, 2, &load);
        let rows = nginx.wait_for_requests(REQUESTS as usize);
        assert_eq!(document.measured.operations.ok, REQUESTS, "{load}");
        assert_named(&rows, &document.measured, |_, user| name(user));
        assert!(document.measured.connections.opened >= opened, "{load}");
        assert_eq!(
            document.measured.connections.opened,
            nginx.status().accepted
        );
    }
}

#[test]
fn certificate_is_checked_for_the_rows_name_and_its_errors_name_it() {
    let pki = Pki::new();
    // Rows 3 and 4 get the certificate of row 2, which is right for row 2 alone.
    let certified = |row| name(if (3..5).contains(&row) { 2 } else { row });
    let names = (0..NAMES).map(|row| (name(row), certified(row))).collect();
    let options = NginxOptions {
        names,
        ..NginxOptions::default()
    };
    for verify in ["full", "once"] {
        let Some(nginx) = Nginx::start(&pki, &options) else {
            return;
        };
        let load = format!(
            "load = {{ connections = {USERS}, requests = {REQUESTS} }}\nconnection.requests = 1\n\
             tls.verify = {verify:?}\ntls.resumption = \"always\"\n"
        );
        let server = NginxServer::Tls13Tickets;
        let document = run(&nginx, server, &pki, 2, &load);
        let measured = &document.measured;
        let failed = 2 * REQUESTS / NAMES;
        let rows = nginx.wait_for_requests((REQUESTS - failed) as usize);
        assert_eq!(rows.len() as u64, REQUESTS - failed);
        assert_named(&rows, measured, |seq, _| name(seq % NAMES));
        let [error] = measured.errors.as_slice() else {
            panic!("{:?}", measured.errors);
        };
        let wrong = "tls.certificate.wrong_name";
        assert_eq!((error.name.as_str(), error.count), (wrong, failed));
        let [sites] = document.data.as_slice() else {
            panic!("{:?}", document.data);
        };
        let rows = sites.failed_rows.iter();
        let rows: Vec<_> = rows
            .map(|row| (row.line, row.server_name.clone(), row.failures.clone()))
            .collect();
        let failures = BTreeMap::from([(wrong.to_owned(), failed / 2)]);
        let row = |line| (line, Some(name(line - 1)), failures.clone());
        assert_eq!(rows, [row(4), row(5)]);
    }
}

#[test]
fn identities_early_data_and_arrivals_go_with_names() {
    let pki = Pki::new();
    let ca = pki.authority_files(KeyKind::P256);
    let closed = format!("load = {{ connections = {USERS}, requests = {REQUESTS} }}\n");
    let open =
        format!("load = {{ rate = \"200/s\", max_connections = 8, requests = {REQUESTS} }}\n");
    let alone = "connection.requests = 1\ntls.resumption = \"always\"\n";
    let identities = format!(
        "{closed}{alone}tls.versions = [\"1.3\"]\n\
         tls.client_certificates = {{ mint = 3, ca = {:?}, ca_key = {:?} }}\n",
        ca.cert, ca.key
    );
    let early = format!(
        "{closed}connection.requests = 2\ntls.resumption = \"always\"\ntls.early_data = true\n\
         data.sites.order = \"user\"\n"
    );
    for (server, more, is_of_user) in [
        (NginxServer::ClientCertificateTickets, identities, false),
        (NginxServer::EarlyData, early, true),
        (NginxServer::Tls13Tickets, format!("{open}{alone}"), false),
    ] {
        let Some(nginx) = edge(&pki) else { return };
        let measured = run(&nginx, server, &pki, 2, &more).measured;
        let rows = nginx.wait_for_requests(REQUESTS as usize);
        assert_eq!(measured.operations.ok, REQUESTS, "{more}");
        assert_named(&rows, &measured, |seq, user| {
            name(if is_of_user { user } else { seq % NAMES })
        });
        match server {
            NginxServer::EarlyData => assert!(measured.early_data.accepted > 0, "{more}"),
            NginxServer::ClientCertificateTickets => {
                for row in &rows {
                    let (_, user, _) = told(row);
                    assert_eq!(
                        row.client_subject,
                        format!("CN=user-{}", user % 3),
                        "{row:?}"
                    );
                }
            }
            _ => {}
        }
    }
}

#[test]
fn variants_have_names_and_their_saved_plans_run_again() {
    let pki = Pki::new();
    let Some(nginx) = edge(&pki) else { return };
    let rows: String = (0..NAMES).map(|row| name(row) + "\n").collect();
    let text = plan(
        &nginx.url(NginxServer::Tls13Tickets, "/"),
        &pki,
        &format!(
            "data.sites.file = \"sites.txt\"\ntls.server_name = \"{{sites.line}}\"\n\
             request.path = \"/?{{seq}}-{{user}}-{{sites.line}}\"\n\
             request.headers.host = \"{{sites.line}}:8443\"\nconnection.requests = 1\n\
             load = {{ connections = 1, requests = {REQUESTS} }}\n\
             variants.full.tls.resumption = \"never\"\n\
             variants.resumed.tls.resumption = \"always\"\n"
        ),
    );
    let first = CoordinatorCommand::local(1, &text)
        .file("sites.txt", rows.as_bytes())
        .run();
    let saved = first.folder().join("runs/latest/plan.toml");
    let second = CoordinatorCommand::new(&["start", "--local", saved.to_str().unwrap()]).run();
    for finished in [&first, &second] {
        // 3: a busy machine let the client stand still.
        assert!([0, 3].contains(&finished.code), "{finished}");
    }
    let requests = nginx.wait_for_requests(4 * REQUESTS as usize);
    assert_eq!(requests.len() as u64, 4 * REQUESTS);
    for request in &requests {
        assert_eq!(request.server_name, told(request).2, "{request:?}");
    }
    // The first connection to each name has no session, in each of two runs.
    let resumed = requests.iter().filter(|request| request.resumed).count();
    assert_eq!(resumed as u64, 2 * (REQUESTS - NAMES));
}
