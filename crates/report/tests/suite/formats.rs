//! A document written by hand, rendered in every format and compared with golden files.

use crate::golden::{assert_golden, document, golden};
use analysis::{
    AgentEndCause, Document, LoadRecord, PreflightFinding, RunState, Verdict, exit_code,
};
use report::{Format, Style, read};
use std::collections::BTreeSet;

fn columns(text: &str) -> usize {
    text.lines()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or(0)
}

#[test]
fn result_reads_back_as_it_was_written() {
    let text = std::fs::read_to_string(golden("result-v1.json")).unwrap();
    assert_eq!(
        read(Format::Json.render(&document(), Style::PLAIN).as_bytes()).unwrap(),
        document()
    );
    assert_golden(
        "result-v1.json",
        &Format::Json.render(&document(), Style::PLAIN),
    );
    assert!(text.ends_with("}\n"));
}

#[test]
fn results_of_earlier_versions_are_read_and_rendered() {
    let earlier = golden("earlier/result-picture.json");
    let earlier = read(&std::fs::read(earlier).unwrap()).unwrap();
    assert_eq!(
        earlier.measured.times["response_time"].histogram,
        document().measured.times["response_time"].histogram,
        "it was called a picture"
    );
    for format in Format::ALL {
        assert!(!format.render(&earlier, Style::PLAIN).is_empty());
    }
}

#[test]
fn newer_schema_is_refused_with_a_cure() {
    let text = std::fs::read_to_string(golden("result-v1.json")).unwrap();
    let newer = text.replacen("\"schema\": 1", "\"schema\": 2", 1);
    let error = read(newer.as_bytes()).unwrap_err().to_string();
    assert_eq!(
        error,
        "the result has schema 2, this version reads up to 1; use the version that wrote it, or a \
         newer one"
    );
    let error = read(b"{\"schema\": 7, \"other\": true}")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("schema 7"),
        "a layout that cannot be read is told by its version: {error}"
    );
    for broken in ["", "{", "[]", "{}", "{\"schema\": 1}"] {
        assert!(
            read(broken.as_bytes())
                .unwrap_err()
                .to_string()
                .starts_with("not a result of this tool"),
            "{broken}"
        );
    }
}

#[test]
fn renders_in_every_format_as_agreed() {
    let document = document();
    for (format, name) in [
        (Format::Console, "console.txt"),
        (Format::Brief, "brief.txt"),
        (Format::Markdown, "report.md"),
        (Format::Csv, "seconds.csv"),
        (Format::Junit, "junit.xml"),
    ] {
        assert_golden(name, &format.render(&document, Style::PLAIN));
    }
}

#[test]
fn arrivals_that_were_never_sent_make_mean_and_maximum_lower_bounds_wherever_they_stand() {
    let mut document = document();
    let service = document.measured.times.get_mut("service_time").unwrap();
    (service.timed_out, service.not_sent) = (0, 3);
    (service.mean_ns, service.max_ns) = (41e6, 42_000_000_000);
    for format in [Format::Console, Format::Markdown, Format::Html] {
        let text = format.render(&document, Style::PLAIN);
        for bound in ["≥ 41.0 ms", "≥ 42.0 s"] {
            assert!(text.contains(bound), "{bound} in {format:?}");
        }
    }
    let row = &mut document.series.rows[0];
    (row.response_time_p99_at_least, row.response_time_at_least) = (false, true);
    let text = Format::Csv.render(&document, Style::PLAIN);
    let second = text.lines().nth(1).unwrap();
    assert!(second.ends_with(",false,1,false,true,0,,"), "{second}");
}

