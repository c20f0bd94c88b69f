//! Columns in `tls.server_name`: which row names a connection, and what is refused.

use crate::support::{again, parse};
use plan::{Plan, ServerNames};

const BASE: &str = "target.url = \"https://edge.test/\"\n\
                    load = { connections = 2, requests = 3 }\n";
const ALONE: &str = "connection.requests = 1\n";
const NAMED: &str = "tls.server_name = \"{sites.host}\"\n";
const HOST: &str = "request.headers.host = \"{sites.host}\"\n";

fn sites(more: &str) -> String {
    format!("data.sites = {{ file = \"sites.csv\"{more} }}\n")
}

fn plan(text: &str) -> Plan {
    parse(&format!("{BASE}{text}")).expect("a plan")
}

#[test]
fn column_names_connections_and_stands_in_the_canonical_text() {
    let plan = plan(&format!("{ALONE}{}{NAMED}{HOST}", sites("")));
    let ServerNames::Column(column) = &plan.tls().expect("TLS").server_name else {
        panic!("{plan:?}");
    };
    assert_eq!(column.to_string(), "{sites.host}");
    let text = plan.canonical_text();
    assert!(text.contains("server_name = \"{sites.host}\"\n"), "{text}");
    assert_eq!(again(&plan).as_ref(), Ok(&plan));
    assert!(plan.notes().is_empty(), "{:?}", plan.notes());
}

#[test]
fn plans_with_one_name_keep_their_text() {
    for (given, written) in [
        ("", None),
        ("tls.server_name = \"A.test\"", Some("a.test")),
        ("tls.server_name = \"::1\"", Some("::1")),
    ] {
        let text = plan(given).canonical_text();
        let line = text.lines().find(|line| line.contains("server_name"));
        let expected = written.map(|name| format!("server_name = \"{name}\""));
        assert_eq!(line, expected.as_deref());
    }
}

#[test]
fn every_operation_takes_a_row_of_the_file_that_names_connections() {
    let requests = "[[request]]\nname = \"a\"\nheaders.host = \"{sites.host}\"\n\
                    [[request]]\nname = \"b\"\nheaders.host = \"b.test\"\n";
    let named = plan(&format!("{ALONE}{}{NAMED}{requests}", sites("")));
    let rows = |plan: &Plan| -> Vec<u64> {
        let sources = plan.row_sources();
        (0..6).map(|seq| sources["sites"].row(seq, 0)).collect()
    };
    assert_eq!(rows(&named), [0, 1, 2, 0, 1, 2]);
    assert_eq!(
        named.notes(),
        [
            "tls.server_name = \"{sites.host}\": the request \"b\" has no host = \"{sites.host}\" \
          in its headers, so it names another host than its connection"
        ]
    );
    let others = plan(&format!("{ALONE}{}{requests}", sites("")));
    assert_ne!(rows(&others), rows(&named));
}

#[test]
fn connections_are_kept_only_for_one_name() {
    let user = sites(", order = \"user\"");
    let two = "connection = { http = \"2\", streams = 4 }\n";
    for kept in ["", "connection.requests = 9\n", two] {
        let plan = plan(&format!("{kept}{user}{NAMED}{HOST}"));
        assert!(plan.notes().is_empty(), "{:?}", plan.notes());
    }
    let handshakes = plan(&format!("connection.requests = 0\n{}{NAMED}", sites("")));
    assert!(handshakes.notes().is_empty(), "{:?}", handshakes.notes());
}

#[test]
fn what_cannot_be_is_refused_with_its_cure() {
    for (text, expected) in [
        (
            format!("{}{NAMED}", sites("")),
            "{sites.host} gives each operation a name of its own, and the plan has several \
             requests on a connection; write connection.requests = 1, or order = \"user\" in \
             data.sites, which gives each user one name",
        ),
        (
            format!(
                "connection = {{ requests = 1, http = \"2\", streams = 2 }}\n{}{NAMED}",
                sites(", order = \"random\"")
            ),
            "several streams at once on a connection; write connection.streams = 1, or",
        ),
        (
            format!("{ALONE}{}tls.server_name = \"{{sites.bad}}\"\n", sites("")),
            "{sites.bad} has a cell that is no DNS name: row 2 of \"sites.csv\", in line 3; write \
             one such as \"edge.test\", in ASCII and without a final dot",
        ),
        (
            format!(
                "{ALONE}{}tls.server_name = \"www.{{sites.host}}\"\n",
                sites("")
            ),
            "\"www.{sites.host}\" has a column and more; write whole names into a column",
        ),
        (
            format!("{ALONE}{}tls.server_name = \"{{sites.name}}\"\n", sites("")),
            "names the column \"name\" of data.sites, which has host, bad",
        ),
        (
            format!("{ALONE}{}{NAMED}", sites(", secret = [\"host\"]")),
            "{sites.host} is secret, and a server's name goes out unencrypted (RFC 6066 §3); \
             remove \"host\" from data.sites.secret",
        ),
        (
            format!("{ALONE}{}tls.server_name = \"{{hosts.host}}\"\n", sites("")),
            "{hosts.host} is none of {sites.COLUMN}",
        ),
    ] {
        let said = parse(&format!("{BASE}{text}")).expect_err("a problem");
        assert!(said.contains(expected), "{text}\n{said}\n{expected}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}
