//! The PROXY protocol: nginx logs the clients that headers name.

use interop::{CoordinatorCommand, Pki, ProxiedNginx, plan};

const REQUESTS: u64 = 40;
const KEPT: &str = "";
const ONE: &str = "connection.requests = 1\n";
const HTTP2: &str = "connection.http = \"2\"\nconnection.streams = 3\n";

#[test]
fn server_sees_the_clients_that_headers_name() {
    let pki = Pki::new();
    let Some(nginx) = ProxiedNginx::start(&pki) else {
        return;
    };
    let [plain, tls] = nginx.urls();
    for (url, version, more) in [
        (&plain, "v1", KEPT),
        (&plain, "v2", ONE),
        (&tls, "v1", ONE),
        (&tls, "v2", KEPT),
        (&tls, "v2", HTTP2),
    ] {
        for (source, expected) in [
            ("", &["127.0.0.1"][..]),
            (
                "connection.proxy_source = \"10.1.2.0/24\"\n",
                &["10.1.2.0", "10.1.2.1", "10.1.2.2", "10.1.2.3"],
            ),
        ] {
            let _ = nginx.take_clients();
            let more = format!(
                "load = {{ connections = 4, requests = {REQUESTS} }}\n\
                 connection.proxy_protocol = {version:?}\n{source}{more}"
            );
            let plan = plan(url, &pki, &more);
            let finished = CoordinatorCommand::start(&["--local", "--agents=2"], &plan).run();
            let document = finished.expect(0).clean().document();
            assert_eq!(document.measured.operations.ok, REQUESTS, "{more}");
            let clients = nginx.take_clients();
            assert_eq!(clients.values().sum::<u64>(), REQUESTS, "{more}");
            let seen: Vec<String> = clients.keys().map(ToString::to_string).collect();
            assert_eq!(seen, expected, "{more}");
        }
    }
}

#[test]
fn header_goes_to_every_origin_that_redirects_lead_to() {
    let pki = Pki::new();
    let Some(nginx) = ProxiedNginx::start(&pki) else {
        return;
    };
    let [plain, tls] = nginx.urls();
    for connection in [KEPT, ONE] {
        let _ = nginx.take_clients();
        let more = format!(
            "load = {{ connections = 4, requests = {REQUESTS} }}\ntls.ca = {:?}\n\
             target.redirects_to = [{:?}]\nconnection.proxy_protocol = \"v2\"\n\
             connection.proxy_source = \"10.1.2.0/24\"\n{connection}\
             request = {{ path = \"/up\", redirects = 1, expect.status = [200] }}\n",
            pki.ca(),
            tls.trim_end_matches('/'),
        );
        let plan = plan(&plain, &pki, &more);
        let document = CoordinatorCommand::local(2, &plan).run().expect(0);
        assert_eq!(document.document().measured.operations.ok, REQUESTS);
        let clients = nginx.take_clients();
        assert_eq!(clients.values().sum::<u64>(), 2 * REQUESTS, "{connection}");
        let seen: Vec<String> = clients.keys().map(ToString::to_string).collect();
        let expected = ["10.1.2.0", "10.1.2.1", "10.1.2.2", "10.1.2.3"];
        assert_eq!(seen, expected, "{connection}");
    }
}

#[test]
fn server_that_wants_a_header_refuses_a_connection_without() {
    let pki = Pki::new();
    let Some(nginx) = ProxiedNginx::start(&pki) else {
        return;
    };
    // A user waits longer after each failure, up to a second.
    let more = "load = { connections = 1, requests = 5 }\n";
    let plan = plan(&nginx.urls()[0], &pki, more);
    let document = CoordinatorCommand::start(&["--local"], &plan)
        .run()
        .document();
    assert_eq!(document.measured.operations.ok, 0, "nginx takes none");
}