#[test]
fn events_of_streams_are_in_every_format_that_has_room_for_them() {
    let mut document = document();
    let quiet = [Format::Console, Format::Markdown, Format::Html];
    for format in quiet {
        let text = format.render(&document, Style::PLAIN);
        for word in ["Events", "first event", "between events"] {
            assert!(!text.contains(word), "{word} in {format:?}");
        }
    }
    let times = &mut document.measured.times;
    let some = times["service_time"].clone();
    for name in ["first_event", "first_event_service", "event_gap"] {
        times.insert(name.to_owned(), some.clone());
    }
    document.measured.streams = analysis::StreamFigures {
        events: 7_654,
        events_per_second: 321.0,
        whole: 12,
        cut: 3,
        ..analysis::StreamFigures::default()
    };
    for format in quiet {
        let text = format.render(&document, Style::PLAIN);
        for words in [
            "7654, 321/s; answers: 12 whole, 3 cut",
            "first event",
            "between events",
        ] {
            assert!(text.contains(words), "{words} in {format:?}");
        }
    }
    let row = &mut document.series.rows[0];
    (row.events, row.first_event_mean_ns) = (17, Some(4_000_000));
    let text = Format::Csv.render(&document, Style::PLAIN);
    let second = text.lines().nth(1).unwrap();
    assert!(second.ends_with(",17,4000000,"), "{second}");
}

#[test]
fn messages_of_websockets_are_columns_only_of_runs_that_have_them() {
    let mut document = document();
    let csv = |document: &Document| Format::Csv.render(document, Style::PLAIN);
    assert!(!csv(&document).contains("messages"));
    document.websockets.push(analysis::WebSocketFigures {
        request: "room".to_owned(),
        opened: 3,
        sent: 17,
        ..analysis::WebSocketFigures::default()
    });
    let row = &mut document.series.rows[0];
    (row.messages, row.message_time_mean_ns) = (17, Some(4_000_000));
    let text = csv(&document);
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].ends_with(",messages,message_time_mean_ns"),
        "{}",
        lines[0]
    );
    assert!(lines[1].ends_with(",17,4000000"), "{}", lines[1]);
    assert!(lines[2].ends_with(",0,"), "{}", lines[2]);
}

/// Journeys of a shop, with an end of each kind.
fn buyers(document: &Document) -> analysis::JourneyFigures {
    let step = |request: &str, name: &str, [journeys, begun, ok, failed]: [u64; 4]| {
        analysis::StepFigures {
            request: request.to_owned(),
            name: name.to_owned(),
            journeys,
            begun,
            ok,
            failed,
            skipped: 0,
        }
    };
    analysis::JourneyFigures {
        name: "buyer".to_owned(),
        begun: 4321,
        not_sent: 23,
        completed: 3210,
        failed: 777,
        abandoned: 331,
        lost: 3,
        under_way: 0,
        completed_share: Some(0.8004),
        due_per_second: 434.4,
        completed_per_second: 318.5,
        time: Some(document.measured.times["response_time"].clone()),
        wait: Some(document.measured.times["service_time"].clone()),
        steps: vec![
            step("login", "login", [4321, 4321, 4188, 133]),
            step("search", "search", [4055, 8765, 8654, 111]),
            step("login", "login (2)", [3743, 3743, 3210, 533]),
        ],
        groups: vec![analysis::GroupFigures {
            name: "check out".to_owned(),
            begun: 3456,
            completed: 3219,
            time: Some(document.measured.times["response_time"].clone()),
            wait: None,
        }],
    }
}

