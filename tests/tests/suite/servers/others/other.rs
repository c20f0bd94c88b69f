//! One of these servers, runs against it, and what must hold for each of them.

use crate::servers::{REQUESTS, USERS, assert_all_ok, run_alone};
use analysis::Document;
use interop::{OtherKind, OtherOptions, OtherRow, OtherServer, Pki, curl, plan, require_optional};
use std::collections::BTreeSet;
use std::process::Command;

/// A server and its certificates.
pub(super) struct Other {
    server: OtherServer,
    pki: Pki,
}

/// What a server issues to a client that resumes a TLS 1.3 session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Resumed {
    /// A new ticket.
    Renews,
    /// Nothing: the two tickets of a full handshake are all there are, and each is used once (RFC
    /// 8446, appendix C.4). OpenSSL's `s_client` gets no more either: its second session comes
    /// without a ticket.
    GivesNone,
}

/// A run against the server, and what the server reported about it.
pub(super) struct Told {
    pub(super) document: Document,
    rows: Vec<OtherRow>,
}

impl Told {
    fn connections(&self) -> u64 {
        self.rows
            .iter()
            .map(|row| row.connection)
            .collect::<BTreeSet<_>>()
            .len() as u64
    }

    /// Asserts that as many sessions were resumed as the server reports, if it does.
    fn assert_resumed(&self) {
        if self.rows.iter().all(|row| row.resumed.is_some()) {
            let resumed = self
                .rows
                .iter()
                .filter(|row| row.resumed == Some(true))
                .count() as u64;
            assert_eq!(resumed, self.document.measured.resumption.resumed);
        }
    }
}

impl Other {
    pub(super) fn with(kind: OtherKind, options: OtherOptions) -> Option<Other> {
        let pki = Pki::new();
        let server = OtherServer::start(kind, &pki, options)?;
        println!("{kind:?}: {}", server.version());
        Some(Other { server, pki })
    }

    /// Runs requests for `/`; both sides must count the same.
    fn run(&self, sections: &str) -> Told {
        let told = self.run_path("/", sections);
        assert_all_ok(&told.document.measured);
        assert_eq!(
            told.document.measured.connections.opened,
            told.connections(),
            "{sections}"
        );
        told
    }

    /// Runs requests for a path; each must be answered once.
    pub(super) fn run_path(&self, path: &str, sections: &str) -> Told {
        let before = self.server.requests().len();
        let document = run_alone(&plan(&self.server.url(path), &self.pki, sections));
        let rows = self
            .server
            .wait_for_requests(before + REQUESTS as usize)
            .split_off(before);
        assert_eq!(rows.len() as u64, REQUESTS, "{sections}: {rows:?}");
        assert!(
            rows.iter()
                .all(|row| row.path == path && row.status.is_none_or(|status| status == 200)),
            "{rows:?}"
        );
        Told { document, rows }
    }

    /// Asserts that curl gets the same answer for a path: status, bytes, version of HTTP. Its
    /// request comes before those of the next run.
    pub(super) fn assert_curl(&self, flag: &str, path: &str, answer: &str) {
        let before = self.server.requests().len();
        let (ca, url) = (self.pki.ca(), self.server.url(path));
        let what = "%{http_code} %{size_download} %{http_version}";
        let arguments = [
            flag,
            "--cacert",
            ca.to_str().unwrap(),
            "-o",
            "/dev/null",
            "-w",
            what,
            &url,
        ];
        let Some(told) = curl(&arguments) else { return };
        assert_eq!(
            (told.code, told.output.as_str()),
            (0, answer),
            "{}",
            told.error
        );
        let _ = self.server.wait_for_requests(before + 1);
    }

    /// Asserts that all requests of h2load, if it is installed, are answered, and that the server
    /// reports as many connections.
    fn assert_h2load(&self) {
        let Some(program) = require_optional("h2load") else {
            return;
        };
        let before = self.server.requests().len();
        let (requests, users) = (REQUESTS.to_string(), USERS.to_string());
        let arguments = [
            "-n",
            requests.as_str(),
            "-c",
            users.as_str(),
            "-m",
            "5",
            &self.server.url("/"),
        ];
        let output = Command::new(program).args(arguments).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(
            told.contains(&format!("{REQUESTS} succeeded, 0 failed")),
            "{told}"
        );
        let rows = self
            .server
            .wait_for_requests(before + REQUESTS as usize)
            .split_off(before);
        let connections: BTreeSet<u64> = rows.iter().map(|row| row.connection).collect();
        assert_eq!(
            (rows.len() as u64, connections.len() as u64),
            (REQUESTS, USERS)
        );
    }

    /// All that holds of HTTP/1.1.
    pub(super) fn assert_http1(&self, gives: Resumed) {
        self.assert_connections();
        self.assert_resumption_1_2();
        self.assert_resumption_1_3(gives);
        self.assert_handshakes();
    }

