//! Any valid plan survives its canonical text, and no text makes the reader panic.

use crate::support::{Folder, again, campaign, parse};
use plan::{Campaign, Owner, Plan, Portion, Search, Seats, Settings, Shape, UserOperations};
use proptest::prelude::*;

/// Any of `lines`.
fn one_of(lines: &'static [&'static str]) -> impl Strategy<Value = String> {
    proptest::sample::select(lines).prop_map(str::to_owned)
}

fn target() -> impl Strategy<Value = String> {
    one_of(&[
        "url = \"https://edge.test:8443/a?b\"\n",
        "url = \"http://edge.test\"\naddresses = [\"10.0.0.11\", \"[::1]:80\"]\n",
        "url = \"https://[2001:db8::1]/\"\ndns = \"1m30s\"\n",
        "url = \"https://edge.test\"\ndns = \"connection\"\n",
        "builtin = true\n",
        "builtin = { tls = false, body_bytes = 0 }\n",
        "builtin = { key = \"rsa2048\", delay = \"1.5ms\" }\n",
        "builtin = { stall = { every = \"2s\", for = \"1.5s\" } }\n",
        "builtin = { delay = \"1ms\", servers = { count = 3, service_time = \"1.5us\" } }\n",
    ])
    .prop_map(|fields| format!("[target]\n{fields}"))
}

fn request() -> impl Strategy<Value = String> {
    let method = one_of(&[
        "",
        "method = \"HEAD\"\n",
        "method = \"PROPFIND\"\n",
        "weight = 7\n",
    ]);
    let path = one_of(&["", "path = \"/{user}/{seq}?{random}\"\n", "path = \"*\"\n"]);
    let headers = one_of(&[
        "",
        "headers = { accept = \"*/*\", x-a = [\"1\", \"{user}\"], \"a.b\" = \"\" }\n",
        "headers.host = \"b.test\"\n",
        "auth = \"a\"\n",
    ]);
    let expect = one_of(&[
        "",
        "expect = { status = [\"2xx\", 404], bytes = 3 }\n",
        "expect = { status = [\"100-999\"] }\n",
        "stream = { events = \"sse\", end = \"[DONE]\" }\n",
        "stream = { events = \"lines\", end = \"\\\"\", cut_after = 9 }\n",
        "expect = { bytes = { max = 9 }, headers = { ETag = { present = false }, \"x.y\" = 5 } }\n",
    ]);
    let body = prop_oneof![
        Just(String::new()),
        Just("body_file = \"body.json\"\n".to_owned()),
        // Any text can be a body, so the TOML crate writes its quotes and escapes.
        any::<String>().prop_map(|text| format!("body = {}\n", toml_edit::Value::from(text))),
        // So can any text be looked for, and any number.
        ("\\PC{1,20}", any::<f64>(), any::<i64>()).prop_map(|(text, decimal, whole)| {
            let text = toml_edit::Value::from(text);
            let limit = if decimal.is_finite() { decimal } else { 0.5 };
            // No number would pass with a bound on the other side that is below.
            let most = limit.max(0.0).next_up();
            format!(
                "[request.expect]\ncontains = [{text}]\nmatches = [\"^a+\"]\n\
                 json = {{ \"/a\" = {whole}, \"/b.c\" = {limit:?}, \"/d\" = {{ above = {limit:?}, \
                 max = {most:?}, contains = {text} }}, \"/e\" = {text}, \"/f\" = false }}\n"
            )
        }),
    ];
    (method, path, headers, expect, body).prop_map(|(method, path, headers, expect, body)| {
        // Answers to HEAD have no body.
        let expect = match (&*method, expect.contains("bytes = 3")) {
            ("method = \"HEAD\"\n", true) => String::new(),
            _ => expect,
        };
        if body.starts_with("[request.expect]") {
            return format!("{path}{headers}{body}");
        }
        if expect.starts_with("stream") {
            return format!("{path}{headers}{expect}{body}"); // HEAD has none
        }
        format!("{method}{path}{headers}{expect}{body}")
    })
}

