//! Forms, JSON and bodies of several parts, read by another program's parsers.

use interop::{CoordinatorCommand, Pki, PythonServer, plan};
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr};

const REQUESTS: u64 = 60;

fn sha256(content: &[u8]) -> String {
    ::plan::Sha256::hash(content).to_string()
}

#[test]
fn server_reads_what_the_plan_means() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let Some(server) = PythonServer::reading(IpAddr::V4(Ipv4Addr::LOCALHOST), &seen) else {
        return;
    };
    // More than a window of what is sent at once, and every byte.
    let file: Vec<u8> = (0..100_000_u32)
        .map(|n| (n.wrapping_mul(n) >> 3) as u8)
        .collect();
    let (file_path, data_path) = (folder.path().join("a.bin"), folder.path().join("users.csv"));
    std::fs::write(&file_path, &file).unwrap();
    std::fs::write(
        &data_path,
        "login,note\nann,\"a&b=\"\"c\"\" é\n\"\nbob,\\\\{x}\n",
    )
    .unwrap();
    let more = format!(
        "load = {{ connections = 3, requests = {REQUESTS} }}\n\
         data.users.file = {data_path:?}\n\
         vars.key = {{ secret = \"k&\\\"\" }}\n\
         request = [\n\
         {{ name = \"form\", method = \"POST\", path = \"/{{users.login}}\", \
            form = {{ note = \"{{users.note}}\", \"a b\" = [1, \"x&y\"], key = \"{{key}}\" }} }},\n\
         {{ name = \"json\", method = \"POST\", path = \"/{{users.login}}\", \
            json = {{ note = \"{{users.note}}\", n = [1.5, true], key = \"{{key}}\" }} }},\n\
         {{ name = \"parts\", method = \"POST\", path = \"/{{users.login}}\", multipart = [\
            {{ name = \"note\", text = \"{{users.note}}\" }}, \
            {{ name = \"file\", file = {file_path:?}, type = \"image/png\" }}] }},\n\
         ]\n"
    );
    let plan = plan(&server.url(), &Pki::new(), &more);
    let finished = CoordinatorCommand::start(&["--local", "--agents=2"], &plan).run();
    let document = finished.expect(0).clean().document();
    assert_eq!(document.measured.operations.ok, REQUESTS);
    let notes = [("/ann", "a&b=\"c\" é\n"), ("/bob", "\\\\{x}")];
    let expected = |note: &str| -> [Value; 3] {
        let key = "k&\"";
        let part = |name: &str, filename: Value, media_type: Value, content: &[u8]| {
            json!({
                "name": name, "filename": filename, "type": media_type,
                "sha256": sha256(content), "bytes": content.len(),
            })
        };
        [
            json!([["note", note], ["a b", "1"], ["a b", "x&y"], ["key", key]]),
            json!({ "note": note, "n": [1.5, true], "key": key }),
            json!([
                part("note", Value::Null, Value::Null, note.as_bytes()),
                part("file", "a.bin".into(), "image/png".into(), &file),
            ]),
        ]
    };
    let lines = std::fs::read_to_string(&seen).unwrap();
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len() as u64, REQUESTS);
    for (path, note) in notes {
        let expected = expected(note);
        let of_path: Vec<&Value> = lines.iter().filter(|line| line["path"] == path).collect();
        assert_eq!(of_path.len() as u64, REQUESTS / 2, "rows in turn");
        for line in of_path {
            assert!(expected.contains(&line["read"]), "{line}");
        }
        for kind in &expected {
            assert!(lines.iter().any(|line| line["read"] == *kind), "{kind}");
        }
    }
}
