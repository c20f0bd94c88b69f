//! What flags leave out, and how it is counted.

use super::{entries, rules, try_import};
use std::fmt::Write as _;
use traffic::{ImportRules, LogFormat, MissingBody, SkipReason, TrafficFormat};

const LOG: &str = "\
1.1.1.1 - - [25/Nov/2026:07:35:26 +0000] \"GET /a HTTP/1.1\" 200 6 \"-\" \"x\"
1.1.1.1 - - [25/Nov/2026:07:35:27 +0000] \"POST /b HTTP/1.1\" 200 6 \"-\" \"x\"
no line
1.1.1.1 - - [25/Nov/2026:07:35:28 +0000] \"HEAD /c HTTP/1.1\" 200 6 \"-\" \"x\"
";

fn paths(log: &str, rules: &ImportRules) -> Vec<String> {
    let (entries, _) = entries(log.as_bytes(), rules);
    entries
        .into_iter()
        .map(|entry| entry.request.path)
        .collect()
}

#[test]
fn request_without_its_body_is_refused_skipped_or_emptied() {
    let with = |bodies| ImportRules { bodies, ..rules() };
    let refused = try_import(LOG.as_bytes(), &with(MissingBody::Refuse)).unwrap_err();
    let message = refused.to_string();
    assert!(
        message.starts_with("line 2: the log does not have the body of this POST"),
        "{message}"
    );
    assert_eq!(paths(LOG, &with(MissingBody::Skip)), ["/a", "/c"]);
    assert_eq!(paths(LOG, &with(MissingBody::Empty)), ["/a", "/b", "/c"]);
    let (_, summary) = entries(LOG.as_bytes(), &with(MissingBody::Skip));
    assert_eq!(summary.skipped[&SkipReason::NoBody].first, 2);
    let (_, summary) = entries(LOG.as_bytes(), &with(MissingBody::Empty));
    assert_eq!(summary.emptied, 1);
}

#[test]
fn request_that_is_left_out_for_another_reason_needs_no_body() {
    let rules = ImportRules {
        bodies: MissingBody::Refuse,
        methods: vec!["get".to_owned(), "HEAD".to_owned()],
        ..rules()
    };
    assert_eq!(paths(LOG, &rules), ["/a", "/c"]);
}

#[test]
fn time_is_from_a_second_up_to_another() {
    let second = |second: i64| Some((1_795_592_100 + second) * 1_000_000_000);
    let with = |from_ns, to_ns| ImportRules {
        from_ns,
        to_ns,
        ..rules()
    };
    assert_eq!(paths(LOG, &with(second(27), None)), ["/b", "/c"]);
    assert_eq!(paths(LOG, &with(None, second(27))), ["/a"]);
    assert_eq!(paths(LOG, &with(second(27), second(28))), ["/b"]);
}

#[test]
fn line_that_cannot_be_parsed_is_counted_or_refused() {
    let (_, summary) = entries(LOG.as_bytes(), &rules());
    let skipped = &summary.skipped[&SkipReason::Unreadable];
    assert_eq!((skipped.count, skipped.first, summary.read), (1, 3, 4));
    let strict = ImportRules {
        is_strict: true,
        ..rules()
    };
    let refused = try_import(LOG.as_bytes(), &strict).unwrap_err().to_string();
    assert!(
        refused.starts_with("line 3, column 4: field 2 of 9"),
        "{refused}"
    );
}

#[test]
fn host_without_a_port_stands_for_every_port() {
    let log = r#"{"msec":"1.0","request":"GET /1 HTTP/1.1","host":"a.test"}
{"msec":"2.0","request":"GET /2 HTTP/1.1","host":"A.test:8443"}
{"msec":"3.0","request":"GET /3 HTTP/1.1","host":"a.test.evil"}
{"msec":"4.0","request":"GET /4 HTTP/1.1"}
"#;
    let with = |host: &str| ImportRules {
        hosts: vec![host.to_owned()],
        ..rules()
    };
    assert_eq!(paths(log, &with("a.test")), ["/1", "/2"]);
    assert_eq!(paths(log, &with("a.test:8443")), ["/2"]);
}