fn auth() -> impl Strategy<Value = String> {
    one_of(&[
        "bearer = \"{seq}.{random}\"\n",
        "basic = { user = \"{user}\", password = \"a:\\\"b\" }\n",
    ])
    .prop_map(|fields| format!("[auth.a]\n{fields}"))
}

fn requests() -> impl Strategy<Value = String> {
    proptest::collection::vec(request(), 0..4).prop_map(|requests| {
        let numbered = requests.iter().enumerate();
        numbered
            .map(|(number, fields)| format!("[[request]]\nname = \"n{number}\"\n{fields}"))
            .collect()
    })
}

fn connection() -> impl Strategy<Value = String> {
    let requests = one_of(&[
        "",
        "requests = 1\n",
        "requests = 100\n",
        "requests = \"unlimited\"\n",
    ]);
    let close = one_of(&["", "close = \"rst\"\n", "close = \"server\"\n"]);
    let rest = one_of(&[
        "",
        "source_addresses = [\"10.0.1.1\", \"::1\"]\n",
        "timeouts = { request = \"1h\" }\n",
        "http = \"1.1\"\n",
    ]);
    (requests, close, rest)
        .prop_map(|(requests, close, rest)| format!("[connection]\n{requests}{close}{rest}"))
}

fn tls() -> impl Strategy<Value = String> {
    let versions = one_of(&[
        "",
        "versions = [\"1.2\"]\n",
        "versions = [\"1.3\", \"1.2\"]\n",
        "cipher_suites = [\"TLS_AES_128_GCM_SHA256\"]\n",
    ]);
    let groups = one_of(&[
        "",
        "groups = [\"P-256\"]\n",
        "groups = [\"X25519MLKEM768\", \"X25519\"]\n",
    ]);
    let resumption =
        (0.001f64..=1.0).prop_map(|share| format!("resumption = {{ share = {share:?} }}\n"));
    let resumption = prop_oneof![
        resumption,
        one_of(&["", "resumption = \"never\"\n", "resumption = \"always\"\n"])
    ];
    let rest = one_of(&[
        "",
        "verify = \"once\"\nkey_exchange = \"cheap\"\n",
        "key_share = \"remembered\"\n",
        "early_data = false\n",
        "server_name = \"a.test\"\n",
        "alpn = [\"http/1.1\"]\nkey_log = \"all\"\n",
        "key_log = { failed = 3, slow = 10, over = \"1.5s\" }\n",
        "client_certificates = \"clients\"\n",
        "client_certificates = { mint = 7, ca = \"ca.pem\", ca_key = \"a.key\", subject = \
         \"O=a,CN={user}\", validity = \"800h\" }\n",
    ]);
    (versions, groups, resumption, rest).prop_map(|(versions, groups, resumption, rest)| {
        format!("[tls]\n{versions}{groups}{resumption}{rest}")
    })
}

fn load() -> impl Strategy<Value = String> {
    let end = prop_oneof![
        (1u64..100_000).prop_map(|ms| format!("duration = \"{ms}ms\"\n")),
        (1u64..100_000).prop_map(|requests| format!("requests = {requests}\n")),
    ];
    let closed = (
        1u32..5000,
        one_of(&[
            "",
            "think_time = \"1s\"\n",
            "think_time = { min = \"0s\", max = \"2ms\" }\n",
            "connect_ramp = \"1ms\"\n",
        ]),
    );
    let closed =
        closed.prop_map(|(connections, rest)| format!("connections = {connections}\n{rest}"));
    // Fast enough that the largest number of requests fits into the longest run.
    let open = (
        1000u32..1_000_000,
        one_of(&["s", "m", "h"]),
        one_of(&["", "arrivals = \"poisson\"\n", "max_connections = 7\n"]),
    );
    let open = open
        .prop_map(|(rate, unit, rest)| format!("rate = \"{}/{unit}\"\n{rest}", rate as f32 / 7.0));
    let warm_up = one_of(&["", "warm_up = \"10s\"\n", "seed = 9\n"]);
    (prop_oneof![closed, open], end, warm_up)
        .prop_map(|(shape, end, warm_up)| format!("[load]\n{shape}{end}{warm_up}"))
}

