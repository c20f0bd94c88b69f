//! Files that only exist in memory.

use plan::{
    Campaign, EncodedCall, FieldKind, FieldLabel, Files, MessageEncoder, MessageFault, MessagePart,
    MessageShape, Plan, ScalarType, Settings, Sha256, ShapeField,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Files by name.
#[derive(Default)]
pub struct Folder(BTreeMap<String, Vec<u8>>);

impl Folder {
    /// A CA, two client identities, a body, data files, and files with the wrong content.
    pub fn new() -> Folder {
        let certificate = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";
        let key = "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n";
        let locked =
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA==\n-----END ENCRYPTED PRIVATE KEY-----\n";
        let files = [
            ("ca.pem", certificate),
            ("a.pem", certificate),
            ("a.key", key),
            ("clients/b.crt", certificate),
            ("clients/b.key", key),
            ("clients/a.pem", certificate),
            ("clients/a.key", key),
            ("clients/alone.pem", certificate),
            ("clients/README", "which is which"),
            ("slips/a.key", key),
            ("slips/b.key", key),
            ("slips/b.crt", certificate),
            ("slips/b.pem", certificate),
            ("keyless/a.pem", certificate),
            ("locked.key", locked),
            ("run/pki/ca.pem", certificate),
            ("run/pki/client.pem", certificate),
            ("run/pki/client.key", key),
            ("body.json", "{\"hello\": 1}"),
            ("a\"b.json", "{\"hello\": 1}"),
            ("users.csv", "login,password\nann,\"a,1\"\nbob,b/2\n"),
            (
                "coupons.jsonl",
                "{\"code\": \"A 1\", \"value\": 5}\n{\"code\": \"B\", \"value\": 7}\n",
            ),
            (
                "sites.csv",
                "host,bad\na.test,a.test\nB.test,10.0.0.1\nc.test,c.test\n",
            ),
            (
                "replay.jsonl",
                r#"{"at": 0, "method": "GET", "path": "/a", "connection": "1"}
{"at": 0.5, "method": "POST", "path": "/b", "connection": "2"}
{"at": 1, "method": "GET", "path": "/c", "connection": "1"}
{"at": 3, "method": "GET", "path": "/d", "status": 404}
"#,
            ),
            (
                "handshakes.jsonl",
                concat!(
                    r#"{"at": 0, "method": "GET", "path": "/a", "connection": "1", "#,
                    r#""server_name": "a.test", "resumed": false, "protocol": "TLSv1.3"}"#,
                    "\n",
                    r#"{"at": 0.5, "method": "GET", "path": "/b", "connection": "2", "#,
                    r#""server_name": "a.test", "resumed": true, "protocol": "TLSv1.3"}"#,
                    "\n",
                    r#"{"at": 1, "method": "GET", "path": "/c", "connection": "3", "#,
                    r#""server_name": "b.test", "resumed": false, "protocol": "TLSv1.2"}"#,
                    "\n",
                    r#"{"at": 2, "method": "GET", "path": "/d", "connection": "1"}"#,
                    "\n",
                ),
            ),
            (
                "unnamed.jsonl",
                r#"{"at": 0, "method": "GET", "path": "/a", "connection": "1", "resumed": true}
"#,
            ),
            (
                "names.jsonl",
                concat!(
                    r#"{"at": 0, "method": "GET", "path": "/a", "connection": "1", "#,
                    r#""server_name": "10.0.0.1"}"#,
                ),
            ),
            (
                "heads.jsonl",
                r#"{"at": 0, "method": "HEAD", "path": "/a"}
{"at": 8726400, "method": "GET", "path": "/b"}
"#,
            ),
            ("words.txt", "one\ntwo words\nthree\n"),
            ("ragged.csv", "a,b\n1,2\n3\n"),
            ("api.binpb", "set"),
            ("ca.der", "\u{30}\u{3}binary"),
        ];
        Folder(
            files
                .into_iter()
                .map(|(name, content)| (name.to_owned(), content.as_bytes().to_vec()))
                .collect(),
        )
    }
}

impl Files for Folder {
    fn read(&mut self, name: &str) -> Result<Arc<[u8]>, String> {
        self.0
            .get(name)
            .map(|content| content[..].into())
            .ok_or_else(|| "no such file".to_owned())
    }

    fn list(&mut self, folder: &str) -> Result<Vec<String>, String> {
        let inside = format!("{}/", folder.trim_end_matches('/'));
        let names: Vec<String> = self
            .0
            .keys()
            .filter(|name| name.starts_with(&inside))
            .cloned()
            .collect();
        if names.is_empty() {
            Err("no such folder".to_owned())
        } else {
            Ok(names)
        }
    }

    fn encoder(&self) -> Option<MessageEncoder> {
        Some(encode)
    }
}

/// A message in which each pointer leads to a text.
fn texts(pointers: &[&str]) -> MessageShape {
    let fields = (1..).zip(pointers).filter_map(|(number, pointer)| {
        let parts: Vec<&str> = pointer.split('/').skip(1).collect();
        text_at(number, &parts)
    });
    MessageShape {
        fields: fields.collect(),
    }
}

/// The field that `parts` of a pointer lead through; `*` stands for an element of a list.
fn text_at(number: u32, parts: &[&str]) -> Option<ShapeField> {
    let (name, rest) = parts.split_first()?;
    let (label, rest) = match rest {
        [] => (FieldLabel::Implicit, rest),
        ["*", rest @ ..] => (FieldLabel::Repeated, rest),
        rest => (FieldLabel::Optional, rest),
    };
    let kind = match text_at(1, rest) {
        None => FieldKind::Scalar(ScalarType::String),
        Some(inner) => FieldKind::Message(MessageShape {
            fields: vec![inner],
        }),
    };
    Some(ShapeField::new(number, name, label, kind))
}

/// Encodes messages of one field, which is all of the JSON; some methods are wrong.
fn encode(
    descriptors: &[u8],
    method: &str,
    json: &str,
    pointers: &[&str],
) -> Result<EncodedCall, MessageFault> {
    assert_eq!(descriptors, b"set");
    if pointers.contains(&"/none") {
        return Err(MessageFault::Pointer {
            pointer: "/none".to_owned(),
            why: "there is no such field".to_owned(),
        });
    }
    match method {
        "a.B/NoSet" => Err(MessageFault::Descriptors("is no set".to_owned())),
        "a.B/NoMethod" => Err(MessageFault::Method("there is none".to_owned())),
        "a.B/NoMessage" => Err(MessageFault::Message("is no message".to_owned())),
        _ => Ok(EncodedCall {
            message: vec![
                MessagePart::Bytes(vec![10]),
                MessagePart::Delimited(vec![MessagePart::Text(json.to_owned())]),
            ],
            is_streamed: method.ends_with("/Watch"),
            answer: texts(pointers),
        }),
    }
}

/// Parses `text` as a plan; fails with its problems, one per line.
pub fn parse(text: &str) -> Result<Plan, String> {
    Plan::parse(text, &mut Folder::new()).map_err(|problems| problems.to_string())
}

/// Parses `text` as a campaign, in an environment that has everything; fails with its problems, one
/// per line.
pub fn campaign(text: &str) -> Result<Campaign, String> {
    let settings = Settings {
        environment: &|name| Ok(format!("value-of-{name}")),
        ..Settings::NONE
    };
    Campaign::parse_bytes(text.as_bytes(), &mut Folder::new(), settings)
        .map_err(|problems| problems.to_string())
}

/// Parses the canonical text of `plan`, with its files by hash.
pub fn again(plan: &Plan) -> Result<Plan, String> {
    let mut files: BTreeMap<Sha256, Arc<[u8]>> = plan
        .files()
        .into_iter()
        .map(|file| (file.sha256, file.content.clone()))
        .collect();
    let pairs = plan
        .tls()
        .into_iter()
        .flat_map(|tls| tls.client_certificates.files())
        .flat_map(|pair| [&pair.cert, &pair.key]);
    files.extend(pairs.filter_map(|file| Some((file.sha256, file.bytes()?.into()))));
    Plan::parse_canonical(&plan.canonical_text(), &|sha256| {
        files.get(&sha256).cloned()
    })
    .map_err(|problems| problems.to_string())
}