#[test]
fn journeys_are_in_every_format_that_has_room_for_them_and_else_nowhere() {
    let mut document = document();
    for format in Format::ALL {
        let text = format.render(&document, Style::PLAIN);
        // The page's script and style are the same for every run.
        let text = text.split_once("<main>").map_or(&*text, |(_, main)| main);
        assert!(!text.to_lowercase().contains("journey"), "{format:?}");
    }
    document.journeys = vec![buyers(&document)];
    let row = &mut document.series.rows[0];
    (
        row.journeys_begun,
        row.journeys_completed,
        row.journeys_failed,
    ) = (43, 32, 7);
    for format in [Format::Console, Format::Markdown, Format::Html] {
        let text = format.render(&document, Style::PLAIN);
        for words in [
            "4321 begun, 3210 completed, 777 failed, 331 cut off at the end, 3 lost with an agent",
            "318/s completed, 434/s due",
            "80.0 %",
            "2. search",
            "3. login (2)",
            "93.8 %",
            "8765",
            "lost with an agent",
            "groups of buyer",
            "check out",
            "3456",
            "3219",
            "buyer: 7.67 % were cut off at the end of the run",
            "buyer: 23 journeys were due and never begun",
        ] {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.contains(words), "{words} in {format:?}:\n{text}");
        }
    }
    let console = Format::Console.render(&document, Style::PLAIN);
    assert!(!console.contains("skipped"), "{console}");
    document.journeys[0].steps[2].skipped = 987;
    let console = Format::Console.render(&document, Style::PLAIN);
    assert!(
        console.contains("skipped") && console.contains("987"),
        "{console}"
    );
    let brief = Format::Brief.render(&document, Style::PLAIN);
    assert!(brief.contains("4321 begun, 3210 completed"), "{brief}");
    let csv = Format::Csv.render(&document, Style::PLAIN);
    let mut lines = csv.lines();
    let header = lines.next().unwrap();
    assert!(header.ends_with(",journeys_begun,journeys_completed,journeys_failed"));
    assert!(lines.next().unwrap().ends_with(",43,32,7"), "{csv}");
    let fields = |line: &str| line.split(',').count();
    assert!(csv.lines().all(|line| fields(line) == fields(header)));
    let back = read(Format::Json.render(&document, Style::PLAIN).as_bytes()).unwrap();
    assert_eq!(back, document);
}

/// The figures in a text; a figure with `≥` differs from the same one without.
fn figures(text: &str) -> BTreeSet<String> {
    let text = text.replace("≥ ", "≥");
    let is_of_figure = |c: char| c.is_ascii_digit() || matches!(c, '≥' | '.' | ':' | '-');
    let pieces = text.split(|c| !is_of_figure(c));
    let figures = pieces.map(|piece| piece.trim_matches(['.', ':', '-']));
    figures
        .filter(|figure| figure.contains(|c: char| c.is_ascii_digit()))
        .map(str::to_owned)
        .collect()
}

/// The text of the page, without styles, scripts and pictures, and unescaped.
fn words_of_page(page: &str) -> String {
    let mut text = page.split_once("<main>").unwrap().1.to_owned();
    for element in ["svg", "script", "pre"] {
        let (open, close) = (format!("<{element}"), format!("</{element}>"));
        while let Some((before, rest)) = text.split_once(&open) {
            let (_, after) = rest.split_once(&close).unwrap();
            text = format!("{before}{after}");
        }
    }
    let pieces = text
        .split('<')
        .map(|piece| piece.split_once('>').map_or(piece, |(_, rest)| rest));
    let words: Vec<&str> = pieces.collect();
    words.join("\n").replace("&lt;", "<").replace("&gt;", ">")
}

#[test]
fn every_figure_of_the_console_is_in_the_page_and_in_markdown_with_its_bound() {
    let mut document = document();
    let lost = &mut document.agents[1];
    lost.ended = Some(AgentEndCause::Lost);
    lost.ended_text = "not heard of for 5 s".into();
    lost.missing_intervals = vec![(4, 6)];
    let wide = Style {
        width: 5_000,
        ..Style::PLAIN
    };
    let console = Format::Console.render(&document, wide);
    // The first lines are a title on the page. The verdict follows in each format.
    let (_, console) = console.split_once("Operations").unwrap();
    let page = words_of_page(&Format::Html.render(&document, Style::PLAIN));
    let markdown = Format::Markdown.render(&document, Style::PLAIN);
    let wanted = figures(console);
    assert!(wanted.len() > 100 && wanted.contains("≥34.1"), "{wanted:?}");
    for (format, text) in [("page", page), ("Markdown", markdown.replace('\\', ""))] {
        let there = figures(&text);
        let missing: Vec<_> = wanted.difference(&there).collect();
        assert!(missing.is_empty(), "{format} lacks {missing:?}:\n{text}");
    }
}