fn fleet() -> impl Strategy<Value = String> {
    let lost = one_of(&[
        "",
        "lost = \"fail\"\ntolerate = 0\n",
        "lost = \"continue\"\n",
        "lost = \"continue\"\ntolerate = 3\n",
        "lost = \"continue\"\ntolerate = \"33.3333%\"\n",
    ]);
    let rest = one_of(&[
        "",
        "join_timeout = \"90s\"\n",
        "lease = \"2500ms\"\nmax_skew = \"1.5ms\"\n",
    ]);
    (lost, rest).prop_map(|(lost, rest)| format!("[fleet]\n{lost}{rest}"))
}

fn thresholds() -> impl Strategy<Value = String> {
    let time =
        (0u64..10_000_000_000).prop_map(|ns| format!("\"response_time.p99.9\" = \"<= {ns}ns\"\n"));
    let share = (0u32..=1_000_000)
        .prop_map(|ppm| format!("errors.share = \"< {}\"\n", f64::from(ppm) / 1e6));
    (time, share).prop_map(|(time, share)| format!("[thresholds]\n{time}{share}"))
}

fn valid() -> impl Strategy<Value = String> {
    (
        target(),
        (auth(), requests()),
        connection(),
        tls(),
        load(),
        (fleet(), thresholds()),
    )
        .prop_map(
            |(target, (auth, requests), connection, tls, load, (fleet, thresholds))| {
                format!("{target}{auth}{requests}{connection}{tls}{load}{fleet}{thresholds}")
            },
        )
}

/// Sections that turn any of the plans above into several runs.
fn several() -> impl Strategy<Value = String> {
    let variants = one_of(&[
        "",
        "[variants]\nbase = {}\na = { connection.timeouts.connect = \"1s\" }\n",
        "[variants.a.thresholds]\nrate = \"> 1\"\n[variants.b]\nconnection = {}\n",
        "[variants]\n\"a.load\" = { rate = \"5/s\", duration = \"1s\" }\n",
    ]);
    let matrix = one_of(&[
        "",
        "[matrix]\nload.seed = [1, 2, 3]\n\"load.warm_up\" = [\"0s\", \"1s\"]\n",
    ]);
    let repeat = one_of(&[
        "",
        "[repeat]\ntimes = 3\nshuffle = true\n",
        "[repeat]\npause = \"0s\"\n",
    ]);
    (variants, matrix, repeat)
        .prop_map(|(variants, matrix, repeat)| format!("{variants}{matrix}{repeat}"))
}

fn search() -> impl Strategy<Value = String> {
    one_of(&[
        "[search]\nrate = { from = \"0.1/s\", to = \"50000/s\" }\n",
        "[search]\nconnections = { from = 1, to = 5000 }\nhold = \"1s\"\n",
        "[search]\nagents = [1, 3, 200]\n",
    ])
}

/// Checks that every plan of a campaign reads back from its canonical text.
fn all_read_back(campaign: &Campaign) -> Result<(), TestCaseError> {
    prop_assert!((1..=Campaign::MAX_RUNS).contains(&campaign.runs().len()));
    for run in campaign.runs() {
        let plan = &campaign.variant(*run).plan;
        let searched = match campaign.search() {
            Some(Search::Capacity(capacity)) => {
                let (from, to) = capacity.range.ends();
                vec![
                    capacity.plan_at(plan, from),
                    capacity.plan_at(plan, (from * to).sqrt()),
                    capacity.plan_at(plan, to),
                ]
            }
            Some(Search::Agents(agents)) => agents
                .iter()
                .map(|agents| plan.for_agents(*agents))
                .collect(),
            None => Vec::new(),
        };
        let searched: Vec<Plan> = searched
            .into_iter()
            .collect::<Result<_, _>>()
            .map_err(|problem| TestCaseError::fail(problem.to_string()))?;
        for plan in searched.iter().chain([plan]) {
            let second = again(plan);
            prop_assert_eq!(second.as_ref(), Ok(plan));
        }
    }
    Ok(())
}