/// Lines out of order by up to 1,000 places.
fn shuffled(count: u64) -> String {
    let mut log = String::new();
    for nth in 0..count {
        let at = (nth / 1_000) * 1_000 + (nth * 7_919) % 1_000;
        writeln!(log, "{at}.5 \"GET /{at} HTTP/1.1\"").unwrap();
    }
    log
}

#[test]
fn lines_are_sorted_within_the_memory_that_is_given() {
    let log = shuffled(20_000);
    let with = |sort_bytes| ImportRules {
        sort_bytes,
        log_format: Some(LogFormat::parse("$msec \"$request\"").unwrap()),
        ..rules()
    };
    let (whole, _) = entries(log.as_bytes(), &with(64 << 20));
    assert_eq!(whole.len(), 20_000);
    // 2,000 requests of some 100 bytes: more than any line is out of place.
    let (windowed, summary) = entries(log.as_bytes(), &with(200_000));
    assert_eq!(windowed, whole);
    assert!(summary.skipped.is_empty());
    // What does not fit is left out, and counted.
    let (some, summary) = entries(log.as_bytes(), &with(20_000));
    let late = &summary.skipped[&SkipReason::OutOfOrder];
    assert_eq!(some.len() as u64 + late.count, 20_000);
    assert!(
        summary
            .to_string()
            .contains("came too late to be sorted; give more --sort-memory")
    );
}

#[test]
fn connection_that_a_restarted_server_numbers_alike_is_another() {
    let log = "1.0 \"GET /a HTTP/1.1\" 1 1\n2.0 \"GET /b HTTP/1.1\" 1 2\n\
               3.0 \"GET /c HTTP/1.1\" 1 1\n4.0 \"GET /d HTTP/1.1\" 1 2\n";
    let format = "$msec \"$request\" $connection $connection_requests";
    let log_format = Some(LogFormat::parse(format).unwrap());
    let (entries, _) = entries(
        log.as_bytes(),
        &ImportRules {
            log_format,
            ..rules()
        },
    );
    let connections = entries
        .into_iter()
        .map(|entry| entry.request.connection.unwrap());
    assert_eq!(connections.collect::<Vec<_>>(), ["1", "1", "1-1", "1-1"]);
}

#[test]
fn connection_begins_with_a_request_that_is_left_out() {
    let log = "1.0 \"GET /a HTTP/1.1\" 1 1\n2.0 \"POST /b HTTP/1.1\" 1 1\n\
               3.0 \"GET /c HTTP/1.1\" 1 2\n";
    let format = "$msec \"$request\" $connection $connection_requests";
    let rules = ImportRules {
        log_format: Some(LogFormat::parse(format).unwrap()),
        methods: vec!["GET".to_owned()],
        ..rules()
    };
    let (entries, _) = entries(log.as_bytes(), &rules);
    let connections = entries
        .into_iter()
        .map(|entry| entry.request.connection.unwrap());
    assert_eq!(connections.collect::<Vec<_>>(), ["1", "1-1"]);
}

#[test]
fn path_and_query_of_a_json_log_belong_together() {
    let log = "{\"time\":\"2026-11-24T12:00:00.5Z\",\"method\":\"GET\",\"path\":\"/search\",\
               \"query\":\"q=shoes\"}\n{\"time\":\"2026-11-24T12:00:01.5Z\",\"method\":\"GET\",\
               \"path\":\"/a?b\",\"query\":\"b\"}\n";
    assert_eq!(paths(log, &rules()), ["/search?q=shoes", "/a?b"]);
}

#[test]
fn targets_need_a_rate() {
    let target = br#"{"method":"GET","url":"http://a.test/"}"#;
    let rules = ImportRules {
        interval_ns: None,
        ..rules()
    };
    let refused = try_import(target, &rules).unwrap_err().to_string();
    assert!(refused.contains("--rate 100/s"), "{refused}");
}

#[test]
fn format_that_is_named_is_not_guessed() {
    let format = Some(TrafficFormat::Json);
    let (text, summary) = try_import(LOG.as_bytes(), &ImportRules { format, ..rules() }).unwrap();
    assert_eq!((text.as_str(), summary.read), ("", 4));
    assert_eq!(summary.skipped[&SkipReason::Unreadable].count, 4);
}