#[test]
fn verdict_fails_its_case_wherever_the_exit_code_is_that_of_a_run_that_proves_nothing() {
    let mut document = document();
    document.thresholds.truncate(1);
    let mut fails = |verdict, needed_ns| {
        (document.verdict.verdict, document.verdict.needed_ns) = (verdict, needed_ns);
        let text = Format::Junit.render(&document, Style::PLAIN);
        assert_eq!(
            text.contains("failures=\"1\""),
            exit_code(&document, false) == 3,
            "{verdict:?}: {text}"
        );
        text.contains("failures=\"1\"")
    };
    assert!(fails(Verdict::NetworkBound, None));
    assert!(fails(Verdict::ClientBound, None));
    assert!(fails(Verdict::Undetermined, Some(1)));
    assert!(!fails(Verdict::Undetermined, None));
    assert!(!fails(Verdict::ServerBound, None));
}

#[test]
fn what_would_have_to_be_known_is_no_evidence() {
    let text = Format::Markdown.render(&document(), Style::PLAIN);
    let missing = &document().verdict.missing[0];
    assert!(
        text.contains(&format!("- to know more: {missing}\n")),
        "{text}"
    );
}

#[test]
fn headline_says_what_was_carried_then_what_failed() {
    let calm = |change: &dyn Fn(&mut Document)| {
        let mut document = document();
        document.thresholds.clear();
        document.measured.operations.error_share = Some(0.0);
        change(&mut document);
        report::headline(&document)
    };
    let with_stages = |document: &mut Document| {
        if let LoadRecord::Closed { stages, .. } = &mut document.plan.load {
            *stages = 2;
        }
    };
    for (change, said) in [
        (&|_| {}, "998/s by 34 users"),
        (
            &|document| document.plan.streams = Some(3),
            "998/s by 34 users of 3 streams each",
        ),
        (
            &|document| document.verdict.verdict = Verdict::LoadMet,
            "load met",
        ),
        (&with_stages, "undetermined"),
        (
            &|document| document.measured.operations.ok = 0,
            "undetermined",
        ),
        (
            &|document| document.run.state = RunState::Interrupted,
            "interrupted · 998/s by 34 users",
        ),
        (
            &|document| document.measured.operations.error_share = Some(0.5),
            "998/s by 34 users · 50.0 % errors",
        ),
    ] as [(&dyn Fn(&mut Document), &str); 7]
    {
        assert_eq!(calm(change), said);
    }
    let mut judged = document();
    judged.verdict.verdict = Verdict::LoadMet;
    assert_eq!(
        report::headline(&judged),
        "load met · 3 of 4 thresholds failed · 0.200 % errors"
    );
    judged.thresholds.truncate(1);
    assert_eq!(
        report::headline(&judged),
        "load met · the threshold holds · 0.200 % errors"
    );
}

#[test]
fn brief_summary_is_one_screen_with_its_last_lines() {
    // Two lines of 80 columns come after it: the page's address, and the outcome.
    let text = Format::Brief.render(&document(), Style::PLAIN);
    assert!(text.lines().count() <= 22, "{text}");
}

#[test]
fn rules_are_shown_with_what_they_saw_and_the_evidence_of_those_that_speak() {
    let document = document();
    let readings = analysis::explain(&document);
    for width in [30, 80, 5_000] {
        let style = Style {
            width,
            ..Style::PLAIN
        };
        let text = report::explain(&document, None, style);
        assert!(columns(&text) <= width, "{width}:\n{text}");
        for reading in &readings {
            let line = match &reading.says {
                Some(says) => format!("{} SPEAKS: {says}", reading.rule),
                None => format!("{}: {}", reading.rule, reading.figure),
            };
            // If there is no room, words go to another line.
            assert!(width < 5_000 || text.contains(&line), "{line}:\n{text}");
        }
    }
    assert!(readings.iter().any(|reading| reading.says.is_some()));
}