/// A text with some of its bytes replaced, removed, or repeated.
fn mutated(valid: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let edit = (
        any::<prop::sample::Index>(),
        prop_oneof![
            any::<char>(),
            proptest::sample::select("0-.\"[]{}=\n\\s/,%e9".chars().collect::<Vec<_>>())
        ],
        0..4u8,
    );
    (valid, proptest::collection::vec(edit, 1..8)).prop_map(|(text, edits)| {
        let mut characters: Vec<char> = text.chars().collect();
        for (index, character, kind) in edits {
            let at = index.index(characters.len());
            match kind {
                0 => characters[at] = character,
                1 => characters.insert(at, character),
                2 => drop(characters.splice(at..(at + 9).min(characters.len()), [character])),
                _ => characters.extend_from_within(at..(at + 40).min(characters.len())),
            }
        }
        characters.into_iter().collect()
    })
}

proptest! {
    #[test]
    fn a_valid_plan_reads_back_from_its_canonical_text(text in valid()) {
        let plan = parse(&text)
            .map_err(|problems| TestCaseError::fail(format!("{problems}\n{text}")))?;
        let second = again(&plan).map_err(TestCaseError::fail)?;
        prop_assert_eq!(second.canonical_text(), plan.canonical_text());
        prop_assert_eq!(parse(&plan.canonical_text()), Ok(second.clone()));
        prop_assert_eq!(second, plan);
    }

    #[test]
    fn shares_sum_up_to_the_plan(text in valid(), agents in 1u32..9) {
        let plan = parse(&text).map_err(TestCaseError::fail)?;
        let shares: Vec<_> = (0..agents).map(|agent| plan.share(agent, agents)).collect();
        let whole = plan.share(0, 1);
        let sum32 = |part: fn(&plan::Share) -> Option<u32>| -> Option<u32> {
            shares.iter().map(part).sum()
        };
        prop_assert_eq!(sum32(|share| share.connections), whole.connections);
        prop_assert_eq!(sum32(|share| share.peak_connections), whole.peak_connections);
        prop_assert_eq!(sum32(|share| share.max_connections), whole.max_connections);
        let requests: Option<u64> = shares.iter().map(|share| share.requests).sum();
        prop_assert_eq!(requests, whole.requests);
        let rate = |share: &plan::Share| share.rate.map(plan::Rate::as_per_second);
        let rates: Option<f64> = shares.iter().map(rate).sum();
        let whole_rate = whole.rate.map(plan::Rate::as_per_second);
        let is_whole = |(sum, whole): (f64, f64)| (sum - whole).abs() <= whole * 1e-12;
        prop_assert!(rates.zip(whole_rate).is_none_or(is_whole));
    }

    #[test]
    fn workers_have_all_seats_of_the_plan_once(
        text in valid(),
        agents in 1u32..9,
        most in 1u32..9,
    ) {
        let plan = parse(&text).map_err(TestCaseError::fail)?;
        let all = match plan.load().shape {
            Shape::Closed { connections, .. } => connections,
            Shape::Open { max_connections, .. } => max_connections,
        };
        // Neighbouring agents have different numbers of workers.
        let workers = |agent: u32| 1 + (agent + most) % 9;
        let owners_of = |agent| {
            let workers = workers(agent);
            (0..workers).map(move |worker| Owner { agent, agents, worker, workers })
        };
        let owners = (0..agents).flat_map(owners_of);
        let seats: Vec<Seats> = owners.map(|owner| Seats::new(plan.load(), owner)).collect();
        let mut numbers: Vec<u32> = seats.iter().flat_map(Seats::iter).collect();
        numbers.sort_unstable();
        prop_assert_eq!(numbers, (0..all).collect::<Vec<_>>());
        prop_assert!(seats.iter().all(|seats| seats.iter().count() == seats.number() as usize));
        prop_assert!(seats.iter().all(|seats| seats.place().is_some() == (seats.number() > 0)));
    }

    #[test]
    fn operations_of_users_are_those_of_the_plan_and_need_no_round_more_than_one_worker_would(
        users in 1u32..60,
        total in 1u64..3000,
        agents in 1u32..9,
        most in 1u32..9,
    ) {
        let text = format!(
            "target.url = \"http://a.t/\"\nload = {{ connections = {users}, requests = {total} }}"
        );
        let plan = parse(&text).map_err(TestCaseError::fail)?;
        let load = plan.load();
        let mut numbers = Vec::new();
        for agent in 0..agents {
            let workers = 1 + (agent + most) % 9;
            for worker in 0..workers {
                let portion = Portion::from(Owner { agent, agents, worker, workers });
                let operations = UserOperations::after_warm_up(load, &portion);
                let left = operations.remaining().unwrap_or(0);
                let seats = Seats::new(load, portion);
                let rounds = total.div_ceil(users.into());
                prop_assert!(left <= rounds * u64::from(seats.number()), "{left} of {seats:?}");
                let warm_up: Vec<u64> = operations.warm_up().take(2).collect();
                prop_assert_eq!(warm_up.is_empty(), seats.number() == 0);
                let own: Vec<u64> = operations.collect();
                prop_assert_eq!(own.len() as u64, left);
                prop_assert!(own.is_sorted());
                numbers.extend(own);
            }
        }
        numbers.sort_unstable();
        prop_assert_eq!(numbers, (0..total).collect::<Vec<_>>());
    }

    #[test]
    fn no_slip_makes_the_reader_panic(text in mutated(valid())) {
        // Texts that are still valid must read back.
        if let Ok(plan) = parse(&text) {
            prop_assert_eq!(again(&plan), Ok(plan));
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in any::<Vec<u8>>()) {
        let _ = Plan::parse_bytes(&bytes, &mut Folder::new());
        let _ = Campaign::parse_bytes(&bytes, &mut Folder::new(), Settings::NONE);
    }
}

proptest! {
    // Each case has up to 36 plans with three holds each.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_run_of_a_campaign_reads_back(plan in valid(), several in several()) {
        let text = format!("{plan}{several}");
        // A variant can ask for the other kind of loop with fields that belong to this one; then
        // its problems name it.
        match campaign(&text) {
            Ok(campaign) => all_read_back(&campaign)?,
            Err(problems) => prop_assert!(
                several.contains("a.load") && problems.contains("load."),
                "{}\n{}", problems, text
            ),
        }
    }

    #[test]
    fn every_hold_of_a_search_reads_back(
        plan in valid(),
        several in several(),
        search in search(),
    ) {
        if let Ok(campaign) = campaign(&format!("{plan}{several}{search}")) {
            all_read_back(&campaign)?;
        }
    }

    #[test]
    fn no_slip_makes_the_reader_of_campaigns_panic(
        text in mutated(
            (valid(), several(), search())
                .prop_map(|(plan, several, search)| format!("{plan}{several}{search}"))
        )
    ) {
        if let Ok(campaign) = campaign(&text) {
            all_read_back(&campaign)?;
        }
    }
}

#[test]
fn deep_nesting_is_refused_or_read_without_a_crash() {
    let deep = 50_000;
    let texts = [
        "a.".repeat(deep) + "a = 1",
        format!("\"{}a\" = 1", "a.".repeat(deep)),
        "a = ".to_owned() + &"[".repeat(deep),
        "a = ".to_owned() + &"{a=".repeat(deep),
        format!("[{}a]", "a.".repeat(deep)),
        format!("[thresholds]\n{}a = \"<1\"", "a.".repeat(deep)),
        format!("[thresholds]\n\"{}a\" = \"<1\"", "a.".repeat(deep)),
        format!("[variants]\n\"{}a\" = 1", "a.".repeat(deep)),
        format!("[matrix]\n\"{}a\" = [1]", "a.".repeat(deep)),
    ];
    for text in texts {
        assert!(parse(&text).is_err());
        assert!(campaign(&text).is_err());
    }
}
