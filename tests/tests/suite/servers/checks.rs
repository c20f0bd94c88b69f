//! Checks of answers: they fail as often as nginx's log says that they must.

use crate::servers::{REQUESTS, USERS, assert_all_ok, run, run_alone};
use analysis::Document;
use interop::{CoordinatorCommand, Nghttpd, Nginx, NginxOptions, NginxServer, Pki, plan};

/// Runs a plan with two agents, whose exit code must be this. Returns the result.
fn run_to(code: i32, sections: &str) -> Document {
    let load = format!("load = {{ connections = {USERS}, requests = {REQUESTS} }}\n");
    let plan = format!("{load}{sections}");
    let finished = CoordinatorCommand::local(2, &plan).run().expect(code);
    finished.clean().document()
}

/// Names, words and counts of the errors, by name.
fn errors(document: &Document) -> Vec<(String, String, u64)> {
    let errors = document.measured.errors.iter();
    let mut errors: Vec<_> = errors
        .map(|error| (error.name.clone(), error.words.clone(), error.count))
        .collect();
    errors.sort();
    errors
}

/// What a plan writes for the server's version of HTTP.
fn http_of(server: NginxServer) -> &'static str {
    if server == NginxServer::Http2 {
        "2"
    } else {
        "1.1"
    }
}

#[test]
fn failed_checks_are_those_of_the_answers_that_nginx_sent() {
    let pki = Pki::new();
    let cases = [
        (NginxServer::Plain, "connection.requests = \"unlimited\"\n"),
        (NginxServer::Plain, "connection.requests = 8\n"),
        (NginxServer::Tls13, "connection.requests = \"unlimited\"\n"),
        (NginxServer::Tls12Rsa, "connection.close = \"server\"\n"),
        (
            NginxServer::EarlyData,
            "connection.requests = 1\ntls.resumption = \"always\"\ntls.early_data = true\n",
        ),
        (
            NginxServer::Http2,
            "connection = { http = \"2\", streams = 3 }\n",
        ),
        (
            NginxServer::Http2Plain,
            "connection = { http = \"2\", streams = 1 }\n",
        ),
    ];
    for (server, connection) in cases {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let sections = format!(
            "{connection}request.path = \"/nth\"\n[request.expect]\nbytes = {{ min = 20 }}\n\
             headers = {{ x-nth = {{ max = 10 }}, Content-Type = \"application/json\" }}\n\
             contains = \"ok\"\nmatches = '[0-9]\\}}$'\njson = {{ \"/nth\" = {{ below = 6 }} }}\n\
             [thresholds]\n\"errors.http.check.count\" = \"< 1000\"\n\
             \"errors.http.check.1.share\" = \"< 100%\"\n"
        );
        let document = run_to(0, &plan(&nginx.url(server, "/"), &pki, &sections));
        let seen = nginx.wait_for_requests(REQUESTS as usize);
        let count = |late: &dyn Fn(u64) -> bool| {
            seen.iter().filter(|request| late(request.nth)).count() as u64
        };
        let expected: Vec<_> = [
            (
                "http.check.1",
                "header x-nth is not <= 10",
                count(&|nth| nth > 10),
            ),
            (
                "http.check.5",
                "JSON /nth is not < 6",
                count(&|nth| (6..=10).contains(&nth)),
            ),
        ]
        .into_iter()
        .filter(|(_, _, count)| *count > 0)
        .map(|(name, words, count)| (name.to_owned(), words.to_owned(), count))
        .collect();
        assert_eq!(errors(&document), expected, "{server:?}, {connection}");
        let operations = &document.measured.operations;
        assert_eq!(
            (operations.ended, operations.ok),
            (REQUESTS, count(&|nth| nth < 6)),
            "{server:?}, {connection}"
        );
    }
}

#[test]
fn compressed_and_chunked_bodies_are_checked_as_they_were_before() {
    use NginxServer::{Http2, Plain, Tls12Rsa, Tls13};
    let pki = Pki::new();
    // The content is numbers of seven digits, one a line; those of /packed end with 12,499.
    let cases = [
        (Plain, "/packed", "gzip", "0012499", "^0000000\\\\n"),
        (Http2, "/packed", "gzip", "0012499", "\\\\n0012499\\\\n$"),
        (Tls13, "/packed", "", "0012499", "(?m)^0004711$"),
        (Plain, "/packed.br", "br", "0012499", "^0000000\\\\n"),
        (Tls12Rsa, "/packed.br", "br", "0012499", "(?m)^0004711$"),
        (Http2, "/packed.br", "br", "0012499", "\\\\n0012499\\\\n$"),
        (Plain, "/packed.zst", "zstd", "0012499", "^0000000\\\\n"),
        (Tls13, "/packed.zst", "zstd", "0012499", "(?m)^0004711$"),
        (
            Http2,
            "/packed.zst",
            "zstd",
            "0012499",
            "\\\\n0012499\\\\n$",
        ),
        (Plain, "/chunked", "", "xxxx", "^x{356}$"),
        (Tls13, "/big", "", "0237499", "^0000000"),
        (Http2, "/big", "", "0237499", "^0000000"),
    ];
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    for (server, path, coding, last, pattern) in cases {
        let http = http_of(server);
        let has_coding = match coding {
            "" => "{ present = false }".to_owned(),
            coding => format!("{coding:?}"),
        };
        let sections = format!(
            "connection.http = {http:?}\nrequest.path = {path:?}\n\
                 request.headers = {{ accept-encoding = {coding:?} }}\n[request.expect]\n\
                 headers.content-encoding = {has_coding}\n\
                 matches = \"{pattern}\"\ncontains = [\"{last}\"]\n"
        );
        let document = run_alone(&plan(&nginx.url(server, "/"), &pki, &sections));
        assert_eq!(document.measured.operations.ok, REQUESTS, "{path} {coding}");
    }
}

