//! Input that is broken, foreign, or meant to do harm.

use super::{entries, rules, try_import};
use std::io::{BufReader, Read};
use traffic::{ImportError, SkipReason, TrafficFormat, import};

fn refusal(log: &[u8]) -> String {
    try_import(log, &rules()).unwrap_err().to_string()
}

#[test]
fn what_is_no_log_is_called_by_its_name() {
    for (log, what) in [
        (&b""[..], "it is empty"),
        (b"\n \n", "it is empty"),
        (b"\xef\xbb\xbf", "it is empty"),
        (
            b"\x28\xb5\x2f\xfd....",
            "it is compressed by zstd; write zstd -dc",
        ),
        (b"\xff\xfea\0b\0", "it is UTF-16"),
        (b"PK\x03\x04", "it is a ZIP archive"),
        (b"\x1f\x8bnonsense", "its gzip data are damaged"),
        (
            b"hello\nworld\n",
            "its format is not one that is recognised; name it by --format",
        ),
        (
            br#"{"at":0.0,"method":"GET","path":"/"}"#,
            "it is a replay file already",
        ),
    ] {
        let refused = refusal(log);
        assert!(refused.contains(what), "{what}: {refused}");
    }
}

#[test]
fn broken_archive_is_refused_with_its_place() {
    let good = br#"{"log":{"entries":[{"startedDateTime":"2026-11-25T07:38:33Z",
        "request":{"method":"GET","url":"http://a.test/"}}]}}"#;
    assert_eq!(entries(good, &rules()).0.len(), 1);
    for (archive, what) in [
        (
            &good[..good.len() - 3],
            "line 2, column 58: EOF while parsing a list",
        ),
        (
            br#"{"log":{}}"#,
            "line 1, column 9: the object has no \"entries\"",
        ),
        (
            br#"{"log":{"entries":7}}"#,
            "invalid type: integer `7`, expected a list of entries",
        ),
        (
            br#"{"log":{"entries":[{}]}}"#,
            "missing field `startedDateTime`",
        ),
        (br#"{"log":{"entries":[]}} x"#, "trailing characters"),
    ] {
        let refused = refusal(archive);
        assert!(refused.contains(what), "{what}: {refused}");
    }
}

#[test]
fn deep_json_does_not_end_the_process() {
    let deep = "[".repeat(1_000_000);
    let archive = format!("{{\"log\":{{\"a\":{deep}");
    assert!(refusal(archive.as_bytes()).contains("EOF while parsing"));
    let line = format!("{{\"msec\":1.5,\"a\":{deep}\n");
    let (text, summary) = try_import(line.as_bytes(), &rules()).unwrap();
    assert_eq!(
        (
            text.as_str(),
            summary.skipped[&SkipReason::Unreadable].count
        ),
        ("", 1)
    );
}

#[test]
fn bytes_that_are_no_text_spoil_their_line_only() {
    let good = b"1.1.1.1 - - [25/Nov/2026:07:35:26 +0000] \"GET /a HTTP/1.1\" 200 6 \"-\" \"x\"\n";
    let nul = [&b"\0\0\0\n"[..], good, b"\xff\xfe\n", good].concat();
    let (_, summary) = entries(&nul, &rules());
    assert_eq!((summary.written, summary.read), (2, 4));
    let in_path = String::from_utf8_lossy(good).replace("/a", "/a\\x00\0\\xff");
    let (entries, _) = entries(in_path.as_bytes(), &rules());
    assert_eq!(entries[0].request.path, "/a%00%00%FF");
}

#[test]
fn line_without_an_end_is_skipped_in_bounded_memory() {
    let good = &b"\n1.1.1.1 - - [25/Nov/2026:07:35:26 +0000] \"GET /a HTTP/1.1\" 200 6\n"[..];
    let endless = std::io::repeat(b'x').take(200 << 20).chain(good);
    let mut rules = rules();
    rules.format = Some(TrafficFormat::Combined);
    let mut output = Vec::new();
    let summary = import(BufReader::new(endless), &rules, &mut output).unwrap();
    assert_eq!(
        (summary.written, summary.skipped[&SkipReason::TooLong].count),
        (1, 1)
    );
}

#[test]
fn instants_at_the_ends_of_the_calendar_are_no_overflow() {
    let log = r#"{"msec":"9223372036.0","request_time":"9223372036","request":"GET / HTTP/1.1"}
{"msec":"0","request_time":"9223372036","request":"GET / HTTP/1.1"}
{"msec":"99999999999999999999","request":"GET / HTTP/1.1"}
"#;
    let (entries, summary) = entries(log.as_bytes(), &rules());
    assert_eq!(
        (
            entries.len(),
            summary.skipped[&SkipReason::Unreadable].count
        ),
        (2, 1)
    );
}

#[test]
fn input_that_fails_is_an_error_and_not_the_end_of_the_log() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is gone"))
        }
    }
    let line = b"1.1.1.1 - - [25/Nov/2026:07:35:26 +0000] \"GET /a HTTP/1.1\" 200 6\n";
    let log = line.repeat(2_000);
    let error = import(log.chain(Failing), &rules(), &mut Vec::new()).unwrap_err();
    assert!(
        matches!(error, ImportError::Read { number: 2_001, .. }),
        "{error}"
    );
}

#[test]
fn body_that_no_replay_takes_is_skipped() {
    let head = b"1 a 1459427213000000000 0\nPOST / HTTP/1.1\r\nHost: a\r\n\
                 Content-Length: 13631488\r\n\r\n";
    let body = vec![0xff; 13 << 20];
    let log = [&head[..], &body, "\n🐵🙈🙉\n".as_bytes()].concat();
    let mut rules = rules();
    rules.format = Some(TrafficFormat::Goreplay);
    let (text, summary) = try_import(&log, &rules).unwrap();
    assert!(text.is_empty());
    assert_eq!(summary.skipped[&SkipReason::TooLong].count, 1);
}