    /// HTTP/1.1: connections carry as many requests as the plan says, whichever side ends them.
    fn assert_connections(&self) {
        self.assert_curl("--http1.1", "/", "200 356 1.1");
        // (connection, number of connections if that is known)
        let cases = [
            ("", Some(USERS)),
            ("connection.requests = 7\n", None),
            ("connection.requests = 1\n", Some(REQUESTS)),
            (
                "connection = { requests = 1, close = \"server\" }\n",
                Some(REQUESTS),
            ),
            (
                "connection = { requests = 1, close = \"rst\" }\n",
                Some(REQUESTS),
            ),
        ];
        for (sections, connections) in cases {
            let told = self.run(sections);
            assert!(
                connections.is_none_or(|number| number == told.connections()),
                "{sections}: {}",
                told.connections()
            );
            assert!(
                told.rows.iter().all(|row| row.http == "1.1"),
                "{:?}",
                told.rows
            );
            assert_eq!(
                told.document.measured.connections.left_open, 0,
                "{sections}"
            );
        }
    }

    /// HTTP/2: streams share the connections of the plan, and large bodies arrive complete.
    pub(super) fn assert_streams(&self) {
        self.assert_curl("--http2", "/", "200 356 2");
        self.assert_h2load();
        for streams in [1, 5, 20] {
            let told = self.run(&http2(streams));
            assert_eq!(told.connections(), USERS, "{streams} streams");
            let rows = &told.rows;
            assert!(rows.iter().all(|row| row.http == "2"), "{rows:?}");
            let mut negotiated = told.document.measured.negotiated.iter();
            assert!(negotiated.all(|agreed| agreed.alpn == "h2"));
        }
        let told = self.run_path("/big", &http2(3));
        assert_eq!(
            told.document.measured.bytes.payload_bytes,
            REQUESTS * interop::BIG_BYTES as u64
        );
        assert_eq!(told.document.measured.operations.ok, REQUESTS);
    }

    /// Ten thousand interim answers before the final one cost no request. curl accepts 300 KiB of
    /// heads, so at most 1,000 of these.
    pub(super) fn assert_interim_answers(&self, connections: &[&str]) {
        for (flag, sections) in ["--http1.1", "--http2"].into_iter().zip(connections) {
            let version = flag.trim_start_matches("--http");
            self.assert_curl(flag, "/103/1000", &format!("200 356 {version}"));
            for path in ["/100/10000", "/103/10000"] {
                assert_all_ok(&self.run_path(path, sections).document.measured);
            }
        }
    }

    /// TLS 1.2: every handshake except the first of each user resumes a session.
    fn assert_resumption_1_2(&self) {
        let told = self.run(&resuming("1.2"));
        let counted = &told.document.measured.resumption;
        assert_eq!(
            (counted.full, counted.resumed),
            (USERS, REQUESTS - USERS),
            "{counted:?}"
        );
        told.assert_resumed();
    }

    /// The same for TLS 1.3, if it follows from what the server issues on resumption.
    fn assert_resumption_1_3(&self, gives: Resumed) {
        let told = self.run(&resuming("1.3"));
        let counted = &told.document.measured.resumption;
        assert_eq!(
            (counted.refused, counted.none_at_hand),
            (0, counted.full),
            "{counted:?}"
        );
        match gives {
            Resumed::Renews => assert_eq!(counted.full, USERS, "{counted:?}"),
            Resumed::GivesNone => {
                assert_eq!(counted.received, 2 * counted.full, "{counted:?}");
                // The first of a user's three connections has no session to offer.
                assert!(
                    (REQUESTS / 3..=REQUESTS / 3 + USERS).contains(&counted.full),
                    "{counted:?}"
                );
            }
        }
        told.assert_resumed();
    }

    /// Connections that only shake hands, in both versions of TLS.
    pub(super) fn assert_handshakes(&self) {
        for version in ["1.2", "1.3"] {
            let before = self.server.handshakes();
            let text = plan(
                &self.server.url("/"),
                &self.pki,
                &format!("tls.versions = [\"{version}\"]\nconnection.requests = 0\n"),
            );
            let document = run_alone(&text);
            let (operations, resumption) =
                (&document.measured.operations, &document.measured.resumption);
            assert_eq!(
                (operations.ok, resumption.full),
                (REQUESTS, REQUESTS),
                "TLS {version}: {operations:?}"
            );
            let Some(before) = before else { continue };
            let all = before + REQUESTS as usize;
            let counted = interop::wait_until("the server to tell of every handshake", || {
                self.server
                    .handshakes()
                    .filter(|&handshakes| handshakes >= all)
            });
            assert_eq!(counted, all, "TLS {version}");
        }
    }
}

fn resuming(version: &str) -> String {
    format!(
        "tls.versions = [\"{version}\"]\ntls.resumption = \"always\"\nconnection.requests = 1\n"
    )
}

fn http2(streams: u64) -> String {
    format!("connection = {{ http = \"2\", streams = {streams} }}\n")
}
