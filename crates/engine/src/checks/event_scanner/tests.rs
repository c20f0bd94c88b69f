use super::*;
use proptest::prelude::*;

fn stream(events: EventFormat, end: Option<&str>, cut_after: Option<u32>) -> Arc<EventStream> {
    let end = end.map(str::to_owned);
    Arc::new(EventStream {
        events: Some(events),
        end,
        cut_after,
    })
}

/// Events, and whether the end is right, of a body that comes in these pieces.
fn scan(stream: &Arc<EventStream>, pieces: &[&[u8]]) -> (u64, bool) {
    let mut scanner = EventScanner::new(stream);
    pieces.iter().for_each(|piece| scanner.take(piece));
    scanner.end();
    (scanner.events(), scanner.is_ended())
}

#[test]
fn server_sent_events_are_those_of_the_standard() {
    let stream = stream(EventFormat::Sse, Some("[DONE]"), None);
    let cases: [(&str, u64, bool); 21] = [
        ("", 0, false),
        ("data: a\n\n", 1, false),
        ("data: a\r\n\r\ndata: b\r\rdata: c\n\n", 3, false),
        ("\u{feff}data: a\n\n", 1, false),
        ("\u{feff}\u{feff}data: a\n\n", 0, false),
        (": keep-alive\n\n: keep-alive\n\n", 0, false),
        ("data: a\n: comment\ndata: b\n\n", 1, false),
        ("event: ping\nid: 7\nretry: 10\n\n", 0, false),
        ("event: ping\ndata\n\n", 1, false),
        ("data:\n\n", 1, false),
        ("data : a\n\ndatas: a\n\nDATA: a\n\n dat: a\n\n", 0, false),
        ("\n\n\n\ndata: a\n\n\n\n", 1, false),
        ("data: a\n\ndata: b", 1, false),
        ("data: a\n\ndata: b\n", 1, false),
        ("data: a\n\ndata: [DONE]\n\n", 1, true),
        ("data: a\n\ndata:[DONE]\r\n\r\n", 1, true),
        ("data: a\n\ndata:  [DONE]\n\n", 2, false),
        ("data: a\n\ndata: [DONE] \n\n", 2, false),
        ("data: [DONE]\n\ndata: a\n\n", 1, false),
        ("data: [DO\ndata: NE]\n\n", 1, false),
        ("data: [DONE]", 0, false),
    ];
    for (body, events, is_ended) in cases {
        let bytes: Vec<&[u8]> = body.as_bytes().chunks(1).collect();
        assert_eq!(scan(&stream, &bytes), (events, is_ended), "{body:?}");
        let whole = [body.as_bytes()];
        assert_eq!(scan(&stream, &whole), (events, is_ended), "{body:?}");
    }
}

#[test]
fn end_marker_may_have_several_lines() {
    let stream = stream(EventFormat::Sse, Some("a\n\nb"), None);
    assert_eq!(scan(&stream, &[b"data: a\ndata\ndata: b\n\n"]), (0, true));
    assert_eq!(scan(&stream, &[b"data: a\ndata: b\n\n"]), (1, false));
}

#[test]
fn lines_are_events_unless_they_are_blank() {
    let stream = stream(EventFormat::Lines, Some("{\"done\": true}"), None);
    let cases: [(&str, u64, bool); 8] = [
        ("", 0, false),
        ("{}\n{}\n", 2, false),
        ("{}\r\n\r\n{}", 2, false),
        (" \n\t\r\n{}\n \n", 1, false),
        ("{}\n{\"done\": true}\n", 1, true),
        ("{}\n  {\"done\": true} \r\n\r\n", 1, true),
        ("{}\n{\"done\": true}", 1, true),
        ("{\"done\": true}{}\n", 1, false),
    ];
    for (body, events, is_ended) in cases {
        let bytes: Vec<&[u8]> = body.as_bytes().chunks(1).collect();
        assert_eq!(scan(&stream, &bytes), (events, is_ended), "{body:?}");
        let whole = [body.as_bytes()];
        assert_eq!(scan(&stream, &whole), (events, is_ended), "{body:?}");
    }
}

#[test]
fn nothing_counts_behind_the_last_event_that_is_wanted() {
    let sse = stream(EventFormat::Sse, Some("[DONE]"), Some(2));
    let body = b"data: 1\n\ndata: 2\n\ndata: 3\n\ndata: [DONE]\n\n";
    for cut in 0..body.len() {
        let mut scanner = EventScanner::new(&sse);
        scanner.take(&body[..cut]);
        scanner.take(&body[cut..]);
        assert_eq!((scanner.events(), scanner.is_full()), (2, true));
    }
    // The marker is no event.
    let mut scanner = EventScanner::new(&sse);
    scanner.take(b"data: 1\n\ndata: [DONE]\n\n");
    assert_eq!((scanner.events(), scanner.is_full()), (1, false));
    let lines = stream(EventFormat::Lines, None, Some(2));
    assert_eq!(scan(&lines, &[b"1\n2\n3\n4"]), (2, true));
}

/// The algorithm of WHATWG HTML §9.2.6 as it is written, on the whole body.
fn events_of_whole(body: &str, end: &str) -> (u64, bool) {
    let body = body.strip_prefix('\u{feff}').unwrap_or(body);
    let body = body.replace("\r\n", "\n").replace('\r', "\n");
    let (lines, _unfinished) = body.rsplit_once('\n').unwrap_or_default();
    let (mut data, mut events, mut is_ended) = (String::new(), 0, false);
    let has_lines = body.contains('\n');
    for line in lines.split('\n').filter(|_| has_lines) {
        if line.is_empty() {
            if !data.is_empty() {
                is_ended = data.strip_suffix('\n') == Some(end);
                events += u64::from(!is_ended);
            }
            data.clear();
            continue;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        if name == "data" {
            data += value.strip_prefix(' ').unwrap_or(value);
            data.push('\n');
        }
    }
    (events, is_ended)
}

proptest! {
    #[test]
    fn pieces_have_the_events_of_the_whole(
        parts in proptest::collection::vec(
            prop::sample::select(vec![
                "data", "data:", "data: ", ":", " ", "\r", "\n", "\r\n", "\n\n", "x", "[DONE]",
                "[DO", "event: e", "\u{feff}", "dat", "data: [DONE]\n\n", "data: x\n\n",
            ]),
            0..30,
        ),
        sizes in proptest::collection::vec(0_usize..7, 0..60),
    ) {
        let body = parts.concat();
        let mut rest = body.as_bytes();
        let mut pieces = Vec::new();
        for size in sizes {
            let (piece, after) = rest.split_at(size.min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        pieces.push(rest);
        let stream = stream(EventFormat::Sse, Some("[DONE]"), None);
        prop_assert_eq!(scan(&stream, &pieces), events_of_whole(&body, "[DONE]"), "{:?}", body);
    }
}
