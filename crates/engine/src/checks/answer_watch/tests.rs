use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use measure::StreamEnd;
use plan::Plan;
use std::io::Write as _;

/// No plan here names a file.
fn plan_expecting(expect: &str) -> Plan {
    let text = format!(
        "target.url = \"http://edge.test/\"\nload = {{ connections = 1, requests = 1 }}\n\
         [request.expect]\n{expect}\n"
    );
    Plan::parse(&text, &mut plan::NoFiles).unwrap()
}

/// What an answer of these fields and this body, cut at `cut`, fails by.
fn failure(expect: &str, fields: &[(&str, &str)], body: &[u8], cut: usize) -> Option<Kind> {
    let checks = AnswerChecks::of_requests(&plan_expecting(expect)).remove(0);
    let mut watch = AnswerWatch::new(&checks.unwrap());
    let fields = fields.iter();
    watch.take_head(
        200,
        fields.map(|(name, value)| (name.as_bytes(), value.as_bytes())),
    );
    watch.take_body(&body[..cut]);
    watch.take_body(&body[cut..]);
    watch.end()
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

// [`BODY`], and 65 MiB of "x", as the programs brotli and zstd pack them.
const BODY_BROTLI: &[u8] = include_bytes!("coded/body.br");
const BODY_ZSTD: &[u8] = include_bytes!("coded/body.zst");
const BOMB_BROTLI: &[u8] = include_bytes!("coded/bomb.br");
const BOMB_ZSTD: &[u8] = include_bytes!("coded/bomb.zst");

const ALL: &str = "headers = { content-type = { contains = \"json\" }, etag = { present = true }, \
                   x-debug = { present = false } }\ncontains = [\"Welcome\", \"cart\"]\n\
                   matches = \"order-[0-9]+\"\njson = { \"/count\" = { above = 0 } }\n";
const FIELDS: [(&str, &str); 2] = [("Content-Type", "application/json"), ("ETag", " \"a\"")];
const BODY: &[u8] = br#"{"text": "Welcome, your cart has order-17", "count": 3}"#;

#[test]
fn the_first_check_that_fails_is_the_one_that_counts() {
    let without = |text: &str, other: &str| {
        let body = String::from_utf8_lossy(BODY).replace(text, other);
        failure(ALL, &FIELDS, body.as_bytes(), 0)
    };
    assert_eq!(failure(ALL, &FIELDS, BODY, 0), None);
    assert_eq!(failure(ALL, &[], BODY, 0), Some(Kind::Check(1)));
    assert_eq!(failure(ALL, &FIELDS[..1], BODY, 0), Some(Kind::Check(2)));
    let debug = [&FIELDS[..], &[("x-debug", "")]].concat();
    assert_eq!(failure(ALL, &debug, BODY, 0), Some(Kind::Check(3)));
    assert_eq!(without("Welcome", "welcome"), Some(Kind::Check(4)));
    assert_eq!(without("cart", "car"), Some(Kind::Check(5)));
    assert_eq!(without("order-17", "order-"), Some(Kind::Check(6)));
    assert_eq!(without("3}", "0}"), Some(Kind::Check(7)));
    assert_eq!(without("3}", "3"), Some(Kind::NotJson));
    assert_eq!(failure(ALL, &FIELDS, b"", 0), Some(Kind::Check(4)));
}

#[test]
fn body_is_checked_however_it_is_cut_and_coded() {
    for cut in 0..=BODY.len() {
        assert_eq!(failure(ALL, &FIELDS, BODY, cut), None, "cut at {cut}");
    }
    // Two members are one body (RFC 1952 §2.2), and so are two frames (RFC 8878 §3.1).
    let two_members = [gzip(&BODY[..20]), gzip(&BODY[20..])].concat();
    let two_frames = [BODY_ZSTD, BODY_ZSTD].concat();
    let json_apart = ALL.replace("json = ", "# ");
    let cases: [(&str, &str, &[u8]); 5] = [
        ("gzip", ALL, &gzip(BODY)),
        ("gzip", ALL, &two_members),
        ("br", ALL, BODY_BROTLI),
        ("ZSTD", ALL, BODY_ZSTD),
        ("zstd", &json_apart, &two_frames),
    ];
    for (coding, expect, coded) in cases {
        let fields = [&FIELDS[..], &[("content-encoding", coding)]].concat();
        for cut in 0..=coded.len() {
            let failed = failure(expect, &fields, coded, cut);
            assert_eq!(failed, None, "{coding} cut at {cut}");
        }
    }
}

#[test]
fn coding_that_is_broken_or_unknown_is_an_error_of_its_own() {
    let coding = |name: &str, body: &[u8]| {
        failure(
            "contains = \"cart\"",
            &[("content-encoding", name)],
            body,
            0,
        )
    };
    let coded = gzip(BODY);
    let lacking = gzip(b"nothing");
    let mut broken = lacking.clone();
    *broken.last_mut().unwrap() ^= 1;
    assert_eq!(coding("x-gzip", &coded), None);
    assert_eq!(coding("identity", BODY), None);
    assert_eq!(coding("gzip", &lacking), Some(Kind::Check(1)));
    assert_eq!(coding("gzip", BODY), Some(Kind::ContentCoding));
    assert_eq!(coding("gzip", &broken), Some(Kind::ContentCoding));
    assert_eq!(coding("gzip", &lacking[..8]), Some(Kind::ContentCoding));
    assert_eq!(coding("deflate", BODY), Some(Kind::ContentCoding));
    assert_eq!(coding("gzip, gzip", &coded), Some(Kind::ContentCoding));
    for (name, coded) in [("br", BODY_BROTLI), ("zstd", BODY_ZSTD)] {
        let lacks_text = "contains = \"nothing\"";
        let fields = [("content-encoding", name)];
        let broken = Some(Kind::ContentCoding);
        assert_eq!(failure(lacks_text, &fields, coded, 9), Some(Kind::Check(1)));
        assert_eq!(failure(lacks_text, &fields, b"", 0), Some(Kind::Check(1)));
        assert_eq!(coding(name, BODY), broken, "{name}");
        for cut in 1..coded.len() {
            let failed = failure(lacks_text, &fields, &coded[..cut], 0);
            assert_eq!(failed, broken, "{name}, {cut} bytes");
        }
        let longer = [coded, b"more"].concat();
        assert_eq!(failure(lacks_text, &fields, &longer, 0), broken, "{name}");
    }
    // No body, no coding: the answer lacks the text.
    assert_eq!(coding("gzip", b""), Some(Kind::Check(1)));
    // What no check needs is not decoded.
    let fields = [("content-encoding", "br")];
    let expect = "headers = { content-encoding = \"br\" }";
    assert_eq!(failure(expect, &fields, BODY, 0), None);
    // Nor is what follows the last byte that matters.
    let broken = [&coded[..], b"not gzip"].concat();
    assert_eq!(coding("gzip", &broken), None);
}

#[test]
fn body_that_is_too_long_is_an_error_of_its_own() {
    let long = format!("{{\"a\": \"{}\", \"b\": 1}}", "x".repeat(1 << 20));
    let json = "json = { \"/b\" = 1 }";
    assert_eq!(
        failure(json, &[], long.as_bytes(), 99),
        Some(Kind::BodyTooLarge)
    );
    let fits = &long.replace("xx", "x");
    assert_eq!(failure(json, &[], fits.as_bytes(), 99), None);
    // A small answer that would become a huge one.
    let gzip_bomb = gzip(&vec![b'x'; 65 << 20]);
    let bombs = [
        ("gzip", &gzip_bomb[..]),
        ("br", BOMB_BROTLI),
        ("zstd", BOMB_ZSTD),
    ];
    for (coding, bomb) in bombs {
        let fields = [("content-encoding", coding)];
        let text = "contains = \"cart\"";
        let failed = failure(text, &fields, bomb, 9);
        assert_eq!(failed, Some(Kind::BodyTooLarge), "{coding}");
        // A text that was found before counts.
        let failed = failure("contains = \"xxx\"", &fields, bomb, 9);
        assert_eq!(failed, None, "{coding}");
    }
}

/// A watch of an answer with this status and these fields, to a request with this stream.
fn streamed(stream: &str, status: u16, fields: &[(&str, &str)]) -> AnswerWatch {
    let expect = format!(
        "status = [\"2xx\", 302]\nheaders = {{ x-late = {{ present = false }} }}\n\
         [request.stream]\n{stream}"
    );
    let checks = AnswerChecks::of_requests(&plan_expecting(&expect)).remove(0);
    let mut watch = AnswerWatch::new(&checks.unwrap());
    let fields = fields.iter();
    let fields = fields.map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    watch.take_head(status, fields);
    watch
}

/// Events that came with a read at `at`, and the instant of the event before.
fn told(watch: &mut AnswerWatch, at: u64) -> Option<(u64, Option<u64>)> {
    let batch = watch.events()?.tell(at)?;
    Some((batch.number, batch.previous_at))
}

#[test]
fn events_are_told_with_the_read_that_completed_them() {
    let mut watch = streamed("events = \"sse\"\nend = \"[DONE]\"", 200, &[]);
    watch.take_body(b"data: 1\n\ndata: 2\n\ndata: ");
    assert!(watch.has_news());
    assert_eq!(told(&mut watch, 10), Some((2, None)));
    assert_eq!(told(&mut watch, 10), None);
    watch.take_body(b"3\n");
    assert!(!watch.has_news());
    watch.take_body(b"\n");
    assert_eq!(told(&mut watch, 30), Some((1, Some(10))));
    watch.take_body(b"data: [DONE]\n\n");
    assert_eq!(told(&mut watch, 40), None);
    assert_eq!(watch.end(), None);
    assert_eq!(watch.events().unwrap().outcome(), (StreamEnd::Whole, 3));
}

#[test]
fn coded_events_are_told_as_soon_as_they_are_flushed() {
    let fields = [("content-encoding", "gzip")];
    let mut watch = streamed("events = \"lines\"", 200, &fields);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    for at in 1..50 {
        writeln!(encoder, "{{\"token\": {at}}}").unwrap();
        encoder.flush().unwrap();
        let coded = std::mem::take(encoder.get_mut());
        watch.take_body(&coded);
        let before = (at > 1).then(|| at - 1);
        assert_eq!(told(&mut watch, at), Some((1, before)));
    }
    encoder.write_all(b"last").unwrap();
    watch.take_body(&encoder.finish().unwrap());
    assert_eq!(watch.end(), None);
    assert_eq!(told(&mut watch, 50), Some((1, Some(49))));
    assert_eq!(watch.events().unwrap().outcome(), (StreamEnd::Whole, 50));
}

/// Two events as brotli packs them with a flush after each.
#[test]
fn events_in_brotli_are_told_as_soon_as_they_are_flushed() {
    let mut watch = streamed("events = \"sse\"", 200, &[("content-encoding", "br")]);
    watch.take_body(b"\x0b\x04\x80data: 1\n\n");
    assert_eq!(told(&mut watch, 1), Some((1, None)));
    watch.take_body(b"\x40\x00\x80\x5f\x4a\x41\xa6\x08\xd1\x24\x18\x30");
    assert_eq!(told(&mut watch, 2), Some((1, Some(1))));
    watch.take_body(b"\x03");
    assert_eq!(watch.end(), None);
    assert_eq!(watch.events().unwrap().outcome(), (StreamEnd::Whole, 2));
}

/// What decodes it holds back a window, so events in it cannot be timed.
#[test]
fn events_in_zstd_are_not_read() {
    let mut watch = streamed("events = \"sse\"", 200, &[("content-encoding", "zstd")]);
    watch.take_body(BODY_ZSTD);
    assert_eq!(watch.end(), Some(Kind::ContentCoding));
}

#[test]
fn what_is_no_gzip_is_no_stream() {
    let broken: [&[u8]; 3] = [
        b"data: 1\n\n",
        &gzip(b"data: 1\n\n")[..12],
        b"\x1f\x8b\x08\0",
    ];
    for body in broken {
        let fields = [("content-encoding", "gzip")];
        let mut watch = streamed("events = \"sse\"", 200, &fields);
        body.chunks(1).for_each(|piece| watch.take_body(piece));
        assert_eq!(watch.end(), Some(Kind::ContentCoding));
    }
    for coding in ["br", "zstd", "deflate"] {
        let mut watch = streamed("events = \"sse\"", 200, &[("content-encoding", coding)]);
        watch.take_body(b"data: 1\n\n");
        assert_eq!(watch.end(), Some(Kind::ContentCoding), "{coding}");
    }
}

#[test]
fn stream_ends_whole_or_cut_or_without_its_marker() {
    let marked = "events = \"sse\"\nend = \"[DONE]\"\ncut_after = 3";
    type Case<'a> = (&'a [u8], u16, Option<Kind>, Option<(StreamEnd, u64)>);
    let cases: [Case<'_>; 6] = [
        (
            b"data: 1\n\ndata: [DONE]\n\n",
            200,
            None,
            Some((StreamEnd::Whole, 1)),
        ),
        (b"data: [DONE]\n\n", 200, None, Some((StreamEnd::Whole, 0))),
        (
            b"data: 1\n\n",
            200,
            Some(Kind::NoEndMarker),
            Some((StreamEnd::Unmarked, 1)),
        ),
        (
            b"",
            200,
            Some(Kind::NoEndMarker),
            Some((StreamEnd::Unmarked, 0)),
        ),
        (
            b"data: 1\n\ndata: 2\n\ndata: 3\n\ndata: 4\n\n",
            200,
            None,
            Some((StreamEnd::Cut, 3)),
        ),
        (b"data: 1\n\n", 302, None, None),
    ];
    for (body, status, failure, outcome) in cases {
        for body in [body.to_vec(), gzip(body)] {
            let is_coded = body.starts_with(b"\x1f\x8b");
            let fields = [(
                "content-encoding",
                if is_coded { "gzip" } else { "identity" },
            )];
            let mut watch = streamed(marked, status, &fields);
            watch.take_body(&body);
            assert_eq!(watch.end(), failure);
            assert_eq!(watch.events().map(|events| events.outcome()), outcome);
        }
    }
    // A failed check comes first, and the events count.
    let mut watch = streamed(marked, 200, &[("x-late", "1")]);
    watch.take_body(b"data: 1\n\n");
    assert_eq!(watch.end(), Some(Kind::Check(1)));
    assert_eq!(told(&mut watch, 5), Some((1, None)));
}