#[test]
fn ascii_terminal_with_forty_columns_gets_every_figure() {
    let narrow = Style {
        colour: false,
        width: 40,
        unicode: false,
    };
    let text = Format::Console.render(&document(), narrow);
    assert_golden("console-narrow.txt", &text);
    assert!(text.is_ascii());
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [20, 30, 40, 60, 79, 80, 120, 200] {
        for unicode in [true, false] {
            let text = Format::Console.render(
                &document(),
                Style {
                    colour: false,
                    width,
                    unicode,
                },
            );
            assert!(
                columns(&text) <= width,
                "{} columns of {width}:\n{text}",
                columns(&text)
            );
        }
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    let coloured = Format::Console.render(
        &document(),
        Style {
            colour: true,
            ..Style::PLAIN
        },
    );
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\x1b') {
        plain.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    plain.push_str(rest);
    assert_eq!(plain, Format::Console.render(&document(), Style::PLAIN));
}

#[test]
fn hostile_names_do_not_reach_the_terminal() {
    let mut document = document();
    document.agents[0].name = "\x1b[2J|x".into();
    document.by_address[0].name = "\r\n<script>".into();
    document.run.name = "a\u{7}b".into();
    let text = Format::Console.render(&document, Style::PLAIN);
    assert!(!text.contains(['\x1b', '\r', '\u{7}']), "{text}");
    assert!(
        !Format::Junit
            .render(&document, Style::PLAIN)
            .contains('\u{7}')
    );
    assert!(
        Format::Markdown
            .render(&document, Style::PLAIN)
            .contains("\\|x")
    );
}

#[test]
fn agents_that_did_not_always_contribute_are_said_in_one_line() {
    let mut document = document();
    let part = |from_second, to_second, agents, whole| analysis::Contribution {
        from_second,
        to_second,
        agents,
        whole,
    };
    let all = document.agents.len() as u32;
    document.fleet.contributions = vec![
        part(0, 11, all, true),
        part(12, 12, all - 1, false),
        part(13, 30, all - 1, true),
        part(31, 40, all, true),
    ];
    let said = format!(
        "second 12: {0} of {all} agents (not whole); seconds 13 to 30: {0} of {all} agents",
        all - 1
    );
    for format in [Format::Console, Format::Markdown] {
        let text = format.render(&document, Style::PLAIN);
        assert!(text.contains(&said), "{text}");
    }
    // Any number of gaps must still fit on one line.
    document.fleet.contributions = (0..100)
        .map(|second| part(second, second, second % all, true))
        .collect();
    let text = Format::Console.render(&document, Style::PLAIN);
    assert!(text.contains("; and 95 more stretches"), "{text}");
}

#[test]
fn troubles_of_a_thousand_agents_are_a_few_lines() {
    let mut document = document();
    let lost = analysis::AgentResult {
        ended_text: "not heard of".to_owned(),
        ..document.agents[0].clone()
    };
    document.agents = vec![lost; 1000];
    let text = Format::Console.render(&document, Style::PLAIN);
    assert_eq!(text.matches("not heard of").count(), 10);
    assert!(
        text.contains("990 more lines like these are left out"),
        "{text}"
    );
}

#[test]
fn empty_run_renders_everywhere() {
    let mut document = document();
    document.agents.clear();
    document.by_agent.clear();
    document.measured = analysis::Figures::default();
    document.run.state = RunState::Incomplete;
    document.verdict.verdict = Verdict::Invalid;
    for format in Format::ALL {
        assert!(
            !format.render(&document, Style::PLAIN).is_empty(),
            "{}",
            format.name()
        );
    }
    assert_eq!(exit_code(&document, false), 3);
}

#[test]
fn connections_opened_in_the_warm_up_keep_their_tls() {
    let mut document = document();
    let measured = std::mem::take(&mut document.measured.resumption);
    let warm_up = document.warm_up.as_mut().unwrap();
    warm_up.resumption = measured;
    warm_up.negotiated = self::document().measured.negotiated;
    let text = Format::Console.render(&document, Style::PLAIN);
    assert!(
        text.contains("TLS (connections were opened in the warm-up)\n  · 400 handshakes"),
        "{text}"
    );
    assert!(text.contains("TLS_AES_256_GCM_SHA384"), "{text}");
    document.warm_up = None;
    assert!(
        !Format::Console
            .render(&document, Style::PLAIN)
            .contains("TLS ("),
        "nothing was opened"
    );
}

#[test]
fn agents_stand_by_name_in_whichever_order_they_joined() {
    let mut document = document();
    document.agents[0].name = "load-10".into();
    document.by_agent[0].figures.operations.ended = 77;
    let text = Format::Console.render(&document, Style::PLAIN);
    let (second, tenth) = (
        text.find("  load-2 ").unwrap(),
        text.find("  load-10 ").unwrap(),
    );
    assert!(second < tenth, "{text}");
    assert_eq!(
        text[tenth..].split_whitespace().nth(1),
        Some("77"),
        "figures go with their agent"
    );
}

/// The schema of Jenkins's readers (`junit-10.xsd`) requires these attributes of a suite. A failed
/// threshold is a failure, not an error.
#[test]
fn suites_have_every_attribute_that_ci_requires() {
    let text = Format::Junit.render(&document(), Style::PLAIN);
    let (_, rest) = text.split_once("<testsuite ").unwrap();
    let (suite, _) = rest.split_once('>').unwrap();
    for attribute in ["name=", "tests=", "failures=", "errors="] {
        assert!(suite.contains(attribute), "{attribute}: {suite}");
    }
}

#[test]
fn formats_are_found_by_name() {
    for format in Format::ALL {
        assert_eq!(format.name().parse(), Ok(format));
    }
    let error = "html5".parse::<Format>().unwrap_err().to_string();
    assert_eq!(
        error,
        "no format is called `html5`; write json, console, brief, markdown, csv, junit or \
         html"
    );
}

#[test]
fn forced_run_is_marked_wherever_a_person_looks() {
    let mut document = document();
    let finding = |text: &str, forced| PreflightFinding {
        agent: "load-1".to_owned(),
        text: text.to_owned(),
        forced,
    };
    document.preflight = vec![finding("too few ports", true), finding("quota", false)];
    document.verdict = analysis::VerdictRecord::new(&document);
    let mark = "forced past preflight: agent load-1: too few ports";
    for format in [Format::Console, Format::Json, Format::Markdown] {
        let text = format.render(&document, Style::PLAIN);
        assert!(text.contains(mark), "{format:?}: {text}");
    }
    assert!(report::explain(&document, None, Style::PLAIN).contains(mark));
    let junit = Format::Junit.render(&document, Style::PLAIN);
    assert!(junit.contains("forced past preflight"), "{junit}");
    let json = Format::Json.render(&document, Style::PLAIN);
    assert_eq!(read(json.as_bytes()).unwrap(), document);
}

#[test]
fn statuses_of_grpc_stand_by_request_if_there_are_several() {
    let console = |document: &Document| Format::Console.render(document, Style::PLAIN);
    let mut document = document();
    let figures = |request: &str, statuses: &[(&str, u64)]| analysis::GrpcFigures {
        messages: Vec::new(),
        request: request.to_owned(),
        answered: statuses.iter().map(|(_, number)| number).sum(),
        statuses: statuses
            .iter()
            .map(|&(name, number)| (name.to_owned(), number))
            .collect(),
    };
    assert!(!console(&document).contains("gRPC"));
    document.grpc = vec![figures("greet", &[("ok", 12_345), ("unavailable", 678)])];
    let text = console(&document);
    assert!(text.contains("gRPC statuses"), "{text}");
    assert!(text.contains("12345") && !text.contains("greet"), "{text}");
    assert!(!text.contains("gRPC messages"), "{text}");
    let message = |text: Option<&str>, calls| analysis::GrpcMessageCount {
        status: "unavailable".to_owned(),
        text: text.map(str::to_owned),
        calls,
    };
    document.grpc[0].messages = vec![
        message(Some("no <b>room</b>"), 600),
        message(Some(""), 70),
        message(None, 8),
    ];
    let text = console(&document);
    let after = text.split("gRPC messages").nth(1).unwrap();
    for words in ["600", "no <b>room</b>", "(no text)", "(other texts)"] {
        assert!(after.contains(words), "{words}: {text}");
    }
    let page = Format::Html.render(&document, Style::PLAIN);
    assert!(page.contains("no &lt;b&gt;room"), "{page}");
    document.grpc.push(figures("leave", &[("not_found", 91)]));
    let text = console(&document);
    for line in [
        "not_found     ok  unavailable",
        "greet             12345          678",
        "leave         91",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}