const CODING: &str = "body's content coding is broken, or none that can be read there: gzip, br, \
                      and zstd outside streams";

#[test]
fn every_answer_fails_by_the_first_of_its_checks() {
    let pki = Pki::new();
    let cases = [
        (
            "/204",
            "status = [204]\ncontains = \"a\"",
            "body lacks \"a\"",
        ),
        (
            "/204",
            "json = { \"/a\" = 1 }",
            "body is not JSON, in which a check looks for a value",
        ),
        ("/", "contains = [\"xxx\", \"y\"]", "body lacks \"y\""),
        (
            "/packed",
            "contains = \"0012500\"",
            "body lacks \"0012500\"",
        ),
        (
            "/packed.zst",
            "contains = \"0012500\"",
            "body lacks \"0012500\"",
        ),
        ("/packed.bad", "contains = \"0012499\"", CODING),
        ("/packed.bad", "matches = \"0012499\"", CODING),
        (
            "/",
            "headers.etag = { present = true }",
            "header etag is missing",
        ),
        (
            "/",
            "bytes = { max = 355 }",
            "body has not the expected length",
        ),
    ];
    let versions = ["1.1", "2"].into_iter().cycle();
    for ((path, expect, words), http) in cases.into_iter().zip(versions) {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let sections = format!(
            "connection.http = {http:?}\nrequest.path = {path:?}\n\
             request.headers = {{ accept-encoding = \"gzip\" }}\n[request.expect]\n{expect}\n"
        );
        // No operation succeeds.
        let url = nginx.url(NginxServer::Http2, "/");
        let document = run_to(1, &plan(&url, &pki, &sections));
        let counts: Vec<_> = errors(&document)
            .into_iter()
            .map(|(_, words, count)| (words, count))
            .collect();
        assert_eq!(counts, [(words.to_owned(), REQUESTS)], "{path}, {http}");
        let seen = nginx.wait_for_requests(REQUESTS as usize);
        assert_eq!(seen.len() as u64, REQUESTS);
    }
}

#[test]
fn requests_without_checks_are_as_they_were_beside_those_with() {
    let pki = Pki::new();
    for (server, http) in [(NginxServer::Plain, "1.1"), (NginxServer::Http2, "2")] {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let sections = format!(
            "connection.http = {http:?}\n\
             [[request]]\npath = \"/?a\"\n[[request]]\nname = \"head\"\nmethod = \"HEAD\"\n\
             expect.headers.content-length = 356\n[[request]]\nname = \"checked\"\n\
             path = \"/nth\"\nexpect.contains = \"no such text\"\n"
        );
        let document = run_to(0, &plan(&nginx.url(server, "/"), &pki, &sections));
        let words = "checked: body lacks \"no such text\"".to_owned();
        let expected = [("http.check.2".to_owned(), words, REQUESTS / 3)];
        assert_eq!(errors(&document), expected);
        let by_request = document.by_request.iter();
        let ok: Vec<_> = by_request
            .map(|group| (group.name.as_str(), group.figures.operations.ok))
            .collect();
        let third = REQUESTS / 3;
        assert_eq!(ok, [("GET /", third), ("head", third), ("checked", 0)]);
    }
}

#[test]
fn fields_of_a_dynamic_table_are_those_that_were_sent() {
    let pki = Pki::new();
    for options in [
        &["--encoder-header-table-size=4096"][..],
        &["--header-table-size=0"],
    ] {
        let Some(server) = Nghttpd::start(options) else {
            return;
        };
        let sections = "connection = { http = \"2\", streams = 3 }\n\
             [request]\nmethod = \"POST\"\nbody = \"Welcome\"\n[request.expect]\n\
             headers.server = { contains = \"nghttpd\" }\nheaders.content-length = 7\n\
             headers.date = { matches = \"^[A-Z][a-z]{2}, [0-9]{2} .* GMT$\" }\n\
             headers.etag = { present = false }\ncontains = \"Welcome\"\n";
        let document = run_alone(&plan(&server.url("/"), &pki, sections));
        assert_eq!(document.measured.operations.ok, REQUESTS, "{options:?}");
    }
}

#[test]
fn all_of_a_plan_without_errors_pass() {
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let sections = "request.expect = { contains = \"xxxx\", matches = \"^x+$\" }\n";
    let document = run(&plan(&nginx.url(NginxServer::Tls13, "/"), &pki, sections));
    assert_all_ok(&document.measured);
}
