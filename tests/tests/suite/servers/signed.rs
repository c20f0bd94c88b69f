//! Requests that are signed for AWS: Python verifies each signature.

use crate::servers::variables::assert_unseen;
use interop::{CoordinatorCommand, Pki, PythonServer, plan};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Cells whose bytes mean something in a path, a query, a form or JSON.
const ROWS: &str = "a,b\n\
    \"x/y z\",plain\n\
    \"100%&=+?#\",\"\"\"quoted\"\" \\\"\n\
    \"é東~!$'()*,;:@\",\"{}[]|^`<>\"\n";

const REQUESTS: &str = r#"
[[request]]
name = "plain"
auth = "s"
[[request]]
name = "query"
auth = "s"
path = "/p/{odd.a}/{w}/{seq}?z={odd.b}&b={w}&a=1%2C2,3&a=0&list-type&c={odd.a}{id}&b2=x%20y%2Bz"
headers = { X-Amz-Target = "Thing  Of   {w}", x-other = "1" }
[[request]]
name = "post"
method = "POST"
auth = "s"
path = "/q!'()*/%20x%2Fy;a=b"
body = "n={odd.a} {seq}"
[[request]]
name = "put"
method = "PUT"
auth = "s"
path = "/file"
body_file = "body.bin"
[[request]]
name = "json"
method = "POST"
auth = "s"
path = "/{user}"
json = '{"a": "{odd.b}"}'
[[request]]
name = "delete"
method = "DELETE"
auth = "s"
path = "/{random}/%C3%A9"
"#;

#[test]
fn every_signature_is_the_one_that_the_service_computes() {
    let folder = tempfile::tempdir().unwrap();
    for (service, session) in [
        ("s3", ""),
        ("execute-api", ", session_token = \"tok/en+1==\""),
    ] {
        let seen = folder.path().join(service);
        let ip = Ipv4Addr::LOCALHOST.into();
        let Some(server) = PythonServer::verifying(ip, &seen, service) else {
            return;
        };
        let more = format!(
            "vars.aws_secret = \"env:INTEROP_SECRET\"\n\
             auth.s.aws = {{ region = \"eu-west-1\", service = \"{service}\", \
             access_key = \"AKIDEXAMPLE\", secret_key = \"{{aws_secret}}\"{session} }}\n\
             data.odd.file = \"odd.csv\"\n\
             let.id = \"uuid\"\n\
             let.w = {{ one_of = [\"a b\", \"c/d\", \"ü%\", \"x\"] }}\n\
             load = {{ connections = 4, requests = 600 }}\n{REQUESTS}"
        );
        let plan = plan(
            &format!("{}base/?x=1&empty", server.url()),
            &Pki::new(),
            &more,
        );
        let command = CoordinatorCommand::local(2, &plan);
        let command = command.file("odd.csv", ROWS.as_bytes());
        let body: Vec<u8> = (0..100_000_u32).map(|number| number as u8).collect();
        let command = command.file("body.bin", &body).with(|command| {
            command.env("INTEROP_SECRET", "p1anted/Key+1");
        });
        let finished = command.run().expect(0);
        let mut answers = BTreeMap::new();
        for line in std::fs::read_to_string(&seen).unwrap().lines() {
            let status = line.rsplit(' ').next().unwrap().to_owned();
            *answers.entry(status).or_insert(0) += 1;
        }
        assert_eq!(
            answers,
            BTreeMap::from([("200".to_owned(), 600)]),
            "{finished}"
        );
        assert_eq!(
            finished.document().measured.operations.ok,
            600,
            "{finished}"
        );
        // Each has a signature; for S3, those whose body differs have its hash too.
        let made = if service == "s3" { 600 + 200 } else { 600 };
        let signing = finished.document().client.signing.unwrap();
        assert_eq!(signing.made, made, "{finished}");
        assert!((1..made).contains(&signing.timed), "{signing:?}");
        assert!(finished.to_string().contains("signing took "), "{finished}");
        assert_unseen(&finished, "p1anted");
        assert_unseen(&finished, "tok/en");
    }
}
